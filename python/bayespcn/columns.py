"""Tables: columns of numbers and categories, as rows of the memory. The note of a memory keeps them in the form that
docs/FORMAT.md describes, so that the program bpcn and this package open each other's memories."""
from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, log10, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._bayespcn import InvalidError
from .frames import (
    filled_with_numbers,
    filled_with_words,
    is_frame,
    is_series,
    known_values,
    names_of,
    numbers_of,
    words_of,
)
from .notation import date_text, days_of, is_date, times_of
from .rows import Array, Floats, Mask, Rows, array_of, mask, narrow

FAR = 100.0  # scales from the centre beyond which a number is no plausible value of its column
CLIP = 8.0  # where such numbers are brought, if wanted
VALUES_LOOKED_AT, LEAST_LOOKED_AT = 4 << 20, 1000  # values of all columns, and of one, that centre and scale are taken from
FEW_WORDS, SOME_WORDS = 10, 100
ROWS_OF_IDS = 20  # fewer rows do not show that a column counts them
VERSION = 2  # of the note's description of columns


class Blame(NamedTuple):
    """What the other columns of its row make a memory expect of a cell."""

    column: str
    expected: Any  # in the table's units, or a word
    deviation: float  # of a number; of a word the probability of the expected one
    nats: float  # how much less likely the cell is than what is expected: z^2 / 2 for a number z deviations off


@dataclass(frozen=True)
class Column:
    """A column: a number is kept as (value - centre) / scale, a category as an entry for each of its words, ordered words by
    their places. What a number is written like is kept with it, and answers come back so: rounded, and between low and high.

    >>> Column("price", centre=10.0, scale=4.0, decimals=2, low=1.0, high=30.0).nearest(np.array([12.3456, 99.0])).tolist()
    [12.35, 30.0]
    """

    name: str
    kind: str = "number"  # or "category", "ordered", "picture", "vector", "ignored"
    centre: float = 0.0
    scale: float = 1.0
    words: tuple[str, ...] = ()
    shape: str = ""  # of a picture or vector, as the note has it
    decimals: int | None = None  # places at most; None: not known
    fixed: bool = False  # always so many
    whole: bool = False  # an integer, whatever its places
    low: float | None = None  # the least and the greatest value seen; None: no bounds
    high: float | None = None
    group: str = ""  # between thousands
    prefix: str = ""
    suffix: str = ""
    date: str = ""  # pattern of a date (days since 1970-01-01) or a time (hours)
    period: float = 0.0  # values so far apart are the same
    trend: bool = False  # beside the period the value itself counts
    kept: tuple[str, ...] = ()  # cells that are unknown, but not to be filled

    @property
    def size(self) -> int:
        """Entries of the memory's row."""
        if self.kind == "category":
            return len(self.words)
        if self.kind == "ignored":
            return 0
        if self.kind == "number" and self.period > 0:
            return 3 if self.trend else 2
        return int(np.prod([int(n) for n in self.shape.split("x")])) if self.shape else 1

    @property
    def cells(self) -> int:
        """Cells of a table's row."""
        return self.size if self.shape else 0 if self.kind == "ignored" else 1

    @property
    def has_words(self) -> bool:
        """Whether its values are words, with or without an order."""
        return self.kind in ("category", "ordered")

    @property
    def is_integer(self) -> bool:
        """It came as integers, and small enough for them."""
        bounds = self.low is not None and self.high is not None and max(abs(self.low), abs(self.high)) < 2**53
        return self.kind == "number" and self.whole and self.decimals == 0 and bounds and not self.date

    def nearest(self, values: Array) -> Array:
        """Of numbers: the nearest that the column could have."""
        if self.whole and not self.date:
            values = _rounded_all(values)
        elif self.decimals is not None and not self.date:
            unit = 10.0**self.decimals
            values = np.where(np.abs(values * unit) < 1e15, _rounded_all(values * unit) / unit, values)
        if self.low is None or self.high is None:
            return values
        if self.period > 0 and not self.trend:
            values = np.where((values < self.low) & (values + self.period <= self.high), values + self.period, values)
            values = np.where((values > self.high) & (values - self.period >= self.low), values - self.period, values)
        return np.clip(values, self.low, self.high)


def _rounded_all(values: Array) -> Array:
    """As C rounds: halves away from 0."""
    rounded: Array = np.trunc(values + np.copysign(0.5, values))
    return rounded


def _rounded(value: float) -> float:
    """As C rounds: halves away from 0."""
    whole = float(np.trunc(value))
    return whole + float(np.copysign(1, value)) if abs(value - whole) >= 0.5 else whole


def looked_at(columns: int) -> int:
    """Rows that centre and scale are taken from: of more, every so many-th."""
    return max(VALUES_LOOKED_AT // columns, LEAST_LOOKED_AT) if columns else 0


def centre_and_scale(values: Array) -> tuple[float, float]:
    """Mean and deviation with the extreme hundredth on either side brought to the rest, to three digits of the scale;
    docs/FORMAT.md says why.

    >>> centre_and_scale(np.array([1.0, 2, 3, 4, 5, 6, 7, 8, 9, 1000]))
    (5.5, 2.58)
    """
    values = np.sort(values)
    count = len(values)
    cut = 0 if count < 10 else 1 if count < 100 else count // 100
    tamed = np.clip(values, values[cut], values[count - 1 - cut])
    centre = float(np.cumsum(tamed / count)[-1])  # one after the other, as the program adds them up
    scale = sqrt(np.cumsum((tamed - centre) ** 2 / count)[-1])
    if not scale > 1e-9 * abs(centre):
        centre = float(values[count // 2])
        others = np.sort(np.abs(values[values != centre] - centre))[::-1]
        scale = float(others[(len(others) + 1) // 2 - 1]) if len(others) else 0.0
    if not (scale > 0 and np.isfinite(scale)):
        scale = abs(centre) / 10 if centre != 0 else 1.0
    digits = floor(log10(scale))
    if not -288 < digits < 290:
        return centre, scale
    if digits < 2:
        up = 10.0 ** (2 - digits)
        rounded = _rounded(centre * up) / up if np.isfinite(centre * up) else centre
        return rounded, _rounded(scale * up) / up
    step = 10.0 ** (digits - 2)
    return _rounded(centre / step) * step, _rounded(scale / step) * step


def category(name: str, values: Sequence[str]) -> Column:
    """A category from its words as often as they come, scaled so that its entries vary together as a number does."""
    words, counts = np.unique(np.array(values, dtype=object), return_counts=True)
    mixed = 1 - float(np.sum((counts / counts.sum()) ** 2))
    scale = _rounded(1e3 * max(sqrt(max(mixed, 0.0)), 0.25)) / 1e3
    ordered = tuple(sorted(map(str, words), key=str.encode))
    return Column(name, "category", _rounded(1e3 / len(ordered)) / 1e3, scale, ordered)


def _writing(values: Array, integers: bool) -> dict[str, Any]:
    """How numbers are written, by their shortest texts; of many, every so many-th is looked at."""
    if integers:
        return {"decimals": 0, "whole": True}
    texts = [repr(float(value)) for value in values[:: max(len(values) // 10_000, 1)]]
    if any("e" in text for text in texts):
        return {}
    places = [len(text.partition(".")[2]) for text in texts]
    if max(places) > 17:
        return {}
    return {"decimals": max(places), "fixed": min(places) == max(places), "whole": bool((values == np.floor(values)).all())}


def _suspects(values: Array, dates: bool) -> list[float]:
    """Values that often mean missing and are further from all others than those are from each other."""
    nines = [10.0**k - 1 for k in range(2, 11)]
    usual = [-719162.0, -25567.0, -25568.0, -25569.0, 0.0, 2932896.0, 47481.0]
    candidates = usual if dates else [*nines, *(-value for value in nines), 32768.0, -32768.0, 2147483648.0, -2147483648.0]
    others = values[~np.isin(values, candidates)]
    if not len(others):
        return []
    low, high = float(others.min()), float(others.max())
    width = high - low
    found = [value for value in candidates if width > 0 and not low - width <= value <= high + width]
    return [value for value in found if (values == value).any()]


def _number(name: str, values: Array, most: int, dates: str = "", **writing: Any) -> Column:
    """A column of numbers by its values; most: that centre and scale are taken from."""
    odd = _suspects(values, bool(dates))
    values = values[~np.isin(values, odd)]
    kept = tuple(date_text(dates, value) if dates else f"{value:.15g}" for value in odd)
    centre, scale = centre_and_scale(values[:: -(-len(values) // most)])
    return Column(
        name, "number", centre, scale, low=float(values.min()), high=float(values.max()), date=dates, kept=kept, **writing
    )


def number_column(name: str, values: Array, most: int) -> Column:
    """A column of floats, with what they are written like; most: that centre and scale are taken from."""
    return _number(name, values, most, **_writing(values, False))


def _names_ids(name: str) -> bool:
    return re.search(r"(^|[^A-Za-z])(id|uuid|guid)$", name, re.I) is not None or re.search(r"[a-z](I[Dd]|UUID|GUID)$", name) is not None


def _from_numbers(name: str, known: Any, most: int) -> Column:
    values = known.to_numpy(dtype=np.float64)
    values = values[np.isfinite(values)]
    integers = known.dtype.kind in "iu"
    if not len(values):
        return Column(name, "ignored")
    if integers and len(values) >= ROWS_OF_IDS:
        counts = values[0] in (0, 1) and bool((np.diff(values) == 1).all())
        if counts or (_names_ids(name) and len(np.unique(values)) == len(values)):
            return Column(name, "ignored")
    return _number(name, values, most, **_writing(values, integers))


def _from_times(name: str, known: Any, most: int) -> Column:
    """datetime64 without a time zone."""
    values = days_of(known)
    apart = values != np.floor(values)
    parts = values * 86400 != np.floor(values * 86400 + 1e-4)
    pattern = "YYYY-MM-DD" if not apart.any() else "YYYY-MM-DD hh:mm:ss"
    pattern += ".ffffff" if apart.any() and (np.abs(values * 86400 - np.round(values * 86400)) > 1e-4)[parts].any() else ""
    column = _number(name, values, most, pattern)
    goes_round = bool(apart.any()) and values.max() - values.min() > 2
    return replace(column, period=1.0, trend=True) if goes_round else column


def _from_series(name: str, series: Any, most: int) -> Column:
    """What a column of a DataFrame is."""
    known = known_values(series)
    if known.dtype.kind in "fiu":
        return _from_numbers(name, known, most)
    if known.dtype.kind == "M" and getattr(known.dtype, "tz", None) is None and len(known):
        return _from_times(name, known, most)
    if known.dtype.kind in "mMc" or len(known) == 0:
        return Column(name, "ignored")
    words = [str(value) for value in known]
    different = len(set(words))
    stated = hasattr(series, "cat")
    if stated and series.cat.ordered:
        return ordered(name, list(map(str, series.cat.categories)), words)
    if stated:  # words that did not come yet, too
        column = category(name, words)
        every = tuple(sorted(map(str, series.cat.categories), key=str.encode))
        return Column(name, "category", _rounded(1e3 / len(every)) / 1e3, column.scale, every)
    few = different <= FEW_WORDS and (different < len(words) or len(words) == 1)
    if few or (different <= SOME_WORDS and 2 * different <= len(words)):
        return category(name, words)
    return Column(name, "ignored")


def ordered(name: str, order: Sequence[str], values: Sequence[str] = ()) -> Column:
    """Words with an order, kept by their places."""
    place = {word: at for at, word in enumerate(order)}
    places = np.array([place[word] for word in values], dtype=np.float64)
    deviation = float(places.std()) if len(places) else len(order) / 4
    centre = float(places.mean()) if len(places) else (len(order) - 1) / 2
    return Column(name, "ordered", _rounded(1e3 * centre) / 1e3, _rounded(1e3 * max(deviation, 0.25)) / 1e3, tuple(order))


def columns_of(what: Any) -> list[Column]:
    """Columns from a DataFrame to look at; a list of Column; or a dictionary of names, each with "number", (centre, scale),
    a list of words, ("ordered", words), ("date", pattern), ("periodic", period) or "ignored".

    >>> columns_of({"age": (37, 13.6), "city": ["Bonn", "Rome"]})[1].words
    ('Bonn', 'Rome')
    """
    if is_frame(what):
        most = looked_at(len(what.columns))
        columns = [_from_series(text, what[name], most) for text, name in names_of(what).items()]
        ignored = [c.name for c in columns if c.kind == "ignored"]
        if ignored:
            warnings.warn(f"columns that are not learnt: {', '.join(ignored)}", stacklevel=4)
        return columns
    if isinstance(what, Mapping):
        return [_stated(str(name), kind) for name, kind in what.items()]
    columns = list(what)
    if not all(isinstance(column, Column) for column in columns):
        raise TypeError("columns must be a DataFrame, a dictionary of names or a list of Column")
    return columns


def _stated(name: str, kind: Any) -> Column:
    if kind in ("number", "ignored"):
        return Column(name, kind)
    if isinstance(kind, tuple) and len(kind) == 2 and not isinstance(kind[0], str):
        return Column(name, "number", float(kind[0]), float(kind[1]))
    if isinstance(kind, tuple) and len(kind) == 2 and kind[0] == "ordered" and not isinstance(kind[1], str):
        return ordered(name, [str(word) for word in kind[1]])
    if isinstance(kind, tuple) and len(kind) == 2 and kind[0] == "date":
        scaling = (20000.0, 1000.0) if is_date(str(kind[1])) else (12.0, 6.0)  # days about 2024, hours about noon
        return Column(name, "number", *scaling, date=str(kind[1]))
    if isinstance(kind, tuple) and len(kind) == 2 and kind[0] == "periodic":
        return Column(name, "number", 0.0, float(kind[1]) / 12**0.5, period=float(kind[1]))
    if isinstance(kind, str) or not len(kind):
        raise InvalidError(
            f"column {name!r} is {kind!r}, but must be 'number', (centre, scale), words, ('ordered', words), ('date', pattern), "
            "('periodic', period) or 'ignored'"
        )
    return category(name, [str(word) for word in kind])


# ---- the note


def _escaped(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f%=]", lambda found: f"%{ord(found[0]):02X}", text)


def _plain(text: str) -> str:
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), text)


def _shortest(value: float) -> str:
    short = f"{value:.15g}"
    return short if float(short) == value else f"{value:.17g}"


def _keys(column: Column) -> list[str]:
    """What a version 2 note says more of a column."""
    parts = []
    if column.kind == "number":
        if column.decimals is not None:
            parts.append(f"{'fixed' if column.fixed and column.decimals else 'decimals'}={column.decimals}")
        parts += ["whole=1"] if column.whole else []
        texts = {"group": column.group, "prefix": column.prefix, "suffix": column.suffix, "date": column.date}
        parts += [f"{key}={_escaped(text)}" for key, text in texts.items() if text]
        if column.low is not None and column.high is not None:
            parts += [f"low={_shortest(column.low)}", f"high={_shortest(column.high)}"]
        parts += [f"period={_shortest(column.period)}"] if column.period > 0 else []
        parts += ["trend=1"] if column.trend else []
    return parts


def _line(column: Column) -> str:
    parts = [_escaped(column.name), column.kind]
    if column.kind in ("number", "category", "ordered"):
        parts += [f"{column.centre:.15g}", f"{column.scale:.15g}"]
    parts += [column.shape] if column.shape else []
    kept = [f"kept={_escaped(word)}" for word in column.kept]
    return "\t".join(parts + _keys(column) + [_escaped(word) for word in column.words] + kept)


def _with_keys(column: Column, parts: Sequence[str]) -> Column:
    """The column with what its line says as key=value."""
    said: dict[str, Any] = {"kept": ()}
    for part in parts:
        key, _, value = part.partition("=")
        if key == "kept":
            said["kept"] += (_plain(value),)
        elif column.kind != "number":
            raise ValueError(key)
        elif key in ("group", "prefix", "suffix", "date"):
            said[key] = _plain(value)
        elif key in ("decimals", "fixed"):
            said["decimals"], said["fixed"] = int(float(value)), key == "fixed"
        elif key in ("low", "high", "period"):
            said[key] = float(value)
        elif key in ("whole", "trend"):
            said[key] = True
        else:
            raise ValueError(key)
    period = said.get("period", 0.0)
    if ("low" in said) != ("high" in said) or not (period == 0 or 1e-6 <= period <= 1e12) or (said.get("trend") and not period):
        raise ValueError("bounds")
    return replace(column, **said)


def _parsed(line: str) -> Column:
    name, kind, *rest = line.split("\t")
    if kind in ("number", "category", "ordered"):
        keys = [part for part in rest[2:] if "=" in part]
        words = tuple(_plain(part) for part in rest[2:] if "=" not in part)
        if bool(words) != (kind != "number"):
            raise ValueError(kind)
        return _with_keys(Column(_plain(name), kind, float(rest[0]), float(rest[1]), words), keys)
    if kind not in ("picture", "vector", "ignored"):
        raise ValueError(kind)
    return Column(_plain(name), kind, shape=rest[0] if rest else "")


def columns_of_note(note: str) -> list[Column] | None:
    """The columns that a memory's note describes; None when it is no table."""
    lines = note.split("\n")
    for at, line in enumerate(lines):
        if line.startswith("schema=") and line[7:].isdigit() and int(line[7:]) > VERSION:
            raise InvalidError(f"the memory's columns are described in version {line[7:]}, but this release reads up to {VERSION}")
        if line.startswith("columns="):
            try:
                count = int(line[8:])
                return [_parsed(line) for line in lines[at + 1 : at + 1 + count]]
            except (ValueError, IndexError):
                raise InvalidError("the memory's note does not describe its columns as docs/FORMAT.md says") from None
    return None


# ---- rows


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


class Table:
    """Rows of a table: a DataFrame, or an array of cells in which a category's words are counted from 0."""

    fills = True  # what is known of a row stays as it is
    is_plain = False
    is_picture = False
    pixels = None

    def __init__(self, columns: Sequence[Column], clip: bool = False) -> None:
        names = [column.name for column in columns]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise InvalidError(f"several columns are called {min(twice)!r}")
        bad = [c.name for c in columns if not (c.scale > 0 and np.isfinite([c.centre, c.scale]).all())]
        if bad:
            raise InvalidError(f"the scale of column {bad[0]!r} is not above 0, or not finite")
        self.columns = list(columns)
        self.learnt = [column for column in columns if column.kind != "ignored"]
        if not self.learnt:
            raise InvalidError("there is no column to learn")
        self.clip = clip
        self.dim = sum(column.size for column in self.learnt)
        self.cells = sum(column.cells for column in self.learnt)
        self.shape = (self.cells,)

    def note(self) -> str:
        new = any(_keys(column) or column.kept or column.kind == "ordered" for column in self.columns)
        head = [f"schema={VERSION}"] if new else []
        return "".join(f"{line}\n" for line in [*head, f"columns={len(self.columns)}", *map(_line, self.columns)])

    def _places(self) -> list[tuple[Column, slice, slice]]:
        """Of every learnt column its cells and its entries."""
        places = []
        cell = entry = 0
        for column in self.learnt:
            places.append((column, slice(cell, cell + column.cells), slice(entry, entry + column.size)))
            cell += column.cells
            entry += column.size
        return places

    def column_of_entry(self) -> NDArray[np.uintp]:
        """Of which column every entry is."""
        return np.repeat(np.arange(len(self.learnt), dtype=np.uintp), [column.size for column in self.learnt])

    def encode(self, x: Any, known: Any = None) -> Rows:
        single = not is_frame(x) and np.ndim(x) == 1
        origin = x.to_frame().T.infer_objects() if is_series(x) else x
        cells = self._cells_of_frame(origin) if is_frame(origin) else self._cells_of_array(origin)
        hidden = np.zeros(cells.shape, np.bool_)
        if known is not None:
            hidden = ~np.atleast_2d(mask(known, (self.cells,) if single else cells.shape))
            cells = np.where(hidden, np.nan, cells)
        rows = np.zeros((len(cells), self.dim))
        here = np.zeros((len(cells), self.dim), np.bool_)
        for column, cell, entry in self._places():
            rows[:, entry], here[:, entry] = self._entries(column, cells[:, cell])
        return Rows(narrow(rows), here, single, (origin, cells, hidden))

    def absent(self, x: Any) -> list[str]:
        """Columns that a DataFrame lacks."""
        names = names_of(x) if is_frame(x) else {column.name: None for column in self.learnt}
        return [column.name for column in self.learnt if column.name not in names]

    def _cells_of_array(self, x: Any) -> Array:
        array = array_of(x)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"cells must be numbers, not {array.dtype}; words belong into a DataFrame")
        if array.ndim not in (1, 2) or array.shape[-1] != self.cells:
            raise InvalidError(f"rows have the shape {array.shape}, but must have (n, {self.cells}), a cell for each column")
        cells: Array = np.atleast_2d(array).astype(np.float64)
        return cells

    def _cells_of_frame(self, frame: Any) -> Array:
        cells = np.full((len(frame), self.cells), np.nan)
        names = names_of(frame)
        absent = self.absent(frame)
        if len(absent) == len(self.learnt):
            raise InvalidError(f"the DataFrame has none of the memory's columns, such as {absent[0]!r}")
        for column, cell, _ in self._places():
            if column.kind in ("picture", "vector"):
                raise InvalidError(f"column {column.name!r} is a {column.kind}: give the rows as an array of cells")
            if column.name in names:
                series = frame[names[column.name]]
                is_number = column.kind == "number"
                cells[:, cell.start] = (
                    numbers_of(column, series) if is_number else words_of(column.name, series, column.words, column.kept)
                )
        return cells

    def _entries(self, column: Column, cells: Array) -> tuple[Array, Mask]:
        known: Mask = ~np.isnan(cells)
        if column.has_words:
            wrong = known[:, 0] & ~np.isin(cells[:, 0], np.arange(len(column.words)))
            if wrong.any():
                row = int(np.argmax(wrong))
                raise InvalidError(f"row {row}, column {column.name!r} is {cells[row, 0]:g}, which is none of its words")
        if column.kind == "category":
            one = cells == np.arange(len(column.words))
            return (one - column.centre) / column.scale, np.broadcast_to(known, one.shape)
        if column.kept and column.kind == "number" and not column.date:
            known = known & ~np.isin(cells, [float(word) for word in column.kept if _is_number(word)])
        circle = column.kind == "number" and column.period > 0
        entries = np.where(known, (cells - column.centre) / column.scale, 0)
        if not np.isfinite(entries).all():
            row, cell = map(int, np.argwhere(~np.isfinite(entries))[0])
            raise InvalidError(f"row {row}, column {column.name!r} is {cells[row, cell]:g}, which cannot be kept")
        far = ~(np.abs(entries) <= FAR) if column.kind == "number" and (column.trend or not circle) else np.zeros(0, np.bool_)
        if far.any() and not self.clip:
            row = int(np.argmax(far[:, 0]))
            raise InvalidError(
                f"row {row}, column {column.name!r} is {cells[row, 0]:g}, more than {FAR:g} scales ({column.scale:g}) "
                f"from its centre, {column.centre:g}; Memory(..., clip=True) brings such values nearer"
            )
        entries = np.clip(entries, -CLIP, CLIP) if self.clip and column.kind == "number" else entries
        if not circle:
            return entries, known
        angle = 2 * np.pi * np.where(known, cells, 0) / column.period
        around = np.where(known, sqrt(2) * np.concatenate([np.cos(angle), np.sin(angle)], axis=1), 0)
        every = np.concatenate([entries, around], axis=1) if column.trend else around
        return every, np.broadcast_to(known, every.shape)

    def _cells(self, x: Floats) -> Array:
        """Back from entries: numbers in the table's units, of categories the place of the likeliest word."""
        cells = np.empty((len(x), self.cells))
        for column, cell, entry in self._places():
            if column.kind == "category":
                cells[:, cell.start] = np.argmax(x[:, entry], axis=1)
            elif column.kind == "ordered":
                place = _rounded_all(column.centre + column.scale * x[:, entry].astype(np.float64))
                cells[:, cell] = np.clip(place, 0, len(column.words) - 1)
            elif column.kind == "number" and column.period > 0 and not column.trend:
                turns = np.arctan2(x[:, entry.start + 1], x[:, entry.start]).astype(np.float64) / (2 * np.pi)
                cells[:, cell.start] = column.nearest(column.period * (turns % 1))
            elif column.kind == "number":
                first = x[:, entry.start].astype(np.float64)
                cells[:, cell.start] = column.nearest(column.centre + column.scale * first)
            else:
                cells[:, cell] = column.centre + column.scale * x[:, entry].astype(np.float64)
        return cells

    def decode(self, x: Floats, rows: Rows) -> Any:
        origin, cells, hidden = rows.origin
        answer = np.where(np.isnan(cells), self._cells(x), cells)
        if is_frame(origin):
            filled = self._filled(origin, hidden, answer)
            return filled.iloc[0] if rows.single else filled
        return answer[0] if rows.single else answer

    def decode_spread(self, spread: Floats, x: Floats, rows: Rows) -> Any:
        """In the form of the rows and the table's units; of a category the chance that another word than that of the answer x is right."""
        cells = np.empty((len(spread), self.cells))
        for column, cell, entry in self._places():
            if column.kind == "category":  # a mean of ones and zeros estimates a chance
                chance = np.clip(column.centre + column.scale * x[:, entry].astype(np.float64), 0, 1)
                every = chance.sum(axis=1)
                best = np.divide(chance.max(axis=1), every, out=np.full(len(x), 1 / column.size), where=every > 0)
                cells[:, cell.start] = 1 - best
            elif column.kind == "number" and column.period > 0 and not column.trend:
                at = x[:, entry].astype(np.float64)
                radius = np.maximum(np.hypot(at[:, 0], at[:, 1]), 1e-9)
                apart = np.hypot(spread[:, entry.start] * at[:, 1], spread[:, entry.start + 1] * at[:, 0]) / radius**2
                cells[:, cell.start] = column.period * np.minimum(apart / (2 * np.pi), 12**-0.5)
            elif column.kind == "number":
                cells[:, cell.start] = column.scale * spread[:, entry.start].astype(np.float64)
            else:
                cells[:, cell] = column.scale * spread[:, entry].astype(np.float64)
        cells[~np.isnan(rows.origin[1])] = 0
        origin = rows.origin[0]
        if is_frame(origin):
            names = names_of(origin)
            places = [(column.name, cell.start) for column, cell, _ in self._places()]
            order = [*map(str, origin.columns), *(name for name, _ in places if name not in names)]
            where = dict(places)
            zeros = np.zeros(len(cells))  # of columns that come back as they are
            widths = type(origin)({k: cells[:, where[n]] if n in where else zeros for k, n in enumerate(order)}, index=origin.index)
            widths.columns = [names.get(name, name) for name in order]
            return widths.iloc[0] if rows.single else widths
        return cells[0] if rows.single else cells

    def chances(self, x: Floats, rows: Rows) -> dict[str, Any]:
        """Of every column of words that are no order: how likely each is, [n, words]; of a DataFrame as a DataFrame."""
        found: dict[str, Any] = {}
        for column, cell, entry in self._places():
            if column.kind != "category":
                continue
            chance = np.clip(column.centre + column.scale * x[:, entry].astype(np.float64), 0, 1)
            every = chance.sum(axis=1, keepdims=True)
            chance = np.divide(chance, every, out=np.full_like(chance, 1 / column.size), where=every > 0)
            known = ~np.isnan(rows.origin[1][:, cell.start])
            chance[known] = rows.origin[1][known, cell.start, np.newaxis] == np.arange(column.size)
            origin = rows.origin[0]
            if is_frame(origin):
                table = type(origin)(chance, columns=list(column.words), index=origin.index)
                found[column.name] = table.iloc[0] if rows.single else table
            else:
                found[column.name] = chance[0] if rows.single else chance
        return found

    def blames(self, rows: Rows, expected: Array, deviation: Array, blame: Array) -> list[list[Blame]]:
        """Of every row its known columns, those to blame first. No word is impossible."""
        answer, given = self._cells(expected.astype(np.float32)), self._cells(rows.x)
        every = []
        for i in range(len(rows.x)):
            row = []
            for column, cell, entry in self._places():
                if rows.known is not None and not rows.known[i, entry.start]:
                    continue
                value: Any = answer[i, cell.start]
                sure, nats = column.scale * deviation[i, entry.start], float(blame[i, entry].max())
                if column.kind == "category":
                    chance = np.clip(column.centre + column.scale * expected[i, entry], 0, 1) + 1e-3
                    sure = chance.max() / chance.sum()
                    nats = float(np.log(chance.max() / chance[int(given[i, cell.start])]))
                elif column.size > 1:  # a period, whose two entries say each other
                    off = (rows.x[i, entry] - expected[i, entry]) / deviation[i, entry]
                    sure, nats = np.nan, float((off * off).max() / 2)
                if column.has_words:
                    value = column.words[int(value)]
                row.append(Blame(column.name, value, float(sure), nats))
            every.append(sorted(row, key=lambda one: -one.nats))
        return every

    def _filled(self, frame: Any, hidden: Mask, answer: Array) -> Any:
        """A copy in which only what was missing or hidden is new; columns that it lacks come at its end."""
        filled = frame.copy()
        names = names_of(frame)
        added = [column.name for column in self.learnt if column.name not in names]
        if added:
            every = type(frame)(answer, columns=[column.name for column in self.learnt])
            filled = filled.assign(**{name: self._cells_as_values(name, every[name].to_numpy()) for name in added})
        for column, cell, _ in self._places():
            if column.name not in names:
                continue
            series = frame[names[column.name]]
            missing = series.isna().to_numpy() | hidden[:, cell.start]
            values = answer[missing, cell.start]
            if missing.any() and column.kind == "number":
                filled[names[column.name]] = filled_with_numbers(column, series, missing, values)
            elif missing.any():
                words = [column.words[int(k)] for k in values]
                filled[names[column.name]] = filled_with_words(series, missing, words)
        return filled

    def _cells_as_values(self, name: str, cells: Array) -> Any:
        """A whole column as a DataFrame has it."""
        import pandas

        column = next(column for column in self.learnt if column.name == name)
        if column.has_words:
            return pandas.Categorical.from_codes(cells.astype(int), list(column.words), ordered=column.kind == "ordered")
        if column.date and is_date(column.date):
            return times_of(cells)
        return cells.astype(np.int64) if column.is_integer else cells

    def frame(self, x: Floats) -> Any:
        """Rows of the memory as a DataFrame."""
        import pandas

        cells = self._cells(x)
        return pandas.DataFrame(
            {
                column.name: self._cells_as_values(column.name, cells[:, cell.start])
                for column, cell, _ in self._places()
                if not column.shape
            }
        )
