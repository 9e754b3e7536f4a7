"""Long calls in parts, between which Python has its say: an interrupt, the progress of a long write."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .rows import Mask, Rows

Progress = Callable[[int, int], object]

WRITE_ROWS, READ_ROWS = 256, 256
BYTES_AT_ONCE = 64 << 20  # of float32 that a write makes of an array at a time: memory maps need not fit in memory


def parts_of(n: int, step: int) -> Iterator[slice]:
    return (slice(at, min(at + step, n)) for at in range(0, n, step))


def some_of(known: Mask | None, part: Any) -> Mask | None:
    return None if known is None else known[part]


def in_parts(
    call: Callable[..., None], rows: Rows, split: bool, *results: Any, tell: Progress = lambda done, rows: None
) -> None:
    """Calls for some rows at a time, and with `split` apart for rows with and without holes, the latter with no mask."""
    groups: list[tuple[Any, Mask | None]] = [(None, rows.known)]
    if split and rows.known is not None:
        whole = rows.known.all(axis=1)
        if whole.any():
            groups = [(np.flatnonzero(whole), None), (np.flatnonzero(~whole), rows.known)]
    done = 0
    for chosen, known in groups:
        for part in parts_of(len(rows.x) if chosen is None else len(chosen), READ_ROWS):
            if chosen is None:
                call(rows.x[part], some_of(known, part), *(None if r is None else r[part] for r in results))
                done += len(rows.x[part])
                tell(done, len(rows.x))
                continue
            here = chosen[part]
            some = [None if r is None else r[here] for r in results]
            call(rows.x[here], some_of(known, here), *some)
            for result, values in zip(results, some):
                if result is not None:
                    result[here] = values
            done += len(here)
            tell(done, len(rows.x))


def teller_of(progress: Progress | bool, n: int | None) -> tuple[Progress, Callable[[], object]]:
    """What to call after every part and at the end."""
    if callable(progress):
        return progress, lambda: None
    try:
        bar = __import__("tqdm").tqdm(total=n, unit="row") if progress else None
    except ImportError:
        bar = None
    if bar is None:
        return lambda done, rows: None, lambda: None
    return lambda done, rows: bar.update(done - bar.n), bar.close
