"""How a column writes its numbers, dates and times: text to a value and back, as formats/notation.h describes."""
from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Any

import numpy as np

from .rows import Array

MONTHS = (
    "January February March April May June July August September October November December".split()
)
_TOKENS = re.compile(r"YYYY|YY|Month|Mon|MM|M|DD|D|hh|h|mm|ss|f+|AM|.", re.S)
_FORMS = {
    "YYYY": r"(?P<year>\d{4})", "YY": r"(?P<short>\d{2})", "MM": r"(?P<month>\d{2})", "M": r"(?P<month>\d{1,2})",
    "DD": r"(?P<day>\d{2})", "D": r"(?P<day>\d{1,2})", "hh": r"(?P<hour>\d{2})", "h": r"(?P<hour>\d{1,2})",
    "mm": r"(?P<minute>\d{2})", "ss": r"(?P<second>\d{2})", "AM": r"(?P<half>[AaPp][Mm])",
    "Mon": "(?P<name>" + "|".join(month[:3] for month in MONTHS) + ")", "Month": "(?P<name>" + "|".join(MONTHS) + ")",
}  # fmt: skip


def is_date(pattern: str) -> bool:
    return "Y" in pattern


def _expression(pattern: str) -> re.Pattern[str]:
    parts = []
    for token in _TOKENS.findall(pattern):
        if set(token) == {"f"}:
            parts.append(rf"(?P<fraction>\d{{{len(token)}}})")
        else:
            parts.append(_FORMS.get(token, re.escape(token)))
    return re.compile("".join(parts), re.I | re.A)


def date_value(pattern: str, text: str) -> float | None:
    """Days since 1970-01-01, of a time alone hours; None: it is not written so.

    >>> date_value("DD.MM.YYYY hh:mm", "02.01.1970 12:00"), date_value("h:mm AM", "1:30 PM")
    (1.5, 13.5)
    """
    found = _expression(pattern).fullmatch(text)
    if not found:
        return None
    part = {"hour": "0", "minute": "0", "second": "0", **{k: v for k, v in found.groupdict().items() if v is not None}}
    hour = int(part["hour"])
    if "half" in part:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + 12 * (part["half"][0] in "pP")
    seconds = int(part["second"]) + float("0." + part.get("fraction", "0"))
    if hour > 23 or int(part["minute"]) > 59 or seconds >= 61:
        return None
    hours = hour + int(part["minute"]) / 60 + seconds / 3600
    if not is_date(pattern):
        return hours
    year = int(part["year"]) if "year" in part else int(part["short"]) + (2000 if int(part["short"]) < 69 else 1900)
    name = part.get("name", "").lower()[:3]
    month = [m[:3].lower() for m in MONTHS].index(name) + 1 if name else int(part["month"])
    try:
        return (date(year, month, int(part["day"])) - date(1970, 1, 1)).days + hours / 24
    except ValueError:
        return None


def date_text(pattern: str, value: float) -> str:
    """
    >>> date_text("D Mon YYYY", 19723.0), date_text("hh:mm", 8.25)
    ('1 Jan 2024', '08:15')
    """
    tokens = _TOKENS.findall(pattern)
    fraction = max([len(token) for token in tokens if set(token) == {"f"}], default=0)
    step = 10.0**-fraction if fraction else 1 if "ss" in tokens else 60 if "mm" in tokens else 86400
    whole = is_date(pattern)
    seconds = float(np.floor(value * (86400 if whole else 3600) / step + 0.5)) * step
    days = int(min(max(np.floor(seconds / 86400), -719162), 2932896)) if whole else 0
    of_day = min(max(seconds - 86400 * days, 0), 86400 - step) if whole else seconds % 86400
    day = date(1970, 1, 1) + timedelta(days)
    left = int(of_day + (step / 2 if step < 1 else 1e-6))
    hour = left // 3600
    said = {
        "YYYY": f"{day.year:04d}", "YY": f"{day.year % 100:02d}", "MM": f"{day.month:02d}", "M": str(day.month),
        "DD": f"{day.day:02d}", "D": str(day.day), "Mon": MONTHS[day.month - 1][:3], "Month": MONTHS[day.month - 1],
        "mm": f"{left // 60 % 60:02d}", "ss": f"{left % 60:02d}", "AM": "AM" if hour < 12 else "PM",
        "f" * fraction: f"{int(max(of_day - left, 0) * 10**fraction + 0.5):0{max(fraction, 1)}d}",
    }  # fmt: skip
    shown = (hour + 11) % 12 + 1 if "AM" in tokens else hour
    said.update(hh=f"{shown:02d}", h=str(shown))
    return "".join(said.get(token, token) for token in tokens)


def days_of(series: Any) -> Array:
    """Of datetime64: days since 1970-01-01."""
    days: Array = series.to_numpy().astype("datetime64[us]").astype(np.int64) / 86400e6
    return days


def times_of(days: Array) -> Any:
    """And back, to the microsecond that a float of days can tell."""
    return np.round(np.asarray(days) * 86400e6).astype(np.int64).astype("datetime64[us]")


# ---- numbers


def value_of(column: Any, text: str) -> float | None:
    """A cell of a column of numbers, dates or times; None: it is none.

    >>> from bayespcn import Column
    >>> value_of(Column("price", prefix="$", group=","), "-$1,124.10")
    -1124.1
    """
    text = text.strip()
    if column.date:
        return date_value(column.date, text)
    bare = text[:1] + text[1:].removeprefix(column.prefix) if text[:1] in ("-", "+") else text.removeprefix(column.prefix)
    bare = bare.removesuffix(column.suffix)
    if column.group and re.fullmatch(rf"[-+]?\d{{1,3}}({re.escape(column.group)}\d{{3}})*([.,]\d*)?", bare):
        bare = bare.replace(column.group, "")
        bare = bare.replace(",", ".") if column.group == "." else bare
    elif re.fullmatch(r"[-+]?\d*,\d+", bare) and column.group != ",":
        bare = bare.replace(",", ".")
    try:
        value = float(bare) if re.fullmatch(r"[-+0-9.eE]+", bare) else None
    except ValueError:
        return None
    return value


def text_of(column: Any, value: float) -> str:
    """The value in the column's writing; the decimal mark is a comma where points separate thousands.

    >>> from bayespcn import Column
    >>> text_of(Column("price", prefix="$", group=",", decimals=2, fixed=True), 1124.1)
    '$1,124.10'
    """
    if column.date:
        return date_text(column.date, value)
    places = column.decimals if column.decimals is not None else max(int(np.ceil(3 - np.log10(column.scale))), 0)
    text = f"{abs(value):,.{min(places, 17)}f}"
    if places and not column.fixed:
        text = text.rstrip("0").rstrip(".")
    mark = "," if column.group == "." else "."
    text = text.replace(",", "\0").replace(".", mark).replace("\0", column.group)
    sign = "-" if value < 0 and text.strip("0., ") else ""
    return f"{sign}{column.prefix}{text}{column.suffix}"
