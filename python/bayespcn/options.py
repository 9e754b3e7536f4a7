"""What a memory is made of: words for the library's enumerations, and what a row is."""
from __future__ import annotations

import re
from collections.abc import Sequence
from operator import index
from typing import Any, Literal, TypedDict

from . import _bayespcn as raw
from .columns import Table, columns_of, columns_of_note
from .frames import is_frame
from .rows import Arrays


class Options(TypedDict, total=False):
    """Options of `Memory` beside dim, shape and columns; bayespcn.h has each in full."""

    kind: Literal["networks", "table"]  # default: networks for arrays, a table's closed form for columns
    hidden: Sequence[int]  # widths of the hidden layers from the bottom; default: three of dim / 3, at most 64
    activation: Literal["gelu", "relu", "tanh", "linear"]  # default gelu
    particles: int  # mixture components; default 1
    resample: float  # below this share of effective particles they are resampled; default 0: never
    sigma_w: float  # prior standard deviation of the weights; default 1
    sigma_x: float  # noise of every layer, in units of the scale of the data; default 0.01
    sigma_data: float  # noise of the observations, likewise; default 0: sigma_x
    minimizer: Literal["lbfgs", "adam"]  # default lbfgs
    precision: Literal["float32", "float64"]  # default float32
    seed: int  # default 0
    shards: int  # networks that share the rows; default: with room for 1024 rows
    shard_rows: int  # rows of a shard; default: the width of its narrowest layer
    when_full: Literal["blur", "recycle", "refuse"]  # default blur
    surprises: int  # of the latest rows that typicality compares with; default 1024
    names: int  # of the latest named rows whose names are kept; default 0
    deletable: int  # of the latest rows that can be deleted; default 1024
    scale: Literal["auto", "each", "as given"]  # what entries are divided by; default auto
    far: float  # scales from the centre beyond which entries are refused, or with clip brought to there; 0 (default): 100

CHOICES: dict[str, dict[str, int]] = {
    "kind": {"networks": raw.NETWORKS, "table": raw.TABLE},
    "activation": {name: value for value, name in enumerate(raw.ACTIVATIONS)},
    "minimizer": {"lbfgs": raw.LBFGS, "adam": raw.ADAM},
    "precision": {"float32": raw.FLOAT32, "float64": raw.FLOAT64},
    "scale": {"auto": raw.SCALE_AUTO, "each": raw.SCALE_AUTO_EACH, "as given": raw.SCALE_AS_GIVEN},
    "when_full": {"blur": raw.BLUR, "recycle": raw.RECYCLE, "refuse": raw.REFUSE},
    "objective": {
        "default": raw.OBJECTIVE_DEFAULT,
        "marginal": raw.OBJECTIVE_MARGINAL,
        "paper": raw.OBJECTIVE_PAPER,
        "recall": raw.OBJECTIVE_RECALL,
    },
    "sync": {"each": raw.SYNC_EACH, "call": raw.SYNC_CALL, "manual": raw.SYNC_MANUAL},
}

# An array's networks: a half of a row tells which of `width` rows it is of if it has clearly more entries than that. With a
# third of the entries 400 random rows of 20, 60, 100, 160 and 240 entries are known from their halves (0.998 and more), and
# no other random row is; with 64 units none of 20 and 60 entries.
ARRAY_ROWS, ARRAY_WIDTH = 1024, 64
TABLE_OPTIONS = {"kind", "seed", "threads", "surprises", "names"}
TABLE_READ: dict[str, Any] = {"objective": "marginal", "noise": 0.0}


def numbers_of(values: dict[str, Any]) -> dict[str, Any]:
    """Words become the library's numbers."""
    chosen = dict(values)
    for name, words in CHOICES.items():
        if isinstance(chosen.get(name), str):
            if chosen[name] not in words:
                raise raw.InvalidError(f"{name} is {chosen[name]!r}, but must be one of {', '.join(words)}")
            chosen[name] = words[chosen[name]]
    return chosen


def layout_of(dim: int | None, shape: Any, columns: Any, pixels: Any, clip: bool) -> Arrays | Table:
    if sum(what is not None for what in (dim, shape, columns)) != 1:
        raise TypeError("say what a row is with one of dim, shape and columns")
    if columns is not None:
        return Table(columns_of(columns), clip)
    if is_frame(dim) or is_frame(shape):
        raise TypeError("a DataFrame says what its columns are: Memory(columns=frame)")
    try:
        if dim is not None:
            return Arrays((index(dim),), pixels)
    except TypeError:
        raise TypeError(f"dim is {dim!r}, but must be a whole number: the entries of a row") from None
    try:
        sides = tuple(map(index, shape))
    except TypeError:
        raise TypeError(f"shape is {shape!r}, but must have a whole number for each side, such as (28, 28)") from None
    return Arrays(sides, pixels)


def layout_of_note(note: str, dim: int, pixels: Any, clip: bool) -> Arrays | Table:
    """What a memory's note says of its rows; one vector if it says nothing."""
    columns = columns_of_note(note)
    if columns is not None:
        layout: Arrays | Table = Table(columns, clip)
    else:
        shape = re.search(r"^shape=([\d,]+)$", note, re.M)
        picture = re.search(r"^fields=[^:,\n]+:(\d+)x(\d+)(x3)?$", note, re.M)
        if shape:
            layout = Arrays(tuple(map(int, shape[1].split(","))), pixels)
        elif picture:
            layout = Arrays((int(picture[2]), int(picture[1])) + ((3,) if picture[3] else ()), pixels)
        else:
            layout = Arrays((dim,), pixels)
    if layout.dim != dim:
        raise raw.InvalidError(f"the memory's note describes rows of {layout.dim} entries, but it has {dim}")
    return layout


def options_of(layout: Arrays | Table, options: dict[str, Any], clip: bool = False) -> dict[str, Any]:
    """What is not said is usual. A table's memory is in closed form, unless an option is given that networks alone have."""
    if "hidden" in options:
        try:
            options = {**options, "hidden": tuple(map(index, options["hidden"]))}
        except TypeError:
            wrong = options["hidden"]
            raise TypeError(f"hidden is {wrong!r}, but must have a width for each layer, such as (64, 64, 64)") from None
    if not isinstance(layout, Table):
        width = min(ARRAY_WIDTH, max(layout.dim // 3, 2))
        rows = options.get("shard_rows") or min(options.get("hidden") or [width])
        return numbers_of({"hidden": (width,) * 3, "shards": max(-(-ARRAY_ROWS // rows), 1), **options, "dim": layout.dim, "clip": int(clip)})
    usual: dict[str, Any] = {"kind": "table", "scale": "as given"} if TABLE_OPTIONS.issuperset(options) else {"scale": "as given"}  # columns have scales of their own
    made = numbers_of({**usual, **options, "dim": layout.dim})
    if made.get("kind") == raw.TABLE:
        made["column"] = layout.column_of_entry().tobytes()
    return made
