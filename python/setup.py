"""Builds the extension on the static library of this tree, which is made first if it is not named by BPCN_LIBRARY."""
import os
import re
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
TOP = HERE.parent
LIBRARY = Path(os.environ.get("BPCN_LIBRARY", TOP / "build/libbayespcn.a"))
WORK = LIBRARY.parent / "python/work"  # nothing is left in the source tree
WORK.mkdir(parents=True, exist_ok=True)
VERSION = re.search(r'#define BPCN_VERSION "(.*)"', (TOP / "include/bayespcn.h").read_text())[1]


class BuildWithLibrary(build_ext):
    def run(self):
        if "BPCN_LIBRARY" not in os.environ:
            subprocess.run(["make", "-C", str(TOP), "BUILD=build", "build/libbayespcn.a"], check=True)
        for extension in self.extensions:
            extension.extra_objects = [str(LIBRARY)]
            extension.depends.append(str(LIBRARY))
            extension.extra_link_args += ["-lm", "-pthread", "-Wl,--exclude-libs,ALL"]
        super().run()


setup(
    name="bayespcn",
    version=VERSION,
    description="An associative memory that learns in one shot and never grows",
    license="MIT",
    packages=["bayespcn"],
    package_data={"bayespcn": ["py.typed", "*.pyi"]},
    python_requires=">=3.11",
    install_requires=["numpy"],
    extras_require={"sklearn": ["scikit-learn>=1.2"], "pandas": ["pandas>=1.5"]},
    ext_modules=[
        Extension(
            "bayespcn._bayespcn",
            sources=sorted(os.path.relpath(p, HERE) for p in HERE.glob("src/*.c")),
            depends=["src/raw.h"],
            include_dirs=[str(TOP / "include")],
            extra_compile_args=["-std=c11", "-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror", "-fvisibility=hidden"],
            py_limited_api=True,
        )
    ],
    options={
        "bdist_wheel": {"py_limited_api": "cp311"},
        "build": {"build_base": str(WORK)},
        "egg_info": {"egg_base": str(WORK)},
    },
    cmdclass={"build_ext": BuildWithLibrary},
)
