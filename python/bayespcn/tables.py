"""What a memory of a table learns about itself: settings from its first rows, and how far off it is on rows to come. Both
are the library's; the sums stay in the memory's note, as docs/FORMAT.md describes."""
from __future__ import annotations

import os
import re
import warnings
from threading import Lock
from typing import Any

import numpy as np

from . import _bayespcn as raw
from .columns import Table
from .rows import Array, Floats, Mask

_KEYS = {b"tried": "entries", b"errors": "errors", b"spreads": "spreads", b"plain": "plain"}


def options_for(table: Table, options: dict[str, Any], like: Any) -> dict[str, Any]:
    """What suits a table with the rows `like`, or one of which nothing is known yet."""
    x, known = np.zeros((0, table.dim), np.float32), np.zeros((0, table.dim), np.bool_)
    tame = Table(table.columns, clip=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is odd in the rows is said when they are written
        like = None if like is None else like[:: max(len(like) // raw.MAX_LOOK, 1)]  # it may be sorted
        for at in range(0, 0 if like is None else len(like), raw.MAX_LOOK):
            rows = tame.encode(like[at : at + raw.MAX_LOOK])
            some = rows.known.any(axis=1)  # type: ignore[union-attr]
            x, known = np.concatenate([x, rows.x[some]]), np.concatenate([known, rows.known[some]])  # type: ignore[index]
            if len(x) >= raw.MAX_LOOK:
                break
    return raw.options_for_table(
        {**options, "dim": table.dim}, table.column_of_entry(), x[: raw.MAX_LOOK], known[: raw.MAX_LOOK]
    )


# ---- trials


def trials_of_note(note: bytes) -> Array:
    """The sums, zeros where the note has none."""
    trials = np.zeros(1, np.dtype(raw.TRIALS))
    try:
        found = {name: float(re.search(rb"^%s=(.*)$" % key, note, re.M)[1]) for key, name in _KEYS.items()}  # type: ignore[index]
    except (TypeError, ValueError):
        return trials
    if all(0 <= value < np.inf for value in found.values()) and found["spreads"] > 0:
        for name, value in found.items():
            trials[name] = value
    return trials


def note_with_trials(note: bytes, trials: Array) -> bytes:
    rest = [line for line in note.splitlines(keepends=True) if line.split(b"=")[0] not in _KEYS]
    sums = {key: trials[name][0] for key, name in _KEYS.items()}
    told = [b"%s=%d\n" % item if item[0] == b"tried" else b"%s=%.9g\n" % item for item in sums.items()]
    return b"".join(told + rest)


class Trials:
    """Rows that are about to be written put the memory to the test: some columns are hidden, filled in and compared.
    Threads that write one memory take turns, so that none loses the sums of another."""

    def __init__(self, handle: raw.Handle, table: Table, how: dict[str, Any]) -> None:
        self._handle, self._how = handle, how
        self._column = table.column_of_entry()
        self._turn, self._process = Lock(), os.getpid()

    def _my_turn(self) -> Lock:
        """In the child of a fork: a lock of its own, as another thread may have had the parent's."""
        if self._process != os.getpid():
            self._turn, self._process = Lock(), os.getpid()
        return self._turn

    def write(self, x: Floats, known: Mask | None, info: Array, names: list[str | None] | None) -> int:
        """Writes the rows, and before some of them tries those."""
        with self._my_turn():
            note = self._handle.get_note()
            sums = trials_of_note(note)
            before = int(sums["entries"][0])
            self._write_and_try(x, known, info, names, sums)
            if sums["entries"][0] != before:
                self._handle.set_note(note_with_trials(note, sums))
        return len(x)

    def _write_and_try(
        self, x: Floats, known: Mask | None, info: Array, names: list[str | None] | None, sums: Array
    ) -> None:
        begin, first = 0, int(self._handle.get_stats()["writes"])
        shown = np.empty(x.shape[1], np.bool_)
        for i in range(len(x)):
            mask = None if known is None else known[i]
            if raw.trials_hide(first + i, self._column, mask, shown) > 0:
                self._write_some(x, known, info, names, slice(begin, i))
                self._try(x[i], mask, shown, sums)
                begin = i
        self._write_some(x, known, info, names, slice(begin, len(x)))

    def _write_some(
        self, x: Floats, known: Mask | None, info: Array, names: list[str | None] | None, some: slice
    ) -> None:
        if some.stop > some.start:
            try:
                mask = None if known is None else known[some]
                self._handle.write(x[some], mask, info[some], None, names and names[some])
            except raw.Error as error:
                error.written += some.start
                raise

    def _try(self, x: Floats, known: Mask | None, shown: Mask, sums: Array) -> None:
        answer, spread = np.empty_like(x), np.empty_like(x)
        self._handle.read(x, shown, self._how, answer, None, spread)
        raw.trials_count(sums, x, known, answer, spread, shown)
