# SPDX-License-Identifier: Apache-2.0
"""Builds the module from the source tree around it: `pip install ./python`."""

import pathlib
import re
import sys

from skbuild import setup

HERE = pathlib.Path(__file__).resolve().parent
VERSION = re.search(r"project\(dovetail VERSION ([0-9.]+)", (HERE.parent / "CMakeLists.txt").read_text()).group(1)


def numpy_that_fits():
    """pybind11 before 2.12 knows NumPy 1 only. CMake may find one that Python does not: then the older is assumed."""
    try:
        import pybind11
    except ImportError:
        return "numpy<2"
    return "numpy" if pybind11.version_info[:2] >= (2, 12) else "numpy<2"


setup(
    name="dovetail",
    version=VERSION,
    description="Record container and loader for data-parallel training",
    license="Apache-2.0",
    python_requires=">=3.9",
    install_requires=[numpy_that_fits()],
    extras_require={"torch": ["torch>=1.13"]},
    packages=["dovetail"],
    package_data={"dovetail": ["py.typed", "*.pyi"]},
    cmake_source_dir="..",
    cmake_args=["-DCMAKE_BUILD_TYPE=Release", "-DDOVETAIL_BUILD_PYTHON=ON", "-DDOVETAIL_BUILD_TOOLS=OFF",
                "-DDOVETAIL_BUILD_TESTS=OFF", "-DDOVETAIL_BUILD_EXAMPLES=OFF", "-DDOVETAIL_BUILD_BENCH=OFF",
                f"-DPython3_EXECUTABLE={sys.executable}"],
    cmake_install_target="install_python",
)
