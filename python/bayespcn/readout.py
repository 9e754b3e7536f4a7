"""A read-out in closed form: Bayesian linear regression on codes, which are the kernel features of rows that are kept.

With the kernel k(x, z) = exp(-|x - z|^2 / (2 l^2)) or x z' and K = U diag(w) U' of the kept rows Z, the code of a row is
phi(x) = k(x, Z) U w^(-1/2). Targets are y = mean + phi W + noise, W of variance s^2 and the noise of variance r s^2, so that all
there is to know of any number of rows is sum phi' phi, sum phi' y, sum y' y, sum phi, sum y: one pass, of constant size. As long
as every row is kept this is Gaussian process regression, later its projection on the kept rows. Kernels, widths l and ratios r
are averaged by their evidence."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

# Widths in units of the median distance between rows, and ratios of noise to signal. More of them change no error of
# docs/PYTHON.md by more than 1 %; chosen on iris, wine, cancer, digits, Fashion-MNIST, diabetes and friedman1, seeds 100 and on.
WIDTHS: tuple[float | None, ...] = (0.35, 0.7, 1.4, 2.8, 5.6, None)  # None: the linear kernel
RATIOS = 10.0 ** np.arange(-4, 2.1, 0.5)
LEAST_WEIGHT = 1e-3  # of the best: members below it do not count
GROWTH = 1.25  # kernels are chosen anew when there are so many times as many rows
MEMBERS = 4  # kernels that go on learning until they are chosen anew


@dataclass
class _Kernel:
    """One kernel, and what all rows say through it."""

    centre: Floats
    scale: Floats  # of every column
    width: float | None  # in units of `middle`
    middle: float  # median square distance, of the linear kernel the mean square length
    basis: Floats  # [kept, codes]: U w^(-1/2)
    A: Floats  # sum phi' phi
    B: Floats  # sum phi' y
    sums: Floats  # sum phi

    def of(self, a: Floats, b: Floats) -> Floats:
        a, b = (a - self.centre) / self.scale, (b - self.centre) / self.scale
        if self.width is None:
            return np.asarray(a @ b.T / self.middle + 1e-3)
        return np.asarray(np.exp(-_square_distances(a, b) / (2 * self.width**2 * self.middle)))

    def own(self, a: Floats) -> Floats:
        """k(x, x)"""
        if self.width is None:
            a = (a - self.centre) / self.scale
            return np.asarray((a * a).sum(axis=1) / self.middle + 1e-3)
        return np.ones(len(a))


@dataclass
class _Member:
    """A kernel at one ratio of noise to signal."""

    kernel: int
    ratio: float
    weight: float
    signal: Floats  # variance of the signal, for each target
    W: Floats  # [codes, targets]
    inverse: Floats  # of A + ratio, as a product: [codes, codes]


def _square_distances(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.maximum((a * a).sum(axis=1)[:, np.newaxis] + (b * b).sum(axis=1) - 2 * a @ b.T, 0))


class Readout:
    """Learns targets [n, t] from rows [n, d] without gaps; `rows` are kept at most. `ratios` are those of noise to signal, and
    of so many rows as `doubt` says the evidence counts half."""

    def __init__(self, rows: int, ratios: Floats = RATIOS, doubt: float = 0.0) -> None:
        self.most = rows
        self.ratios = ratios
        self.doubt = doubt
        self.x = self.y = np.empty((0, 0))  # rows kept and their targets
        self.yy = self.ys = self.mean = np.empty(0)
        self.n = self.chosen = 0
        self.kernels: list[_Kernel] = []
        self.members: list[_Member] = []
        self.residuals: tuple[Floats, Floats] | None = None  # of kept rows, each from all others, and targets

    def learn(self, x: Floats, y: Floats) -> None:
        """More rows. Where `y` has more columns than before, those of earlier rows are 0."""
        if not self.n:
            self.x, self.y = np.empty((0, x.shape[1])), np.empty((0, y.shape[1]))
            self.yy, self.ys = np.zeros(y.shape[1]), np.zeros(y.shape[1])
        more = y.shape[1] - len(self.ys)
        if more > 0:
            self.y, self.yy, self.ys = np.pad(self.y, ((0, 0), (0, more))), np.pad(self.yy, (0, more)), np.pad(self.ys, (0, more))
            for kernel in self.kernels:
                kernel.B = np.pad(kernel.B, ((0, 0), (0, more)))
        room = self.most - len(self.x)
        if 0 < room < len(x):  # first those that are kept
            self.learn(x[:room], y[:room])
            return self.learn(x[room:], y[room:])
        self.x, self.y = np.concatenate([self.x, x[:room]]), np.concatenate([self.y, y[:room]])
        whole = self.n + len(x) == len(self.x)  # all rows are kept
        self.n += len(x)
        self.yy, self.ys = self.yy + (y * y).sum(axis=0), self.ys + y.sum(axis=0)
        if not self.kernels or (self.chosen < len(self.x) and (len(self.x) >= GROWTH * self.chosen or not whole)):
            before = self.n - len(x) if self.chosen else 0
            self._choose()
            kept = len(self.x) - before
            x, y = x[kept:], y[kept:]
        self._add(x, y)
        self._solve()

    def _choose(self) -> None:
        """Kernels of all kept rows."""
        self.chosen = len(self.x)
        self.kernels = []
        deviation = self.x.std(axis=0)
        common = np.full(self.x.shape[1], max(float(self.x.std()), 1e-12))
        each = np.where(deviation > 1e-9 * common, deviation, 1.0)
        for scale in (each, common):
            z = (self.x - self.x.mean(axis=0)) / scale
            distances = _square_distances(z, z)[np.triu_indices(len(z), 1)]
            middle = max(float(np.median(distances)) if len(distances) else 0.0, 1e-9)
            for width in WIDTHS:
                empty = np.empty((0, 0))
                kernel = _Kernel(self.x.mean(axis=0), scale, width, middle, empty, empty, empty, empty)
                w, U = np.linalg.eigh(kernel.of(self.x, self.x))
                some = w > 1e-10 * w[-1]
                kernel.basis = U[:, some] / np.sqrt(w[some])
                phi = U[:, some] * np.sqrt(w[some])
                kernel.A, kernel.B, kernel.sums = np.diag(w[some]), phi.T @ self.y, phi.sum(axis=0)
                self.kernels.append(kernel)

    def _add(self, x: Floats, y: Floats) -> None:
        if not len(x):
            return
        if len(self.kernels) > MEMBERS:
            self._solve()
            weights = np.zeros(len(self.kernels))
            for member in self.members:
                weights[member.kernel] += member.weight
            self.kernels = [self.kernels[k] for k in np.argsort(-weights)[:MEMBERS]]
        for kernel in self.kernels:
            phi = kernel.of(x, self.x[: len(kernel.basis)]) @ kernel.basis
            kernel.A = kernel.A + phi.T @ phi
            kernel.B = kernel.B + phi.T @ y
            kernel.sums = kernel.sums + phi.sum(axis=0)

    def _solve(self) -> None:
        """Weights of all members by their evidence, with the signal's variance in closed form."""
        mean = self.ys / self.n
        yy = np.maximum(self.yy - self.n * mean**2, 1e-12 * (1 + self.yy))
        free = max(self.n - 2, 1)
        found = []
        for k, kernel in enumerate(self.kernels):
            if np.count_nonzero(kernel.A - np.diag(np.diag(kernel.A))):
                a, V = np.linalg.eigh(kernel.A)
                a = np.maximum(a, 0)
            else:
                a, V = np.diag(kernel.A), np.eye(len(kernel.A))
            b = V.T @ (kernel.B - np.outer(kernel.sums, mean))
            for ratio in self.ratios:
                left = np.maximum(yy - (b * b / (a + ratio)[:, np.newaxis]).sum(axis=0), 1e-9 * yy) / ratio
                together = left.sum() / (self.n * len(left))
                logdet = np.log1p(a / ratio).sum() + self.n * np.log(ratio)
                found.append((-0.5 * self.n * np.log(together) - 0.5 * logdet, k, ratio, a, V, b, left / free))
        best = max(one[0] for one in found)
        weights = np.exp((np.array([one[0] for one in found]) - best) * self.n / (self.n + self.doubt))
        weights[weights < LEAST_WEIGHT] = 0
        weights /= weights.sum()
        self.mean = mean
        self.members = []
        for weight, (_, k, ratio, a, V, b, signal) in zip(weights, found):
            if weight > 0:
                half = V / np.sqrt(a + ratio)
                W = V @ (b / (a + ratio)[:, np.newaxis])
                self.members.append(_Member(k, float(ratio), float(weight), signal, W, half))
        self._leave_out()

    def _leave_out(self) -> None:
        """What the members say of each kept row without it; while all are kept."""
        if self.n > len(self.x) or self.chosen < self.n:
            return
        out = np.zeros_like(self.y)
        for member in self.members:
            kernel = self.kernels[member.kernel]
            phi = kernel.of(self.x, self.x) @ kernel.basis
            share = ((phi @ member.inverse) ** 2).sum(axis=1)
            out += member.weight * (self.y - self.mean - phi @ member.W) / np.maximum(1 - share, 1e-6)[:, np.newaxis]
        self.residuals = out, self.y

    def predict(self, x: Floats, with_variance: bool = False) -> tuple[Floats, Floats]:
        """Means [n, t], and of a row to come variances, else nothing."""
        mean = np.zeros((len(x), len(self.mean)))
        second = np.zeros_like(mean)
        codes: dict[int, Any] = {}
        for member in self.members:
            kernel = self.kernels[member.kernel]
            if member.kernel not in codes:
                codes[member.kernel] = kernel.of(x, self.x[: len(kernel.basis)]) @ kernel.basis
            phi = codes[member.kernel]
            one = phi @ member.W
            mean += member.weight * one
            if with_variance:
                unseen = np.maximum(kernel.own(x) - (phi * phi).sum(axis=1), 0)
                open_ = unseen + member.ratio * (1 + 1 / self.n + ((phi @ member.inverse) ** 2).sum(axis=1))
                second += member.weight * (one**2 + member.signal * open_[:, np.newaxis])
        return self.mean + mean, np.maximum(second - mean**2, 0)
