"""From arrays of any kind to the library's rows of float32, and back."""
from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._bayespcn import InvalidError

Array = NDArray[Any]
Floats = NDArray[np.float32]
Mask = NDArray[np.bool_]


@dataclass
class Rows:
    """Rows as the library takes them, and what is needed to bring an answer into the form that they came in."""

    x: Floats  # [n, dim]
    known: Mask | None  # [n, dim]; None: all of it
    single: bool  # one row was given, without the axis of rows
    origin: Any = None  # of a table: what was given


def array_of(x: Any) -> Array:
    """What NumPy makes of it, or a sentence why it is no array of numbers."""
    if hasattr(x, "toarray"):
        raise TypeError("rows are a sparse matrix: give them by its toarray(), some at a time")
    if hasattr(x, "__next__"):
        raise TypeError("rows come from a generator, which only write takes: give an array")
    if not hasattr(x, "__array__") and hasattr(x, "__dlpack__"):
        return np.from_dlpack(x)
    try:
        return np.asarray(x)
    except ValueError:
        raise InvalidError("rows have different lengths, or an entry is no number") from None


def _kind_of(x: Any, array: Array) -> str:
    return type(x).__name__ if array.ndim == 0 else f"an array of {array.dtype}"


def numbers(x: Any, pixels: tuple[float, float] | None) -> tuple[Array, Mask | None]:
    """An array of numbers, and what is known of it if it says so itself (a masked array, with True for unknown)."""
    known = ~np.broadcast_to(x.mask, x.shape) if isinstance(x, np.ma.MaskedArray) else None
    array = array_of(x.data if known is not None else x)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"rows must be numbers, not {_kind_of(x, array)}")
    if array.dtype == np.uint8 and pixels is None:
        raise InvalidError("rows are bytes (uint8): say what they mean, such as Memory(..., pixels=(0, 255))")
    return array, known


def mask(known: Any, shape: tuple[int, ...]) -> Mask:
    """What is known, as an array of bool of that shape; a mask of one row is for all rows."""
    array = np.asarray(known)
    if array.dtype.kind not in "biu":
        raise TypeError(f"known must be an array of bool, not {array.dtype}")
    if array.shape not in (shape, shape[1:]):
        raise InvalidError(f"known has the shape {array.shape}, but must have that of the rows, {shape}")
    return np.broadcast_to(array.astype(np.bool_, copy=False), shape)


def narrow(x: Array) -> Floats:
    """float32, contiguous and aligned; what is too great becomes infinite, which the library refuses."""
    with np.errstate(over="ignore", invalid="ignore"):
        narrowed: Floats = np.require(x, np.float32, ["C", "A"])
    return narrowed


def without_nan(x: Floats, known: Mask | None) -> tuple[Floats, Mask | None]:
    """Where no mask was given, NaN means unknown; NaN that is not known becomes 0."""
    if x.size == 0 or not np.isnan(x.min()):  # a minimum is NaN where anything is
        return x, None if known is None else np.ascontiguousarray(known)
    nan = np.isnan(x)
    if known is None:
        known = ~nan
    hidden = nan & ~known
    return np.where(hidden, np.float32(0), x) if hidden.any() else x, np.ascontiguousarray(known)


class Arrays:
    """Rows that are arrays of one shape. Pictures (H, W), (H, W, 1) and (H, W, 3) are kept as the program bpcn keeps
    them, as planes of channels; `pixels` are the values that stand for -1 and 1."""

    fills = False  # what is known of a row without a hole is not certain: it is recalled

    def __init__(self, shape: tuple[int, ...], pixels: tuple[float, float] | None = None) -> None:
        if not shape or any(side < 1 for side in shape):
            raise InvalidError(f"a row of shape {shape} has no entries")
        if pixels is not None and not pixels[0] < pixels[1]:
            raise InvalidError(f"pixels are from {pixels[0]} to {pixels[1]}, which is no range")
        self.shape = shape
        self.pixels = pixels
        self.dim = prod(shape)

    @property
    def is_picture(self) -> bool:
        return len(self.shape) == 2 or (len(self.shape) == 3 and self.shape[2] in (1, 3))

    @property
    def is_plain(self) -> bool:
        """Entries are passed on as they are."""
        return self.pixels is None and not (len(self.shape) == 3 and self.is_picture)

    def note(self) -> str:
        """What the program bpcn keeps of such rows, and the shape where that does not say it."""
        if self.is_picture:
            channels = "x3" if self.shape[2:] == (3,) else ""
            return f"fields=image:{self.shape[1]}x{self.shape[0]}{channels}\n"
        shape = "" if len(self.shape) == 1 else f"shape={','.join(map(str, self.shape))}\n"
        return f"{shape}fields=row:{self.dim}\n"

    def encode(self, x: Any, known: Any = None) -> Rows:
        array, own = numbers(x, self.pixels)
        single = array.shape == self.shape
        if not single and array.shape[1:] != self.shape:
            raise InvalidError(f"rows have the shape {array.shape}, but must have {self.shape} or (n, {str(self.shape)[1:]}")
        if known is not None or own is not None:
            known = self._flat(mask(own if known is None else known, array.shape), single)
        if self.pixels is not None:
            low, high = self.pixels
            array = (array.astype(np.float64) - low) * (2 / (high - low)) - 1
        rows, known = without_nan(narrow(self._flat(array, single)), known)
        return Rows(rows, known, single)

    def _flat(self, array: Array, single: bool) -> Array:
        array = array[np.newaxis] if single else array
        if len(self.shape) == 3 and self.is_picture:
            array = np.moveaxis(array, -1, 1)
        return array.reshape(len(array), self.dim)

    def _shaped(self, x: Array, single: bool) -> Array:
        if len(self.shape) == 3 and self.is_picture:
            x = np.moveaxis(x.reshape(len(x), self.shape[2], *self.shape[:2]), 1, -1)
        x = x.reshape(len(x), *self.shape)
        shaped: Array = x[0] if single else x
        return shaped

    def decode(self, x: Floats, rows: Rows) -> Array:
        if self.pixels is not None:
            low, high = self.pixels
            x = (x + 1) * np.float32((high - low) / 2) + np.float32(low)
        return self._shaped(x, rows.single)

    def decode_spread(self, spread: Floats, x: Floats, rows: Rows) -> Array:
        scale = 1.0 if self.pixels is None else (self.pixels[1] - self.pixels[0]) / 2
        return self._shaped(spread * np.float32(scale), rows.single)
