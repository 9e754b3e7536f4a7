"""Tables: columns of numbers and categories, as rows of the memory. The note of a memory keeps them in the form that
docs/FORMAT.md describes, so that the program bpcn and this package open each other's memories."""
from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._bayespcn import InvalidError
from .rows import Array, Floats, Mask, Rows, mask, narrow

FAR = 100.0  # scales from the centre beyond which a number is no plausible value of its column
CLIP = 8.0  # where such numbers are brought, if wanted
LOOKED_AT, VALUES_LOOKED_AT = 10_000, 4 << 20  # rows and values that centre and scale are taken from
FEW_WORDS, SOME_WORDS = 10, 100


@dataclass(frozen=True)
class Column:
    """A column: a number is kept as (value - centre) / scale, a category as an entry for each of its words."""

    name: str
    kind: str = "number"  # or "category", "picture", "vector", "ignored"
    centre: float = 0.0
    scale: float = 1.0
    words: tuple[str, ...] = ()
    shape: str = ""  # of a picture or vector, as the note has it

    @property
    def size(self) -> int:
        """Entries of the memory's row."""
        if self.kind == "category":
            return len(self.words)
        if self.kind == "ignored":
            return 0
        return int(np.prod([int(n) for n in self.shape.split("x")])) if self.shape else 1

    @property
    def cells(self) -> int:
        """Cells of a table's row."""
        return self.size if self.shape else 0 if self.kind == "ignored" else 1


def _rounded(value: float) -> float:
    """As C rounds: halves away from 0."""
    whole = float(np.trunc(value))
    return whole + float(np.copysign(1, value)) if abs(value - whole) >= 0.5 else whole


def looked_at(columns: int) -> int:
    """Rows that the columns are taken from."""
    return min(LOOKED_AT, max(VALUES_LOOKED_AT // columns, 100)) if columns else 0


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


def _from_series(name: str, series: Any) -> Column:
    """What a column of a DataFrame is."""
    known = series.dropna()
    if len(known) == 0:
        return Column(name, "ignored")
    if series.dtype.kind in "fiu":
        values = known.to_numpy(dtype=np.float64)
        return Column(name, "number", *centre_and_scale(values[np.isfinite(values)]))
    if series.dtype.kind in "mMc":
        return Column(name, "ignored")
    words = [str(value) for value in known]
    different = len(set(words))
    stated = hasattr(series, "cat")
    if stated:  # words that did not come yet, too
        column = category(name, words)
        every = tuple(sorted(map(str, series.cat.categories), key=str.encode))
        return Column(name, "category", _rounded(1e3 / len(every)) / 1e3, column.scale, every)
    few = different <= FEW_WORDS and (different < len(words) or len(words) == 1)
    if few or (different <= SOME_WORDS and 2 * different <= len(words)):
        return category(name, words)
    return Column(name, "ignored")


def _names(frame: Any) -> dict[str, Any]:
    """The columns of a DataFrame by their names as text."""
    names = {str(name): name for name in frame.columns}
    if len(names) < len(frame.columns):
        raise InvalidError("several columns of the DataFrame have the same name")
    return names


def columns_of(what: Any) -> list[Column]:
    """Columns from a DataFrame to look at; a list of Column; or a dictionary of names, each with "number", (centre, scale),
    a list of words or "ignored".

    >>> columns_of({"age": (37, 13.6), "city": ["Bonn", "Rome"]})[1].words
    ('Bonn', 'Rome')
    """
    if hasattr(what, "iloc") and hasattr(what, "columns"):
        first = looked_at(len(what.columns))
        columns = [_from_series(text, what[name].iloc[:first]) for text, name in _names(what).items()]
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
    if isinstance(kind, str) or not len(kind):
        raise InvalidError(f"column {name!r} is {kind!r}, but must be 'number', (centre, scale), words or 'ignored'")
    return category(name, [str(word) for word in kind])


# ---- the note


def _escaped(text: str) -> str:
    return re.sub(r"[\x00-\x1f\x7f%=]", lambda found: f"%{ord(found[0]):02X}", text)


def _plain(text: str) -> str:
    return re.sub(r"%([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), text)


def _line(column: Column) -> str:
    parts = [_escaped(column.name), column.kind]
    if column.kind in ("number", "category"):
        parts += [f"{column.centre:.15g}", f"{column.scale:.15g}"]
    parts += [column.shape] if column.shape else []
    return "\t".join(parts + [_escaped(word) for word in column.words])


def _parsed(line: str) -> Column:
    name, kind, *rest = line.split("\t")
    if kind in ("number", "category"):
        return Column(_plain(name), kind, float(rest[0]), float(rest[1]), tuple(_plain(word) for word in rest[2:]))
    if kind not in ("picture", "vector", "ignored"):
        raise ValueError(kind)
    return Column(_plain(name), kind, shape=rest[0] if rest else "")


def columns_of_note(note: str) -> list[Column] | None:
    """The columns that a memory's note describes; None when it is no table."""
    lines = note.split("\n")
    for at, line in enumerate(lines):
        if line.startswith("columns="):
            try:
                count = int(line[8:])
                return [_parsed(line) for line in lines[at + 1 : at + 1 + count]]
            except (ValueError, IndexError):
                raise InvalidError("the memory's note does not describe its columns as docs/FORMAT.md says") from None
    return None


# ---- rows


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
        return "".join(f"{line}\n" for line in [f"columns={len(self.columns)}", *map(_line, self.columns)])

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
        is_frame = hasattr(x, "iloc") and hasattr(x, "columns")
        cells = self._cells_of_frame(x) if is_frame else self._cells_of_array(x)
        single = not is_frame and np.ndim(x) == 1
        if known is not None:
            given = mask(known, (self.cells,) if single else (len(cells), self.cells))
            cells = np.where(given, cells, np.nan)
        rows = np.zeros((len(cells), self.dim))
        here = np.zeros((len(cells), self.dim), np.bool_)
        for column, cell, entry in self._places():
            rows[:, entry], here[:, entry] = self._entries(column, cells[:, cell])
        return Rows(narrow(rows), here, single, (x, cells))

    def _cells_of_array(self, x: Any) -> Array:
        array = np.asarray(x)
        if array.dtype.kind not in "fiub":
            raise TypeError(f"cells must be numbers, not {array.dtype}; words belong into a DataFrame")
        if array.ndim not in (1, 2) or array.shape[-1] != self.cells:
            raise InvalidError(f"rows have the shape {array.shape}, but must have (n, {self.cells}), a cell for each column")
        cells: Array = np.atleast_2d(array).astype(np.float64)
        return cells

    def _cells_of_frame(self, frame: Any) -> Array:
        cells = np.full((len(frame), self.cells), np.nan)
        names = _names(frame)
        absent = [column.name for column in self.learnt if column.name not in names]
        if len(absent) == len(self.learnt):
            raise InvalidError(f"the DataFrame has none of the memory's columns, such as {absent[0]!r}")
        if absent:
            warnings.warn(f"columns that are not there count as unknown: {', '.join(absent)}", stacklevel=4)
        for column, cell, _ in self._places():
            if column.kind in ("picture", "vector"):
                raise InvalidError(f"column {column.name!r} is a {column.kind}: give the rows as an array of cells")
            if column.name in names:
                cells[:, cell.start] = self._cells_of_series(column, frame[names[column.name]])
        return cells

    @staticmethod
    def _cells_of_series(column: Column, series: Any) -> Array:
        missing = series.isna().to_numpy()
        cells = np.full(len(series), np.nan)
        if column.kind == "number":
            if series.dtype.kind not in "fiub":
                raise InvalidError(f"column {column.name!r} holds numbers, but was given as {series.dtype}")
            cells[~missing] = series[~missing].to_numpy(dtype=np.float64)
            return cells
        place = {word: float(k) for k, word in enumerate(column.words)}
        words = [str(value) for value in series[~missing]]
        unseen = sorted(set(words) - set(place))
        if unseen:
            warnings.warn(f"words that column {column.name!r} does not have count as unknown: {unseen[0]!r}", stacklevel=5)
        cells[~missing] = [place.get(word, np.nan) for word in words]
        return cells

    def _entries(self, column: Column, cells: Array) -> tuple[Array, Mask]:
        known: Mask = ~np.isnan(cells)
        if column.kind == "category":
            wrong = known[:, 0] & ~np.isin(cells[:, 0], np.arange(len(column.words)))
            if wrong.any():
                row = int(np.argmax(wrong))
                raise InvalidError(f"row {row}, column {column.name!r} is {cells[row, 0]:g}, which is none of its words")
            one = cells == np.arange(len(column.words))
            return (one - column.centre) / column.scale, np.broadcast_to(known, one.shape)
        entries = np.where(known, (cells - column.centre) / column.scale, 0)
        far = ~(np.abs(entries) <= FAR) if column.kind == "number" else np.zeros(0, np.bool_)
        if far.any() and not (self.clip and np.isfinite(entries).all()):
            row = int(np.argmax(far[:, 0]))
            raise InvalidError(
                f"row {row}, column {column.name!r} is {cells[row, 0]:g}, more than {FAR:g} scales ({column.scale:g}) "
                f"from its centre, {column.centre:g}; Memory(..., clip=True) brings such values nearer"
            )
        return np.clip(entries, -CLIP, CLIP) if self.clip and column.kind == "number" else entries, known

    def _cells(self, x: Floats) -> Array:
        """Back from entries: numbers in the table's units, of categories the place of the likeliest word."""
        cells = np.empty((len(x), self.cells))
        for column, cell, entry in self._places():
            if column.kind == "category":
                cells[:, cell.start] = np.argmax(x[:, entry], axis=1)
            else:
                cells[:, cell] = column.centre + column.scale * x[:, entry].astype(np.float64)
        return cells

    def decode(self, x: Floats, rows: Rows) -> Any:
        origin, cells = (None, None) if rows.origin is None else rows.origin
        answer = self._cells(x)
        if cells is not None:
            answer = np.where(np.isnan(cells), answer, cells)
        if hasattr(origin, "iloc"):
            return self._filled(origin, cells, answer)
        return answer[0] if rows.single else answer

    def decode_spread(self, spread: Floats, x: Floats, rows: Rows) -> Array:
        """In the table's units; of a category the chance that another word than that of the answer x is right."""
        cells = np.empty((len(spread), self.cells))
        for column, cell, entry in self._places():
            if column.kind == "category":  # a mean of ones and zeros estimates a chance
                chance = np.clip(column.centre + column.scale * x[:, entry].astype(np.float64), 0, 1)
                every = chance.sum(axis=1)
                best = np.divide(chance.max(axis=1), every, out=np.full(len(x), 1 / column.size), where=every > 0)
                cells[:, cell.start] = 1 - best
            else:
                cells[:, cell] = column.scale * spread[:, entry].astype(np.float64)
        if rows.origin is not None:
            cells[~np.isnan(rows.origin[1])] = 0
        widths: Array = cells[0] if rows.single else cells
        return widths

    def _filled(self, frame: Any, cells: Array, answer: Array) -> Any:
        """A copy in which only what was missing is new."""
        filled = frame.copy()
        names = _names(frame)
        for column, cell, _ in self._places():
            if column.name not in names:
                continue
            series = frame[names[column.name]]
            missing = series.isna().to_numpy()
            if missing.any():
                values = answer[missing, cell.start]
                filled[names[column.name]] = _fill_series(series, missing, column, values)
        return filled

    def frame(self, x: Floats) -> Any:
        """Rows of the memory as a DataFrame."""
        import pandas

        cells = self._cells(x)
        return pandas.DataFrame(
            {
                column.name: pandas.Categorical.from_codes(cells[:, cell.start].astype(int), list(column.words))
                if column.kind == "category"
                else cells[:, cell.start]
                for column, cell, _ in self._places()
                if not column.shape
            }
        )


def _fill_series(series: Any, missing: Mask, column: Column, values: Array) -> Any:
    """The values at their places, in the column's own type where it has one: categories, whole numbers."""
    new: list[Any] = list(values)
    if column.kind == "category":
        had = {str(value): value for value in series.dropna().unique()}
        if hasattr(series, "cat"):
            had.update({str(value): value for value in series.cat.categories})
        new = [had.get(column.words[int(k)], column.words[int(k)]) for k in values]
        absent = sorted({word for word in new} - set(series.cat.categories)) if hasattr(series, "cat") else []
        series = series.cat.add_categories(absent) if absent else series
    elif series.dtype.kind in "iu":
        new = [int(_rounded(float(value))) for value in values]
    filled = series.copy()
    filled[missing] = new
    return filled
