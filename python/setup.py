"""Builds the extension on the static library, which make builds first unless BPCN_LIBRARY names one. The library's sources
are this tree's, or in a source distribution the folder `library`."""
import os
import re
import shutil
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
TOP = HERE / "library" if (HERE / "library").is_dir() else HERE.parent
BUILD = TOP / "build"
LIBRARY = Path(os.environ.get("BPCN_LIBRARY", BUILD / "libbayespcn.a"))
WORK = LIBRARY.parent / "python/work"  # nothing is left in the source tree
WORK.mkdir(parents=True, exist_ok=True)
VERSION = re.search(r'#define BPCN_VERSION "(.*)"', (TOP / "include/bayespcn.h").read_text())[1]


class BuildWithLibrary(build_ext):
    def run(self):
        if "BPCN_LIBRARY" not in os.environ:
            subprocess.run(["make", "-C", str(TOP), f"-j{os.cpu_count()}", "BUILD=build", "build/libbayespcn.a"], check=True)
        for extension in self.extensions:
            extension.extra_objects = [str(LIBRARY)]
            extension.depends.append(str(LIBRARY))
            extension.extra_link_args += ["-lm", "-pthread", "-Wl,--exclude-libs,ALL"]
        super().run()


class WithSources(sdist):
    """A source distribution holds all that it is built from."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        base = Path(base_dir)
        for folder in ("include", "src"):
            shutil.copytree(TOP / folder, base / "library" / folder)
        for name in ("Makefile", "LICENSE"):
            shutil.copy(TOP / name, base / "library" / name)
        for name in ("backend.py", "README.md", "src/raw.h"):
            (base / name).parent.mkdir(exist_ok=True)
            shutil.copy(HERE / name, base / name)
        shutil.copytree(HERE / "tests", base / "tests", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)


setup(
    version=VERSION,
    packages=["bayespcn"],
    package_data={"bayespcn": ["py.typed", "*.pyi"]},
    ext_modules=[
        Extension(
            "bayespcn._bayespcn",
            sources=sorted(os.path.relpath(p, HERE) for p in HERE.glob("src/*.c")),
            depends=["src/raw.h"],
            include_dirs=[str(TOP / "include")],
            extra_compile_args=["-std=c11", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-fvisibility=hidden"]
            + (["-Werror"] if os.environ.get("CI") else []),
            py_limited_api=True,
        )
    ],
    options={
        "bdist_wheel": {"py_limited_api": "cp311"},
        "build": {"build_base": str(WORK)},
        "egg_info": {"egg_base": str(WORK)},
    },
    cmdclass={"build_ext": BuildWithLibrary, "sdist": WithSources},
)
