"""Memory: the friendly side of the raw module."""
from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from html import escape
from itertools import islice
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from . import _bayespcn as raw
from .columns import Table
from .life import Living
from .frames import is_frame
from .options import CHOICES, TABLE_READ, Options, layout_of, numbers_of, options_of
from .parts import BYTES_AT_ONCE, WRITE_ROWS, Progress, in_parts, parts_of, some_of, teller_of
from .picture import png_of_samples
from .results import Codes, Match, Read, Written
from .rows import Array, Arrays, Floats, Mask, Rows

MAX_MATCHES = 64  # BPCN_MAX_MATCHES


class Memory(Living):
    """An associative memory: write an observation once, recall it from a noisy copy or a fragment.

    A row is said by one of `dim` (entries), `shape` (pictures (H, W), (H, W, 3), or anything) or `columns` (a DataFrame
    to look at, or see `columns_of`). Other arguments are `Options`. By default arrays have room for 1024 rows, in networks
    of three layers a third as wide as a row and at most 64, and tables are in closed form (kind "table"), for any number of
    rows.

    `pixels=(0, 255)` are the values that stand for -1 and 1, on the way in and out. `clip` brings values far outside the
    data's scale nearer instead of refusing them. `threads` is 0 for one per core.

    Any number of threads may read at once; whoever changes a memory has it alone, and the others wait.

    >>> import numpy as np
    >>> rows = np.random.default_rng(0).normal(size=(20, 50))
    >>> memory = Memory(dim=50)
    >>> memory.write(rows)
    Written(20 rows)
    >>> half = rows.copy()
    >>> half[:, 25:] = np.nan
    >>> answer = memory.read(half)
    >>> bool(np.abs(answer.x - rows).max() < 1e-2)
    True
    >>> print(answer.verdict[0], memory.read(-rows[0]).verdict)
    known new
    """

    def __init__(
        self,
        dim: int | None = None,
        *,
        shape: Any = None,
        columns: Any = None,
        pixels: tuple[float, float] | None = None,
        clip: bool = False,
        threads: int = 0,
        **options: Unpack[Options],
    ) -> None:
        layout = layout_of(dim, shape, columns, pixels, clip)
        self._take(raw.create(options_of(layout, {**options, "threads": threads}, clip)), layout, None)
        self._handle.set_note(layout.note().encode())

    # ---- write

    def write(self, x: Any, known: Any = None, *, names: Any = None, progress: Progress | bool = False) -> Written:
        """Writes rows, each in one shot. Entries that are NaN, or not `known`, are holes: what the memory predicts there
        stays. `names` are kept of the latest rows, as many as the option `names` says: one for each row, or None. `progress` is called with the rows done and all rows (True: tqdm shows them).

        All rows are looked at before the first is written. An interrupt leaves whole rows; of a failure in the middle,
        the error's `written` says how many there are. A generator of rows, arrays or DataFrames is written as it comes.

        >>> memory = Memory(dim=3)
        >>> memory.write(np.full(3, i) for i in range(5))
        Written(5 rows)
        """
        if hasattr(x, "__next__"):
            return self._write_stream(x, known, names, progress)
        absent = self._layout.absent(x) if isinstance(self._layout, Table) else []
        if absent:
            warnings.warn(f"columns that are not there count as unknown: {', '.join(absent)}", stacklevel=2)
        if isinstance(x, np.ndarray) and x.ndim > len(self._layout.shape) and x.size > BYTES_AT_ONCE // 4:
            step = max(BYTES_AT_ONCE // 4 // max(x.size // max(len(x), 1), 1), 1)
            parts = list(parts_of(len(x), step))
            mask = known if known is None or np.ndim(known) < x.ndim else np.asarray(known)
            some = [mask if mask is None or mask is known and np.ndim(known) < x.ndim else mask[part] for part in parts]
            if all(self._could_be_written(self._layout.encode(x[part], m)) for part, m in zip(parts, some)):
                return self._write_parts(((x[part], m) for part, m in zip(parts, some)), names, progress, len(x))
        return self._write_array(x, known, names, progress)

    def _write_stream(self, x: Iterator[Any], known: Any, names: Any, progress: Progress | bool) -> Written:
        if known is not None:
            raise TypeError("rows that come from a generator say what is unknown by NaN, not by a mask")

        def blocks() -> Iterator[tuple[Any, Any]]:
            single: list[Any] = []
            for item in x:
                alone = not is_frame(item) and np.ndim(item) == len(self._layout.shape)
                if single and (not alone or len(single) == WRITE_ROWS):
                    yield np.stack(single), None
                    single = []
                if alone:
                    single.append(np.asarray(item))
                else:
                    yield item, None
            if single:
                yield np.stack(single), None

        return self._write_parts(blocks(), names, progress, None)

    def _write_parts(self, parts: Iterator[tuple[Any, Any]], names: Any, progress: Progress | bool, n: int | None) -> Written:
        """Writes one part after the other; `written` of an error counts all rows."""
        tell, end = teller_of(progress, n)
        names = None if names is None else iter(names)
        infos: list[Array] = []
        done = 0
        try:
            for x, known in parts:
                called = None if names is None else list(islice(names, len(x)))
                infos.append(np.atleast_1d(self._write_array(x, known, called, False).info))
                done += len(infos[-1])
                tell(done, done if n is None else n)
        except raw.Error as error:
            error.written += done
            raise
        finally:
            end()
        return Written(np.concatenate(infos) if infos else np.zeros(0, np.dtype(raw.WRITE_ROW)))

    def _write_array(self, x: Any, known: Any, names: Any, progress: Progress | bool) -> Written:
        rows = self._layout.encode(x, known)
        if rows.known is not None and rows.known.all():
            rows.known = None
        info = np.zeros(len(rows.x), np.dtype(raw.WRITE_ROW))
        called: list[str | None] | None = [names] if isinstance(names, str) else None if names is None else list(names)
        if called is not None and len(called) != len(rows.x):
            raise raw.InvalidError(f"there are {len(called)} names for {len(rows.x)} rows")
        good = self._could_be_written(rows)
        step = WRITE_ROWS if good else max(len(rows.x), 1)
        tell, end = teller_of(progress, len(rows.x))
        done = 0
        try:
            for part in parts_of(len(rows.x), step):
                done += self._write_rows(rows.x[part], some_of(rows.known, part), info[part], called and called[part])
                tell(done, len(rows.x))
        except raw.Error as error:
            error.written += done
            raise
        finally:
            end()
        return Written(info[0] if rows.single else info)

    def _write_rows(self, x: Floats, known: Mask | None, info: Array, names: list[str | None] | None) -> int:
        return self._handle.write(x, known, info, None, names)

    @staticmethod
    def _could_be_written(rows: Rows) -> bool:
        """Whether no row would be refused: if one would, the library gets all at once, writes none and says which."""
        with np.errstate(invalid="ignore"):
            good = np.abs(rows.x) <= 1e15
        if rows.known is None:
            return bool(good.all())
        return bool((good | ~rows.known).all() and rows.known.any(axis=1).all())

    def delete(self, x: Any = None, *, name: str | None = None) -> None:
        """Takes rows back, all or none, or the latest row of a name; NotHeldError when the memory does not hold one, or only
        faded.

        >>> memory = Memory(dim=3, names=10)
        >>> _ = memory.write(np.eye(3), names=["x", "y", "z"])
        >>> memory.delete(name="y")
        >>> memory.names, memory.read([0.0, 0.0, 1.0]).name
        (['x', 'z'], 'z')
        """
        if (x is None) == (name is None):
            raise TypeError("say what to delete by rows or by a name")
        if name is not None:
            self._handle.delete_name(name)
            return
        rows = self._layout.encode(x)
        if rows.known is not None and not rows.known.all():
            raise raw.InvalidError("a row to delete has unknown entries")
        self._handle.delete(rows.x)

    def forget(self, beta: float) -> None:
        """Lets everything fade towards the prior: 0 changes nothing, 1 restores the empty memory."""
        self._handle.forget(beta)

    def discount(self, beta: float) -> None:
        """Lets what was learnt weigh less, without moving anything."""
        self._handle.discount(beta)

    # ---- read

    def read(
        self,
        q: Any,
        known: Any = None,
        *,
        noise: float | None = None,
        objective: str | None = None,
        shards: int = 0,
        spread: bool = False,
        typicality: bool = False,
        out: Floats | None = None,
        progress: Progress | bool = False,
    ) -> Read:
        """Recalls queries. What is known of a query comes back as it is, what is NaN or not `known` is recalled. A query of
        an array without holes is a noisy copy: every entry is recalled, with the `noise` given or estimated.

        `spread` asks for the standard deviation of every entry, `typicality` for a conformal p-value of every query,
        which takes as long again. `out` takes the answers, if it is float32, contiguous, [n, dim]. `progress` is as of
        write.

        >>> memory = Memory(shape=(4, 4))
        >>> _ = memory.write(np.eye(4))
        >>> memory.read(np.eye(4)).x.shape
        (4, 4)
        """
        rows = self._layout.encode(q, known)
        options = self._read_options(noise, objective, shards)
        answer = self._room(out, rows)
        info = np.zeros(len(rows.x), np.dtype(raw.READ_INFO))
        widths = np.zeros_like(rows.x) if spread else None

        def ask(x: Floats, mask: Mask | None, some: Array, some_info: Array, some_widths: Array | None) -> None:
            self._handle.read(x, mask, options, some, some_info, some_widths)

        # A row's answer does not depend on whether there are holes in the others.
        split = known is None and not self._layout.fills
        tell, end = teller_of(progress, len(rows.x))
        try:
            in_parts(ask, rows, split, answer, info, widths, tell=tell)
        finally:
            end()
        if not self._layout.fills and len(info) and not info["verdict"].any():
            self._warn_of_short_rows(info)
        layout = self._layout
        return Read(
            self._layout.decode(answer, rows) if out is None else out,
            info[0] if rows.single else info,
            None if widths is None else self._layout.decode_spread(widths, answer, rows),
            self._typicality_of(rows) if typicality else None,
            self._names_of(info["name"], rows.single),
            partial(layout.chances, answer, rows) if isinstance(layout, Table) else None,
        )

    def _warn_of_short_rows(self, info: Array) -> None:
        options = self._handle.get_options()
        width, known = min(options["hidden"], default=0), int(info["known"].max())
        if self.rows and known < 2 * width:
            advice = f"; a memory with hidden=({known // 2},) * 3 could tell" if known >= 4 else ""
            warnings.warn(
                f"whether a row was written cannot be told of any: layers of {width} units explain {known} known entries, "
                f"whatever they are{advice}",
                stacklevel=3,
            )

    def _names_of(self, numbers: Array, single: bool) -> Any:
        kept = {number: name for name, number, _ in self._handle.get_names()} if numbers.any() else {}
        names = [kept.get(number) for number in numbers.tolist()]
        return names[0] if single else names

    def _read_options(self, noise: float | None, objective: str | None, shards: int) -> dict[str, Any]:
        if noise is not None and noise < 0:
            raise raw.InvalidError(f"noise is {noise}, but must be 0 or more; without it, it is estimated")
        if shards and shards > self._handle.get_options()["shards"]:
            raise raw.InvalidError(f"shards is {shards}, but the memory has {self._handle.get_options()['shards']}")
        usual = TABLE_READ if self._layout.fills else {}
        given = {"noise": noise, "objective": objective, "shards": shards}
        return numbers_of({**usual, **{key: value for key, value in given.items() if value is not None}})

    def _room(self, out: Any, rows: Rows) -> Floats:
        if out is None:
            return np.empty_like(rows.x)
        if not self._layout.is_plain:
            raise raw.InvalidError("out takes rows as they are: not of tables, of channels or of pixels")
        fits = isinstance(out, np.ndarray) and out.dtype == np.float32 and out.flags.c_contiguous and out.flags.writeable
        if not fits or out.size != rows.x.size or out.shape[0 if rows.single else 1 :] != self._layout.shape:
            raise raw.InvalidError("out must be a contiguous, writable float32 array of the shape of the rows")
        room: Floats = out.reshape(rows.x.shape)
        return room

    def search(
        self, q: Any, k: int = 5, known: Any = None, *, noise: float | None = None, shards: int = 0
    ) -> list[Match] | list[list[Match]]:
        """The `k` best answers to each query over all shards, best first: a list for each query, or one list where one
        query was given. Each answer is a row as the memory has it now.

        >>> memory = Memory(dim=50, names=10)
        >>> rows = np.random.default_rng(0).normal(size=(4, 50))
        >>> _ = memory.write(rows, names=["a", "b", "c", "d"])
        >>> [match.name for match in memory.search(0.8 * rows[2] + 0.2 * rows[0], k=2)]
        ['c', 'a']
        """
        rows = self._layout.encode(q, known)
        options = self._read_options(noise, None, shards)
        n = len(rows.x)
        if not 1 <= k <= MAX_MATCHES:
            raise raw.InvalidError(f"k is {k}, but must be from 1 to {MAX_MATCHES}")
        answers = np.zeros((n, k, self._layout.dim), np.float32)
        matches = np.zeros((n, k), np.dtype(raw.MATCH))
        found = np.zeros(n, np.uintp)

        def ask(x: Floats, mask: Mask | None, some: Array, info: Array, counts: Array) -> None:
            self._handle.search(x, mask, k, options, info, some, counts)

        in_parts(ask, rows, known is None and not self._layout.fills, answers, matches, found)
        kept = {number: name for name, number, _ in self._handle.get_names()} if matches["name"].any() else {}
        told = [
            [
                Match(
                    self._layout.decode(answers[i, j : j + 1], Rows(answers[i, j : j + 1], None, True)),
                    matches[i, j],
                    kept.get(int(matches[i, j]["name"])),
                )
                for j in range(int(found[i]))
            ]
            for i in range(n)
        ]
        return told[0] if rows.single else told

    def infer(self, x: Any, known: Any = None, *, noise: float | None = None, objective: str | None = None) -> Codes:
        """The codes (hidden activations) that explain rows best."""
        rows = self._layout.encode(x, known)
        options = self._read_options(noise, objective, 0)
        codes = np.empty((len(rows.x), self.stats["code_dim"]), np.float32)
        info = np.zeros(len(rows.x), np.dtype(raw.READ_INFO))

        def ask(part: Floats, mask: Mask | None, some_codes: Array, some_info: Array) -> None:
            self._handle.infer(part, mask, options, some_codes, some_info, None)

        in_parts(ask, rows, known is None and not self._layout.fills, codes, info)
        return Codes(codes[0], info[0]) if rows.single else Codes(codes, info)

    def score(self, x: Any, known: Any = None) -> Any:
        """Log predictive density of every row, of its known entries: the measure of novelty."""
        rows = self._layout.encode(x, known)
        density = self._densities(rows)
        return density[0] if rows.single else density

    def typicality(self, x: Any, known: Any = None) -> Any:
        """How typical rows are of those written of late, from 0 to 1, a conformal p-value: as long as rows come in no
        particular order, one in a hundred has 0.01 or less."""
        return self._typicality_of(self._layout.encode(x, known))

    def explain(self, x: Any, known: Any = None) -> Any:
        """Of a table: which columns are to blame for a row's being odd, of every row a list of `Blame`, the greatest first:
        what the other columns make the memory expect of a cell, how sure it is, and by how many nats the cell is less
        likely than that.

        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(300, 1)) * [1.0, -2.0] + np.random.default_rng(1).normal(size=(300, 2)) / 10
        >>> memory = Memory(columns={"a": "number", "b": "number"})
        >>> _ = memory.write(x)
        >>> memory.explain([1.0, 2.0])[0].nats > 10
        True
        """
        if not isinstance(self._layout, Table):
            raise raw.InvalidError("only a table's memory explains rows column by column")
        rows = self._layout.encode(x, known)
        expected, deviation, blame = (np.empty(rows.x.shape) for _ in range(3))
        in_parts(self._handle.explain, rows, False, expected, deviation, blame)
        blames = self._layout.blames(rows, expected, deviation, blame)
        return blames[0] if rows.single else blames

    def _densities(self, rows: Rows) -> NDArray[np.float64]:
        density = np.empty(len(rows.x))
        if rows.known is not None and rows.known.all():
            rows.known = None
        in_parts(self._handle.score, rows, False, density)
        return density

    def _typicality_of(self, rows: Rows) -> Any:
        density = self._densities(rows)
        p = np.empty_like(density)
        if len(p):
            self._handle.typicality(density, p)
        return p[0] if rows.single else p

    def energy(self, x: Any, codes: Any, known: Any = None) -> Any:
        """The energy, -log p(x, h), of rows with given codes."""
        rows = self._layout.encode(x, known)
        energy = np.empty(len(rows.x))
        self._handle.energy(rows.x, rows.known, np.require(codes, np.float32, ["C", "A"]), None, energy, None)
        return energy[0] if rows.single else energy

    def sample(self, n: int = 1, seed: int = 0) -> Any:
        """Draws rows from what was learnt, in the form of rows; of a table a DataFrame."""
        if n < 0:
            raise raw.InvalidError(f"n is {n}, but must be 0 or more")
        out = np.empty((n, self._layout.dim), np.float32)
        self._handle.sample(n, seed, out)
        if isinstance(self._layout, Table):
            return self._layout.frame(out)
        return self._layout.decode(out, Rows(out, None, False))

    # ---- parameters

    def layer(self, layer: int, *, shard: int = 0, particle: int = 0) -> tuple[Array, Array]:
        """Mean [above, below] and row covariance [above, above] of a layer."""
        widths = (self._layout.dim, *self.options["hidden"])
        above, below = widths[layer + 1 : layer + 2], widths[layer : layer + 1]
        mean, covariance = np.empty(above + below), np.empty(above + above)
        self._handle.get_layer(shard, particle, layer, mean, covariance)
        return mean, covariance

    def set_layer(self, layer: int, mean: Any = None, covariance: Any = None, *, shard: int = 0, particle: int = 0) -> None:
        """Replaces either or both; not of a memory in a file."""
        self._handle.set_layer(shard, particle, layer, _doubles(mean), _doubles(covariance))

    def top(self, *, shard: int = 0, particle: int = 0) -> tuple[Array, float]:
        """Mean and variance of the highest layer."""
        mean = np.empty((self._layout.dim, *self.options["hidden"])[-1])
        return mean, self._handle.get_top(shard, particle, mean)

    def set_top(self, mean: Any, variance: float, *, shard: int = 0, particle: int = 0) -> None:
        """Replaces the highest layer's mean and variance; not of a memory in a file."""
        self._handle.set_top(shard, particle, _doubles(mean), variance)

    def weights(self, *, shard: int = 0) -> Array:
        """The particles' weights."""
        weights = np.empty(self.options["particles"])
        self._handle.get_weights(shard, weights)
        return weights

    def set_weights(self, weights: Any, *, shard: int = 0) -> None:
        """Replaces the particles' weights, which are normalised; not of a memory in a file."""
        self._handle.set_weights(shard, _doubles(weights))

    def set_shards(self, rows: Sequence[int], open: int) -> None:
        """Makes as many shards begin, says that so many rows were written to each, and which was begun last."""
        self._handle.set_shards(rows, open)

    # ---- about it

    @property
    def options(self) -> dict[str, Any]:
        """The options it was made with, enumerations as words."""
        options = self._handle.get_options()
        for name, words in CHOICES.items():
            if name in options:
                options[name] = {value: word for word, value in words.items()}[options[name]]
        return options

    @property
    def stats(self) -> dict[str, Any]:
        """bpcn_stats: dim, code_dim, writes, bytes, shards, kernels, ..."""
        return self._handle.get_stats()

    @property
    def file(self) -> dict[str, Any]:
        """bpcn_file_info of a memory in a file."""
        return self._handle.get_file()

    @property
    def closed(self) -> bool:
        """Whether it was closed; every other call then fails."""
        return self._handle.closed

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one row: entries, sides of a picture, or cells of a table's row."""
        return self._layout.shape

    @property
    def columns(self) -> list[Any] | None:
        """The columns of a table."""
        return self._layout.columns if isinstance(self._layout, Table) else None

    @property
    def rows(self) -> int:
        """Rows written since it was made."""
        return int(self.stats["writes"])

    def __len__(self) -> int:
        """Rows written and not deleted.

        >>> memory = Memory(dim=3)
        >>> _ = memory.write(np.eye(3))
        >>> memory.delete([0, 1, 0])
        >>> len(memory)
        2
        """
        stats = self.stats
        return int(stats["writes"] - stats["deletes"])

    def __bool__(self) -> bool:
        return True  # an empty memory is not nothing

    def __contains__(self, what: Any) -> bool:
        """Whether a name is kept, or a row, which may have gaps, is known.

        >>> memory = Memory(dim=100, names=10)
        >>> rows = np.random.default_rng(0).normal(size=(5, 100))
        >>> _ = memory.write(rows, names=list("abcde"))
        >>> rows[3] in memory, -rows[3] in memory, "c" in memory, "x" in memory
        (True, False, True, False)
        """
        if isinstance(what, str):
            return what in self.names
        if isinstance(self._layout, Table):
            raise TypeError("a memory of a table does not tell whether it holds a row; typicality tells how usual one is")
        answer = self.read(what)
        if np.ndim(answer.verdict):
            raise raw.InvalidError("in asks for one row; read(rows).verdict tells of several")
        return str(answer.verdict) in ("known", "near copy")

    @property
    def names(self) -> list[str]:
        """The names that are kept of rows, the oldest first."""
        return [name for name, _, _ in self._handle.get_names()]

    @property
    def scale(self) -> tuple[Any, Any] | None:
        """Centre and scale that entries are taken in: two numbers, or two arrays with one for each entry. None: as given.
        Densities, energies and the option sigma_x are in units of the scale."""
        centre, scale = np.zeros(self._layout.dim), np.zeros(self._layout.dim)
        pairs, _ = self._handle.get_scale(centre, scale)
        if pairs > 1:
            return centre, scale
        return (float(centre[0]), float(scale[0])) if pairs == 1 else None

    @property
    def fullness(self) -> float:
        """Rows that the shards were written, as a share of those they have room for."""
        options = self._handle.get_options()
        return float(sum(self._handle.get_shards()) / (options["shards"] * options["shard_rows"]))

    def _summary(self) -> str:
        if isinstance(self._layout, Table):
            return f"rows of {len(self._layout.learnt)} columns, {self.rows} written"
        options = self._handle.get_options()
        return (
            f"rows of {'x'.join(map(str, self._layout.shape))}, {self.rows} written, {100 * self.fullness:.0f} % full, "
            f"{options['shards']} shards of {'x'.join(map(str, options['hidden']))}"
        )

    def __repr__(self) -> str:
        """
        >>> Memory(shape=(28, 28))
        <Memory: rows of 28x28, 0 written, 0 % full, 16 shards of 64x64x64>
        """
        return "<Memory: closed>" if self.closed else f"<Memory: {self._summary()}>"

    def _repr_html_(self) -> str:
        if self.closed:
            return "<p>Memory: closed</p>"
        head = f"<p><b>Memory</b>: {escape(self._summary())}</p>"
        if not (isinstance(self._layout, Arrays) and self._layout.is_picture):
            return head
        samples = np.empty((8, self._layout.dim), np.float32)
        self._handle.sample(8, 0, samples)
        return f'{head}<img alt="samples" src="data:image/png;base64,{png_of_samples(samples, self._layout.shape)}">'


def _doubles(x: Any) -> NDArray[np.float64] | None:
    return None if x is None else np.require(x, np.float64, ["C", "A"])
