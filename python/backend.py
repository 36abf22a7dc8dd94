# SPDX-License-Identifier: Apache-2.0
"""Builds the module and the command from the source tree around it: pip calls `build_wheel` for `pip install ./python`.

For the Python and the CMake of the system it is built in build/release, whose libraries are used; for each other, and
for the tools that pip brings for one build, in a folder of its own.
"""

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION = re.search(r"project\(dovetail VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text("utf-8")).group(1)
OF_SYSTEM = os.path.realpath(sys.executable) == os.path.realpath("/usr/bin/python3") and all(
    (shutil.which(tool) or "").startswith("/usr/bin/") for tool in ("cmake", "ninja"))
FOLDER = ROOT / "build" / ("release" if OF_SYSTEM else f"python-{sys.implementation.cache_tag}")
INFO = f"dovetail-{VERSION}.dist-info"
PLATFORM = re.sub(r"[-.]", "_", sysconfig.get_platform())
COMMAND = "bin/dovetail"  # in the package: __main__.py runs it


def metadata():
    return f"""Metadata-Version: 2.1
Name: dovetail
Version: {VERSION}
Summary: Record container and loader for data-parallel training
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy
Provides-Extra: torch
Requires-Dist: torch>=1.13; extra == "torch"
"""


def build():
    """Builds the package; gives its folder."""
    configure = ["cmake", "--preset", "package", "-B", str(FOLDER), f"-DPython3_EXECUTABLE={sys.executable}"]
    try:
        import pybind11
    except ImportError:
        pass  # CMake knows where it is
    else:
        configure.append(f"-Dpybind11_DIR={pybind11.get_cmake_dir()}")
    subprocess.run(configure, cwd=ROOT, check=True)
    subprocess.run(["cmake", "--build", str(FOLDER), "--target", "dovetail_python_package"], check=True)
    return FOLDER / "python" / "package" / "dovetail"


def write_wheel(folder, files, platform=PLATFORM):
    """Writes a wheel for this Python; gives its name. `files` has what is in it, by name: paths or bytes."""
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    tag = f"{python}-{python}-{platform}"
    files = dict(files)
    files[f"{INFO}/METADATA"] = metadata().encode()
    files[f"{INFO}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: dovetail\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{INFO}/entry_points.txt"] = b"[console_scripts]\ndovetail = dovetail.__main__:main\n"
    files[f"{INFO}/licenses/LICENSE"] = ROOT / "LICENSE"
    record = ""
    name = f"dovetail-{VERSION}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in sorted(files.items()):
            data = content if isinstance(content, bytes) else content.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{path},sha256={digest},{len(data)}\n"
            if data is content:
                wheel.writestr(path, data)
            else:
                wheel.write(content, path)  # with its mode: pip installs the command as a program
        wheel.writestr(f"{INFO}/RECORD", f"{record}{INFO}/RECORD,,\n")
    return name


def package_files(package):
    """What `build` made for this Python, by the names that it has in a wheel."""
    extension = "_dovetail" + sysconfig.get_config_var("EXT_SUFFIX")
    names = [path.name for path in (ROOT / "python" / "dovetail").iterdir() if path.is_file()]
    return {f"dovetail/{name}": package / name for name in (extension, COMMAND, *names)}


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    del config_settings, metadata_directory
    return write_wheel(wheel_directory, package_files(build()))
