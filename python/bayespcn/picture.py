"""A PNG of a few pictures side by side, for notebooks."""
from __future__ import annotations

import struct
import zlib
from base64 import b64encode

import numpy as np

from .rows import Floats


def _chunk(tag: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + tag + content + struct.pack(">I", zlib.crc32(tag + content))


def png_of_samples(samples: Floats, shape: tuple[int, ...]) -> str:
    """Planes of entries from -1 to 1 as a PNG in base64.

    >>> png_of_samples(np.zeros((2, 6), np.float32), (2, 3))[:12]
    'iVBORw0KGgoA'
    """
    channels = shape[2] if len(shape) == 3 else 1
    planes = np.clip(127.5 * (samples + 1), 0, 255).astype(np.uint8).reshape(-1, channels, *shape[:2])
    image = np.concatenate(list(np.moveaxis(planes, 1, -1)), axis=1)
    lines = b"".join(b"\0" + line.tobytes() for line in image)
    head = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 8, 2 if channels == 3 else 0, 0, 0, 0)
    png = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(lines)) + _chunk(b"IEND", b"")
    return b64encode(png).decode()
