"""``python -m bayespcn --version`` tells what is installed and how it was built."""
import platform
import sys

import numpy as np

from . import Memory, __version__


def main() -> int:
    if sys.argv[1:] not in ([], ["--version"]):
        print("usage: python -m bayespcn [--version]", file=sys.stderr)
        return 2
    kernels = Memory(dim=1, hidden=(1,)).stats["kernels"]
    print(f"bayespcn {__version__}, {kernels} kernels, {platform.machine()}, NumPy {np.__version__}, Python {platform.python_version()}")
    return 0


sys.exit(main())
