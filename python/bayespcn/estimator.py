"""What the estimators share."""
from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from .columns import Column, looked_at, number_column
from .memory import Memory

Self = TypeVar("Self", bound="_MemoryEstimator")
Floats64 = NDArray[np.float64]

FIRST_ROWS = 64  # that come one by one: as often as they double, centres and scales are taken anew


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

    def learn_one(self: Self, x: Mapping[str, Any], y: Any = None) -> Self:
        """Learns one row, as river does: a dictionary of numbers, of which any may be missing."""
        row, rows, targets = self._row_of(x), None, None if y is None else [y]
        if not hasattr(self, "memory_"):
            self._keys = list(x)
            self._first: list[tuple[Floats64, Any]] = []
            row = self._row_of(x)
        elif self.memory_ is not getattr(self, "_first_memory", None):  # of fit
            self._first = [(row, y)] * FIRST_ROWS
            self.__dict__.pop("_keys", None)
            row = self._row_of(x)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that an alarm takes more rows
            if len(self._first) < FIRST_ROWS:
                self._first.append((row, y))
                if (len(self._first) & (len(self._first) - 1)) == 0:
                    for name in ("memory_", "readout_"):
                        self.__dict__.pop(name, None)
                    rows = np.concatenate([one for one, _ in self._first])
                    targets = None if y is None else [own for _, own in self._first]
            self.partial_fit(row if rows is None else rows, targets)
        if len(self._first) <= FIRST_ROWS and rows is not None:
            self._first_memory = self.memory_
        return self

    def _row_of(self, x: Mapping[str, Any]) -> Floats64:
        """A row in the order of the first, or of the DataFrame that fit was given."""
        keys = getattr(self, "_keys", None) or list(getattr(self, "feature_names_in_", x))
        return np.array([[x.get(key, np.nan) for key in keys]], dtype=np.float64)

    def _more_tags(self) -> dict[str, Any]:
        return {"allow_nan": True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
