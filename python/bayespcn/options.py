"""What a memory is made of: words for the library's enumerations, and what a row is."""
from __future__ import annotations

import re
from typing import Any

from . import _bayespcn as raw
from .columns import Table, columns_of, columns_of_note
from .rows import Arrays

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

ARRAY_OPTIONS: dict[str, Any] = {"hidden": (64, 64, 64), "shards": 16}
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
    return Arrays((int(dim),) if dim is not None else tuple(map(int, shape)), pixels)


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


def options_of(layout: Arrays | Table, options: dict[str, Any]) -> dict[str, Any]:
    """What is not said is usual. A table's memory is in closed form, unless an option is given that networks alone have."""
    if not isinstance(layout, Table):
        return numbers_of({**ARRAY_OPTIONS, **options, "dim": layout.dim})
    usual: dict[str, Any] = {"kind": "table", "scale": "as given"} if TABLE_OPTIONS.issuperset(options) else {"scale": "as given"}  # columns have scales of their own
    made = numbers_of({**usual, **options, "dim": layout.dim})
    if made.get("kind") == raw.TABLE:
        made["column"] = layout.column_of_entry().tobytes()
    return made
