"""Estimators for scikit-learn: MemoryImputer fills what is missing, MemoryNovelty tells what is new, MemoryClassifier and
MemoryRegressor predict."""
from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin, OutlierMixin, TransformerMixin

from .estimator import Floats64, _MemoryEstimator
from .memory import Memory
from .supervised import MemoryClassifier, MemoryRegressor

__all__ = ["MemoryClassifier", "MemoryImputer", "MemoryNovelty", "MemoryRegressor"]


class MemoryImputer(OneToOneFeatureMixin, TransformerMixin, _MemoryEstimator):
    """Fills NaN by what a memory of the rows recalls from the rest of the row.

    The parameters are the memory's seed, and threads (0: one per core).

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(200, 1)) * [1.0, -2.0, 3.0]
    >>> imputer = MemoryImputer().fit(x)
    >>> bool(abs(imputer.transform([[1.0, np.nan, np.nan]]) - [1, -2, 3]).max() < 0.1)
    True
    """

    def transform(self, X: Any, return_std: bool = False) -> Any:
        """The rows with their holes filled; what is known stays as it is. With `return_std` also the standard deviation
        of every filled value, 0 for the others."""
        filled = self._asked(X).copy()
        std = np.zeros_like(filled)
        gaps = np.isnan(filled).any(axis=1)
        if gaps.any():
            answer = self.memory_.read(filled[gaps], spread=True)
            filled[gaps], std[gaps] = answer.x, answer.spread
        return (filled, std) if return_std else filled


FOLDS, MANY_ROWS = 5, 500  # of many rows two folds do
TAIL, FEWEST = 0.2, 5  # a border beyond the FEWEST-th least score is extrapolated from the least fifth
KEPT = 4096  # scores of rows learnt


class MemoryNovelty(OutlierMixin, _MemoryEstimator):
    """Tells rows that are unlike those written: -1 for an outlier, 1 otherwise.

    Every row that is learnt is first scored by a memory that has not learnt it: by folds of the rows of the first call, and
    by what was learnt before of rows that come later. These scores set the border, and rows that were learnt are judged by
    theirs.

    contamination: the share of such rows that lies beyond the border; where those are fewer than 5, the border is extrapolated
    from the lowest fifth of the scores. Or "conformal": of new rows like these a share of `alarm` at most raises an alarm,
    whatever their distribution, which takes 1 / alarm - 1 rows. Other parameters as of MemoryImputer.

    `offset_` is the border, and as in PyOD `decision_scores_` are the surprises of the rows learnt, `threshold_` their
    border, and `labels_` 1 for those beyond it.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(300, 1)) * [1.0, -2.0, 3.0]
    >>> novelty = MemoryNovelty().fit(x)
    >>> novelty.predict([[1.0, -2.0, 3.0], [1.0, 2.0, 3.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        contamination: float | str = "conformal",
        alarm: float = 0.01,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        super().__init__(seed, threads)
        self.contamination = contamination
        self.alarm = alarm

    def fit(self, X: Any, y: Any = None) -> MemoryNovelty:
        """Begins anew and learns the rows."""
        self._check_parameters()
        checked = self._checked(X, reset=True)
        self._begin(checked, True)
        return self._learn_scored(checked, self._scores_by_folds(checked), True)

    def partial_fit(self, X: Any, y: Any = None) -> MemoryNovelty:
        """Learns more rows."""
        self._check_parameters()
        first = not hasattr(self, "memory_")
        checked = self._checked(X, reset=first)
        if first:
            self._begin(checked, False)
        return self._learn_scored(checked, self._scores_by_folds(checked) if first else self.memory_.score(checked), first)

    def _check_parameters(self) -> None:
        if self.contamination != "conformal" and not 0 < float(self.contamination) <= 0.5:
            raise ValueError(f"contamination is {self.contamination}, but must be 'conformal' or in (0, 0.5]")
        if not 0 < self.alarm < 1:
            raise ValueError(f"alarm is {self.alarm}, but must be between 0 and 1")

    def _scores_by_folds(self, X: Floats64) -> Floats64:
        """Of every row by a memory of the other folds."""
        folds = min(FOLDS if len(X) <= MANY_ROWS else 2, len(X))
        fold = np.random.default_rng(self.seed).permutation(len(X)) % folds
        scores = np.empty(len(X))
        for k in range(folds):
            memory = Memory(columns=self.memory_.columns, clip=True, seed=self.seed, threads=self.threads)
            others = X[fold != k]
            memory.write(others[~np.isnan(others).all(axis=1)])
            scores[fold == k] = memory.score(X[fold == k])
        return scores

    def _learn_scored(self, X: Floats64, scores: Floats64, first: bool) -> MemoryNovelty:
        if first:
            self.decision_scores_, self._met = np.empty(0), np.empty(0)
            self._score_of: dict[bytes, float] = {}
        self._learn(X)
        self.decision_scores_ = np.concatenate([self.decision_scores_, -scores])[-KEPT:]
        self._met = np.concatenate([self._met, np.full(len(X), self.memory_.rows)])[-KEPT:]
        self._score_of.update({row.tobytes(): score for row, score in zip(X, scores)})
        while len(self._score_of) > KEPT:
            del self._score_of[next(iter(self._score_of))]
        self.offset_ = self._border()
        self.threshold_ = -self.offset_
        self.labels_ = (self.decision_scores_ > self.threshold_).astype(np.int64)
        return self

    def _late_scores(self) -> Floats64:
        """Least first, of rows scored by at least half of what is learnt now."""
        return np.sort(-self.decision_scores_[self._met >= self.memory_.rows / 2])

    def _border(self) -> float:
        scores = self._late_scores()
        if self.contamination == "conformal":
            beyond = int(np.floor(self.alarm * (len(scores) + 1) + 1e-9)) - 1
            if beyond >= 0:
                return float(scores[beyond])
            rows = int(np.ceil(1 / self.alarm - 1e-9)) - 1
            warnings.warn(
                f"an alarm of {self.alarm:g} takes {rows} rows, and {len(scores)} were learnt: none is raised until then, "
                f"while contamination={self.alarm:g} extrapolates its border",
                stacklevel=4,
            )
            return float(scores[0]) - 1e6
        share = float(self.contamination)
        if share * len(scores) >= FEWEST or share >= TAIL:
            return float(np.percentile(scores, 100 * share))
        start = float(np.percentile(scores, 100 * TAIL))  # the tail of the surprises falls off exponentially
        beyond_start = start - scores[scores < start]
        return start - (float(beyond_start.mean()) if len(beyond_start) else 0.0) * float(np.log(TAIL / share))

    def score_samples(self, X: Any) -> Floats64:
        """Log predictive density of every row's known entries: the lower, the newer. Of rows learnt what it was before."""
        asked = self._asked(X)
        scores: Floats64 = self.memory_.score(asked)
        for at, row in enumerate(asked):
            scores[at] = self._score_of.get(row.tobytes(), scores[at])
        return scores

    def score_one(self, x: Mapping[str, Any]) -> float:
        """How new one row is, as river does: its negative log density; 0 before anything was learnt."""
        return -float(self.memory_.score(self._row_of(x))[0]) if hasattr(self, "memory_") else 0.0

    def decision_function(self, X: Any) -> Floats64:
        """score_samples less the border: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """-1 for outliers, 1 for the rest."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """What predict says of the rows of fit."""
        return self.fit(X).predict(X)

    def typicality(self, X: Any) -> Floats64:
        """A conformal p-value of every row."""
        scores = self._late_scores()
        typicality: Floats64 = (1 + np.searchsorted(scores, self.score_samples(X), side="right")) / (1 + len(scores))
        return typicality
