"""What reads and writes tell."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._bayespcn import VERDICTS
from .rows import Array


def _told(name: str, meaning: str) -> property:
    def get(self: _Told) -> Any:
        return self.info[name]

    return property(get, doc=meaning)


class _Told:
    """Columns of `info`, one value for each row, or a number where one row was given."""

    def __init__(self, info: Any) -> None:
        self.info = info  #: all of them, as a structured array

    familiarity = _told("familiarity", "0 (never seen) .. 1 (written); 0.5 is the border.")
    energy = _told("energy", "The objective at its minimum.")
    shard = _told("shard", "The shard that answered, or was written to.")
    converged = _told("converged", "1 when the minimiser met its tolerance.")
    evaluations = _told("evaluations", "Energy and gradient evaluations.")

    @property
    def verdict(self) -> Any:
        """The familiarity in a word: "cannot tell", "new", "known", "blend" or "near copy"."""
        return np.array(VERDICTS)[self.info["verdict"]]


class Read(_Told):
    """Answers to queries.

    >>> import pandas as pd
    >>> from bayespcn import Memory
    >>> pets = pd.DataFrame({"legs": [4.0, 2.0, 4.0, 2.0] * 10, "kind": ["cat", "hen", "dog", "hen"] * 10})
    >>> memory = Memory(columns=pets)
    >>> _ = memory.write(pets)
    >>> answer = memory.read(pd.DataFrame({"legs": [2.0]}))
    >>> answer.x.kind[0], bool(answer.chances["kind"].hen[0] > 0.9)
    ('hen', True)
    >>> list(answer.to_frame())[:3]
    ['familiarity', 'verdict', 'log_density']
    """

    def __init__(
        self, x: Any, info: Any, spread: Any, typicality: Any, name: Any, chances: Callable[[], dict[str, Any]] | None
    ) -> None:
        super().__init__(info)
        self.x = x  #: the answers, in the form of the queries
        self.spread = spread  #: the standard deviation of every entry, if asked for
        self.typicality = typicality  #: a conformal p-value of every query, if asked for
        self.name = name  #: the name of the row that each recalls, None where none is kept or it cannot be told
        self._chances = chances

    log_density = _told("log_density", "Log predictive density of the known entries and the code.")
    noise = _told("noise", "Standard deviation assumed or estimated for the known entries.")
    residual = _told("residual", "Root mean square discrepancy on the known entries.")
    variance = _told("variance", "What the noise and ignorance of the weights leave open.")
    particle = _told("particle", "The mixture component that answered.")
    shard_density = _told("shard_density", "The log density in that shard alone.")
    known = _told("known", "Entries of the query that were known.")

    @property
    def chances(self) -> dict[str, Any]:
        """Of a table's every column of words, how likely each word is: [n, words], of a DataFrame as a DataFrame."""
        return {} if self._chances is None else self._chances()

    def to_frame(self) -> Any:
        """What is told of every query as a DataFrame, a row each; of queries that were one, with their index."""
        import pandas

        index = self.x.index if hasattr(self.x, "columns") else None
        told = ("familiarity", "verdict", "log_density", "energy", "noise", "residual", "variance", "shard", "known")
        table = {key: np.atleast_1d(getattr(self, key)) for key in told}
        if self.typicality is not None:
            table["typicality"] = np.atleast_1d(self.typicality)
        names = self.name if isinstance(self.name, list) else [self.name]
        if any(name is not None for name in names):
            table["name"] = np.array(names, dtype=object)
        return pandas.DataFrame(table, index=index)

    def __repr__(self) -> str:
        return f"Read(familiarity={np.array2string(np.asarray(self.familiarity), precision=3, threshold=8)})"


class Match:
    """One of the best answers to a query."""

    def __init__(self, x: Any, info: Any, name: str | None) -> None:
        self.x = x  #: the answer, in the form of the query
        self.info = info  #: all that is told of it
        self.name = name  #: of the row that it is, None where none is kept or it cannot be told which
        self.log_density = float(info["log_density"])  #: of the query's known entries and the answer's code
        self.distance = float(info["distance"])  #: root mean square difference on what is known of the query
        self.noise = float(info["noise"])  #: standard deviation that the densities assume, the same for all answers
        self.shard = int(info["shard"])  #: that has it

    def __repr__(self) -> str:
        return f"Match(name={self.name!r}, distance={self.distance:.3g}, log_density={self.log_density:.1f})"


class Codes(_Told):
    """The codes that explain rows best.

    >>> from bayespcn import Memory
    >>> memory = Memory(dim=12, hidden=(4, 3), shards=1)
    >>> _ = memory.write(np.eye(12)[:3])
    >>> memory.infer(np.eye(12)[0]).codes.shape
    (7,)
    """

    def __init__(self, codes: Array, info: Any) -> None:
        super().__init__(info)
        self.codes = codes  #: [n, code_dim], hidden activations from layer 1 up

    log_density = _told("log_density", "Log predictive density of the known entries and the code.")


class Written(_Told):
    """What became of rows; familiarity and verdict are from before they were written.

    >>> from bayespcn import Memory
    >>> rows = np.random.default_rng(0).normal(size=(2, 60))
    >>> Memory(dim=60).write(rows[[0, 1, 0]]).verdict.tolist()
    ['new', 'new', 'known']
    """

    leverage = _told("leverage", "How unexplored the row's code was.")
    typicality = _told("typicality", "A conformal p-value from before the write; -1 where it was not asked for.")

    def __repr__(self) -> str:
        return f"Written({np.size(self.energy)} rows)"
