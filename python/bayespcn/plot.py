"""Pictures of what a memory does, by matplotlib: recall, capacity, calibration, known against new, blame. Each function draws into
`ax`, or into a new figure, and gives what it drew into."""
from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from .columns import Blame
from .memory import Memory
from .results import Read

COLOURS = {"known": "tab:green", "new": "tab:red", "blend": "tab:orange", "cannot tell": "tab:gray"}


def _axes(ax: Any, size: tuple[float, float] = (5.0, 3.6)) -> Any:
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.subplots(figsize=size, layout="constrained")[1]


def recall(queries: Any, answer: Read, originals: Any = None, most: int = 10) -> Any:
    """Pictures asked and recalled, below each other, with the verdict on each. Gives the figure.

    >>> memory = Memory(shape=(4, 4))
    >>> pictures = np.random.default_rng(0).normal(size=(3, 4, 4))
    >>> _ = memory.write(pictures)
    >>> figure = recall(pictures, memory.read(pictures), pictures)
    >>> len(figure.axes)
    9
    """
    from matplotlib import pyplot

    strips = {"query": queries, "recalled": answer.x}
    if originals is not None:
        strips["original"] = originals
    n = min(len(queries), most)
    scale = np.asarray(answer.x if originals is None else originals, dtype=float)[:n]
    low, high = float(np.nanmin(scale)), float(np.nanmax(scale))
    figure, axes = pyplot.subplots(
        len(strips), n, figsize=(0.95 * n + 0.8, 1.1 * len(strips) + 0.3), squeeze=False, layout="constrained"
    )
    for line, (name, pictures) in zip(axes, strips.items()):
        for place, picture in zip(line, pictures):
            image = np.asarray(picture, dtype=float)
            image = np.clip((image - low) / max(high - low, 1e-12), 0, 1) if image.ndim == 3 else image
            place.imshow(image, cmap="gray", vmin=low, vmax=high)
            place.set(xticks=[], yticks=[])
        line[0].set_ylabel(name, fontsize=9)
    for place, verdict in zip(axes[0], answer.verdict):
        place.set_title(verdict, fontsize=9, color=COLOURS[str(verdict)])
    return figure


def capacity(memory: Memory, rows: Any, known: Any, counts: Sequence[int], ax: Any = None) -> Any:
    """How many rows a memory like this one recalls from what is `known` of them: the share whose verdict is "known" and the error,
    in deviations of the rows, after each of `counts`. The memory itself stays as it is.

    >>> rows = np.random.default_rng(0).normal(size=(40, 30))
    >>> ax = capacity(Memory(dim=30), rows, np.arange(30) < 15, [10, 40])
    >>> ax.get_xlabel()
    'rows written'
    """
    ax = _axes(ax)
    grown = memory.copy()
    rows = np.asarray(rows)
    shares, errors, before = [], [], 0
    for count in counts:
        grown.write(rows[before:count])
        before = count
        answer = grown.read(rows[:count], known)
        shares.append(np.mean(answer.verdict == "known"))
        errors.append(np.sqrt(np.mean((answer.x - rows[:count]) ** 2)) / rows.std())
    ax.plot(counts, shares, "o-", color=COLOURS["known"], label='share with the verdict "known"')
    ax.plot(counts, errors, "s--", color=COLOURS["new"], label="error (deviations)")
    ax.set(xlabel="rows written", ylim=(-0.05, max(1.05, 1.1 * max(errors))), title="Capacity")
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=1, frameon=False)
    return ax


def calibration(truth: Any, mean: Any, spread: Any, ax: Any = None) -> Any:
    """How often the truth lies within the interval that a spread claims, for intervals of every probability.

    >>> truth = np.random.default_rng(0).normal(size=500)
    >>> ax = calibration(truth, np.zeros(500), np.ones(500))
    >>> ax.get_ylabel()
    'share of truths within it'
    """
    ax = _axes(ax, (4.2, 4.0))
    truth, mean, spread = (np.ravel(np.asarray(one, dtype=float)) for one in (truth, mean, spread))
    some = np.isfinite(truth) & (spread > 0)
    off = np.abs(truth - mean)[some] / spread[some]
    claimed = np.linspace(0.02, 0.98, 49)
    held = [np.mean(off <= NormalDist().inv_cdf((1 + share) / 2)) for share in claimed]
    ax.plot([0, 1], [0, 1], color="tab:gray", lw=1, label="as claimed")
    ax.plot(claimed, held, label=f"{len(off)} values")
    ax.set(xlabel="probability that the interval claims", ylabel="share of truths within it", title="Calibration of spreads")
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.legend(loc="lower right")
    return ax


def known_or_new(written: Any, new: Any, ax: Any = None) -> Any:
    """How well a number, such as familiarity or a score, that is greater for rows written tells them from new ones: the share of rows
    written above each border against that of new ones.

    >>> ax = known_or_new([0.9, 0.8, 0.4], [0.5, 0.1])
    >>> ax.get_title()
    'Known or new: area 0.833'
    """
    ax = _axes(ax, (4.2, 4.0))
    written, new = np.ravel(written), np.ravel(new)
    borders = np.concatenate([[np.inf], np.unique(np.concatenate([written, new]))[::-1]])
    right = [np.mean(written >= border) for border in borders]
    wrong = [np.mean(new >= border) for border in borders]
    area = np.mean((written[:, np.newaxis] > new) + 0.5 * (written[:, np.newaxis] == new))
    ax.plot([0, 1], [0, 1], color="tab:gray", lw=1)
    ax.plot(wrong, right, color="tab:blue", drawstyle="default")
    ax.set(xlabel="share of new rows taken for written", ylabel="share of written rows found", title=f"Known or new: area {area:.3f}")
    ax.set(xlim=(-0.01, 1), ylim=(0, 1.01), aspect="equal")
    return ax


def blame(blames: Sequence[Blame], most: int = 8, ax: Any = None) -> Any:
    """Which columns make a row odd, by what `Memory.explain` says of it.

    >>> ax = blame([Blame("depth", 61.8, 1.1, 9.0), Blame("kind", "old", 0.9, 0.2)])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['depth\\nexpected 61.8 ± 1.1', 'kind\\nexpected old']
    """
    some = list(blames)[:most]
    ax = _axes(ax, (6.0, 0.55 * len(some) + 1.0))
    told = [
        f"{one.column}\nexpected {one.expected}" if isinstance(one.expected, str)
        else f"{one.column}\nexpected {one.expected:.4g} ± {one.deviation:.3g}"
        for one in some
    ]  # fmt: skip
    ax.barh(range(len(some)), [one.nats for one in some], color="tab:red")
    ax.set_yticks(range(len(some)), told, fontsize=8)
    ax.invert_yaxis()
    ax.set(xlabel="less likely than expected, by nats", title="Why the row is odd")
    return ax
