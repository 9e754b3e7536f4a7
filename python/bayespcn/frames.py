"""DataFrames, a row of one as a Series, and what their columns hold. pandas itself is not needed for it."""
from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ._bayespcn import InvalidError
from .notation import days_of, text_of, times_of, value_of
from .rows import Array, Mask


def is_frame(x: Any) -> bool:
    return hasattr(x, "iloc") and hasattr(x, "columns")


def is_series(x: Any) -> bool:
    return hasattr(x, "iloc") and hasattr(x, "to_frame")


def names_of(frame: Any) -> dict[str, Any]:
    """The columns of a DataFrame by their names as text."""
    names: dict[str, Any] = {}
    for name in frame.columns:
        if str(name) in names:
            raise InvalidError(f"several columns of the DataFrame have the same name, {str(name)!r}")
        names[str(name)] = name
    return names


def known_values(series: Any) -> Any:
    """What is not missing; numbers that came as objects are numbers."""
    return series.dropna().infer_objects()


def numbers_of(column: Any, series: Any) -> Array:
    """The cells of a column of numbers, dates or times, which may also be given as text in the column's writing."""
    cells = np.full(len(series), np.nan)
    known = known_values(series)
    here = series.notna().to_numpy()
    if len(known) and known.dtype.kind == "M" and column.date:
        cells[here] = days_of(known)
        return cells
    if len(known) and known.dtype.kind in "OUT":
        values = []
        for at, text in zip(np.flatnonzero(here), map(str, known)):
            value = np.nan if text in column.kept else value_of(column, text)
            if value is None:
                raise InvalidError(f"row {at}, column {column.name!r} is {text!r}, but the column holds numbers")
            values.append(value)
        cells[here] = values
        return cells
    if len(known) and known.dtype.kind not in "fiub":
        raise InvalidError(f"column {column.name!r} holds numbers, but was given as {known.dtype}")
    cells[here] = known.to_numpy(dtype=np.float64)
    return cells


def words_of(name: str, series: Any, words: Sequence[str], kept: Sequence[str] = ()) -> Array:
    """The cells of a category: the places of its words, counted from 0."""
    cells = np.full(len(series), np.nan)
    place = {word: float(k) for k, word in enumerate(words)}
    given = [str(value) for value in series.dropna()]
    unseen = sorted(set(given) - set(place) - set(kept))
    if unseen:
        warnings.warn(f"words that column {name!r} does not have count as unknown: {unseen[0]!r}", stacklevel=5)
    cells[series.notna().to_numpy()] = [place.get(word, np.nan) for word in given]
    return cells


def filled_with_numbers(column: Any, series: Any, missing: Mask, values: Array) -> Any:
    """The series with values where it lacks some; whole numbers stay whole, and in their range, dates dates, and text is in
    the column's writing."""
    if series.dtype.kind == "M":
        return _filled(series, missing, list(times_of(values)))
    known = known_values(series)
    special = column.prefix or column.suffix or column.group or column.date
    if known.dtype.kind in "OUT" if len(known) else special and series.dtype.kind == "O":
        return _filled(series, missing, [text_of(column, value) for value in values.tolist()])
    if series.dtype.kind in "iu":
        range_of = np.iinfo(series.dtype.type)
        return _filled(series, missing, [min(max(round(value), range_of.min), range_of.max) for value in values.tolist()])
    filled = _filled(series, missing, values.tolist())
    if column.is_integer and filled.dtype == np.float64 and (np.asarray(filled) % 1 == 0).all():  # gaps made floats of integers
        return filled.astype(np.int64)
    return filled


def filled_with_words(series: Any, missing: Mask, words: Sequence[str]) -> Any:
    """The same of a category: each word as the value that the series has for it."""
    had = {str(value): value for value in series.dropna().unique()}
    if hasattr(series, "cat"):
        had.update({str(value): value for value in series.cat.categories})
    if not any(isinstance(value, str) for value in had.values()):
        had.update({"False": False, "True": True})
    new = [had.get(word, word) for word in words]
    if hasattr(series, "cat"):
        series = series.cat.add_categories(sorted(set(new) - set(series.cat.categories)))
    return _filled(series, missing, new)


def _filled(series: Any, missing: Mask, new: Sequence[Any]) -> Any:
    """In the type of the series, or as objects where that has no such values."""
    values = series.to_numpy(dtype=object).copy()
    for at, value in zip(np.flatnonzero(missing), new):
        values[at] = value
    filled = type(series)(values, index=series.index, name=series.name, dtype=object)
    try:
        return filled.astype(series.dtype)
    except (TypeError, ValueError):
        return filled
