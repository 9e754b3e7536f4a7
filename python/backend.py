"""The build backend: setuptools', with one clear sentence where something that the build needs is missing."""
import shutil
import sys


def _need(module, package):
    try:
        __import__(module)
    except ImportError:
        sys.exit(f"bayespcn is built with {module}, which this Python lacks: run '{sys.executable} -m pip install {package}', "
                 "or leave out --no-build-isolation")


_need("setuptools", "setuptools wheel")
from setuptools.build_meta import *  # noqa: E402, F401, F403
from setuptools import build_meta  # noqa: E402


def build_wheel(directory, config_settings=None, metadata_directory=None):
    if tuple(map(int, build_meta.setuptools.__version__.split(".")[:2])) < (70, 1):
        _need("wheel", "wheel")  # later versions of setuptools have it
    for tool in ("make", "cc"):
        if shutil.which(tool) is None:
            sys.exit(f"bayespcn compiles its library, and there is no {tool} here: on Debian run 'apt-get install build-essential'")
    return build_meta.build_wheel(directory, config_settings, metadata_directory)
