"""Estimators for scikit-learn: MemoryImputer fills what is missing, MemoryNovelty tells what is new."""
from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, OutlierMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .columns import Column, looked_at, number_column
from .memory import Memory

Self = TypeVar("Self", bound="_MemoryEstimator")
Floats64 = NDArray[np.float64]


class _MemoryEstimator(BaseEstimator):
    """What both share: a memory of a table of numbers, in which NaN is unknown. Centre and scale of the columns
    are from the rows that came first."""

    def __init__(
        self,
        seed: int = 0,
        threads: int = 0,
    ) -> None:
        self.seed = seed
        self.threads = threads

    def _checked(self, X: Any, reset: bool) -> Floats64:
        """scikit-learn's look at the input, under its old and its new name."""
        try:
            from sklearn.utils.validation import validate_data
        except ImportError:
            checked: Floats64 = self._validate_data(X, reset=reset, dtype=np.float64, force_all_finite="allow-nan")
            return checked
        checked = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")
        return checked

    def _begin(self, X: Floats64, whole: bool) -> None:
        """whole: these are all rows, so that what they hold bounds the answers."""
        columns = []
        for j, values in enumerate(X.T):
            known = values[~np.isnan(values)]
            column = number_column(f"x{j}", known, looked_at(X.shape[1])) if len(known) else Column(f"x{j}")
            columns.append(column if whole else Column(column.name, "number", column.centre, column.scale))
        self.memory_ = Memory(columns=columns, clip=True, seed=self.seed, threads=self.threads)

    def _learn(self, X: Floats64) -> None:
        """Rows of which nothing is known teach nothing."""
        self.memory_.write(X[~np.isnan(X).all(axis=1)])

    def fit(self: Self, X: Any, y: Any = None) -> Self:
        """Begins anew and writes the rows."""
        checked = self._checked(X, reset=True)
        self._begin(checked, True)
        self._learn(checked)
        self._learnt(checked)
        return self

    def partial_fit(self: Self, X: Any, y: Any = None) -> Self:
        """Writes more rows."""
        first = not hasattr(self, "memory_")
        checked = self._checked(X, reset=first)
        if first:
            self._begin(checked, False)
        self._learn(checked)
        self._learnt(checked)
        return self

    def _learnt(self, X: Floats64) -> None:
        """After rows were written."""

    def _asked(self, X: Any) -> Floats64:
        check_is_fitted(self, "memory_")
        return self._checked(X, reset=False)

    def _more_tags(self) -> dict[str, Any]:
        return {"allow_nan": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


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


class MemoryNovelty(OutlierMixin, _MemoryEstimator):
    """Tells rows that are unlike those written: -1 for an outlier, 1 otherwise.

    contamination: the share of the rows of `fit` that is to lie on the far side of the border; or "conformal": a row is an
    alarm when its typicality, a p-value among the rows written of late, is `alarm` or less, so that of rows like these
    about that share raises one. Other parameters as of MemoryImputer.

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

    def _learnt(self, X: Floats64) -> None:
        if self.contamination != "conformal" and not 0 < float(self.contamination) <= 0.5:
            raise ValueError(f"contamination is {self.contamination}, but must be 'conformal' or in (0, 0.5]")
        scores = self.memory_.score(X)
        self.offset_ = (
            self._conformal_offset(scores)
            if self.contamination == "conformal"
            else float(np.percentile(scores, 100 * float(self.contamination)))
        )

    def _conformal_offset(self, scores: Floats64) -> float:
        """The density at which typicality falls to `alarm`: it never falls as the density rises, so it is found by halves."""
        low, high = float(scores.min()) - 1e6, float(scores.max())
        if self._typicality(low) > self.alarm:  # too few rows so far for any alarm
            return low
        while high - low > 1e-6 * max(1.0, abs(high)):
            middle = (low + high) / 2
            low, high = (middle, high) if self._typicality(middle) <= self.alarm else (low, middle)
        return high

    def _typicality(self, score: float) -> float:
        p = np.empty(1)
        self.memory_._handle.typicality(np.array([score]), p)
        return float(p[0])

    def score_samples(self, X: Any) -> Floats64:
        """Log predictive density of every row's known entries: the lower, the newer."""
        asked = self._asked(X)
        scores: Floats64 = self.memory_.score(asked)
        return scores

    def decision_function(self, X: Any) -> Floats64:
        """score_samples less the border: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:
        """-1 for outliers, 1 for the rest."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def typicality(self, X: Any) -> Floats64:
        """A conformal p-value of every row."""
        asked = self._asked(X)
        p: Floats64 = self.memory_.typicality(asked)
        return p
