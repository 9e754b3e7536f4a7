"""What the estimators share."""
from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .columns import Column, looked_at, number_column
from .memory import Memory

Self = TypeVar("Self", bound="_MemoryEstimator")
Floats64 = NDArray[np.float64]


class _MemoryEstimator(BaseEstimator):
    """A memory of a table of numbers, in which NaN is unknown. Centre and scale of the columns
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
