"""The life of a memory in files, as a part of Memory."""
from __future__ import annotations

import os
import tempfile
from typing import Any, Self, Unpack

from . import _bayespcn as raw
from .columns import Table
from .options import Options, layout_of, layout_of_note, numbers_of, options_of
from .rows import Arrays

Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]


class Living:
    """Opened, saved, copied, pickled, closed."""

    def _take(self, handle: raw.Handle, layout: Arrays | Table, path: Path | None) -> None:
        self._handle = handle
        self._layout = layout
        self._path = path

    @classmethod
    def _of_handle(cls, handle: raw.Handle, pixels: Any, clip: bool, path: Path | None) -> Self:
        memory = cls.__new__(cls)
        note = handle.get_note().decode(errors="replace")
        if note.startswith("sequence="):
            handle.close()
            where = "the memory" if path is None else os.fsdecode(path)
            raise raw.InvalidError(f"{where}: is a sequence, whose rows are not plain ones: use bpcn play, locate and follow")
        memory._take(handle, layout_of_note(note, handle.get_options()["dim"], pixels, clip), path)
        return memory

    @classmethod
    def open(
        cls,
        path: Path,
        mode: str = "r",
        *,
        sync: str = "each",
        checkpoint_bytes: int = 0,
        dim: int | None = None,
        shape: Any = None,
        columns: Any = None,
        pixels: tuple[float, float] | None = None,
        clip: bool = False,
        threads: int = 0,
        **options: Unpack[Options],
    ) -> Self:
        """Opens the memory that lives in a file: "r" to read it as it is now, "r+" to change it, "a" to make it if there
        is none, from dim, shape or columns and options as of `Memory`. What a call acknowledged survives a crash.

        >>> import tempfile, os
        >>> from bayespcn import Memory
        >>> path = os.path.join(tempfile.mkdtemp(), "rows.mem")
        >>> with Memory.open(path, "a", dim=3) as memory:
        ...     memory.write([1.0, 0.5, -1.0])
        Written(1 rows)
        >>> with Memory.open(path) as memory:
        ...     memory.rows
        1
        """
        if mode not in ("r", "r+", "a"):
            raise raw.InvalidError(f"the mode is {mode!r}, but must be 'r', 'r+' or 'a'")
        opening = numbers_of(
            {"sync": sync, "read_only": mode == "r", "threads": threads, "checkpoint_bytes": checkpoint_bytes}
        )
        made = None
        if mode == "a":
            layout = layout_of(dim, shape, columns, pixels, clip)
            made = options_of(layout, dict(options), clip)
        elif options or dim or shape or columns is not None:
            raise TypeError('what a row is and options are for mode "a"; a file that is there has its own')
        handle = raw.open(path, opening, made)
        if made is not None and handle.get_stats()["writes"] == 0 and not handle.get_note():
            handle.set_note(layout.note().encode())
        memory = cls._of_handle(handle, pixels, clip, path)
        if made is not None and memory._layout.shape != layout.shape:
            memory.close()
            raise raw.InvalidError(f"rows of the memory have the shape {memory._layout.shape}, not {layout.shape}")
        return memory

    @classmethod
    def load(cls, path: Path, *, pixels: tuple[float, float] | None = None, clip: bool = False) -> Self:
        """A copy of the memory in a file, which has nothing to do with the file any more."""
        return cls._of_handle(raw.load(path), pixels, clip, None)

    def save(self, path: Path) -> None:
        """A plain copy to a file, whole or not at all."""
        self._handle.save(path)

    def copy(self) -> Self:
        """A copy without a file.

        >>> from bayespcn import Memory
        >>> memory = Memory(dim=3)
        >>> other = memory.copy()
        >>> _ = other.write([1.0, 2.0, 3.0])
        >>> memory.rows, other.rows
        (0, 1)
        """
        return type(self)._of_bytes(self._bytes(), self._layout.pixels, getattr(self._layout, "clip", False))

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def _bytes(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "memory")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    @classmethod
    def _of_bytes(cls, content: bytes, pixels: Any, clip: bool) -> Self:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "memory")
            with open(path, "wb") as file:
                file.write(content)
            return cls.load(path, pixels=pixels, clip=clip)

    def __reduce__(self) -> Any:
        if self._path is not None:
            raise TypeError(f"the memory lives in {os.fspath(self._path)!r}: pickle that path, or a copy()")
        return type(self)._of_bytes, (self._bytes(), self._layout.pixels, getattr(self._layout, "clip", False))

    def close(self) -> None:
        """Syncs and closes; a second time does nothing."""
        self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def sync(self) -> None:
        """Makes all changes so far durable."""
        self._handle.sync()

    def checkpoint(self) -> None:
        """Folds the file's log into it."""
        self._handle.checkpoint()
