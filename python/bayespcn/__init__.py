"""bayespcn: an associative memory that learns in one shot and never grows.

>>> import numpy as np, bayespcn
>>> memory = bayespcn.Memory(dim=100)
>>> rows = np.random.default_rng(1).normal(size=(30, 100))
>>> _ = memory.write(rows)
>>> fragment = rows[7].copy()
>>> fragment[40:] = np.nan
>>> answer = memory.read(fragment)
>>> bool(np.abs(answer.x - rows[7]).max() < 0.01), str(answer.verdict)
(True, 'known')
"""
from ._bayespcn import (
    VERSION as __version__,
    BusyError,
    CorruptError,
    Error,
    FileError,
    FormatError,
    FullError,
    GoneError,
    InvalidError,
    NewerError,
    NoMemoryError,
    NoSpaceError,
    NotHeldError,
    NumericError,
    ReadOnlyError,
    RefusedError,
    file_check,
    file_inspect,
    file_recover,
)
from .columns import Blame, Column, columns_of
from .memory import Memory
from .options import Options
from .results import Codes, Match, Read, Written

__all__ = [
    "Blame",
    "BusyError",
    "Codes",
    "Column",
    "CorruptError",
    "Error",
    "FileError",
    "FormatError",
    "FullError",
    "GoneError",
    "NoSpaceError",
    "NotHeldError",
    "InvalidError",
    "Memory",
    "NewerError",
    "NoMemoryError",
    "NumericError",
    "Match",
    "Options",
    "Read",
    "ReadOnlyError",
    "RefusedError",
    "Written",
    "__version__",
    "columns_of",
    "file_check",
    "file_inspect",
    "file_recover",
]
