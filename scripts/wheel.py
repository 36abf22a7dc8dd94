#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel in build/wheel, for the Python that runs this, that needs nothing but glibc and libstdc++.

The extension of build/release is linked once more, with libarchive in it: tars need none of the 35 MB that the shared
one depends on. The other shared libraries are carried, by names that no library of another package has.
"""

import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
sys.dont_write_bytecode = True
import backend  # noqa: E402

# What manylinux allows to leave outside: glibc, and the libraries of GCC.
OUTSIDE = re.compile(r"(linux-vdso|ld-linux[\w-]*|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)\.so(\.\d+)?")


def output_of(*command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, **options).stdout


def link(extension, target):
    """Links the extension as Ninja does, but with a static libarchive."""
    name = str(extension.relative_to(backend.FOLDER))
    command = output_of("ninja", "-C", str(backend.FOLDER), "--quiet", "-t", "commands", name).splitlines()[-1]
    command = re.sub(r"/libarchive\.so[\d.]*", "/libarchive.a", command)
    command = command.replace(f"-o {name}", f"-s -Wl,--as-needed -o {target}")
    subprocess.run(["bash", "-c", command], cwd=backend.FOLDER, check=True)


def needed(binary):
    """The shared libraries to carry: names and paths."""
    found = {}
    for line in output_of("ldd", str(binary), env={**os.environ, "LC_ALL": "C"}).splitlines():
        name, _, path = line.strip().partition(" => ")
        name = name.split()[0].rsplit("/", 1)[-1]
        if not OUTSIDE.fullmatch(name):
            found[name] = pathlib.Path(path.split(" (")[0])
    return found


def licence_of(library):
    """The package of a library, and the file with its terms."""
    library = pathlib.Path(os.path.realpath(library))
    package = output_of("dpkg", "-S", f"*/{library.parent.name}/{library.name}").split(":")[0]  # in /lib or in /usr/lib
    return package, pathlib.Path("/usr/share/doc", package, "copyright")


def main():
    package = backend.build()
    files = backend.package_files(package)
    with tempfile.TemporaryDirectory(prefix="dovetail-wheel-") as scratch:
        extension = pathlib.Path(scratch, "_dovetail" + sysconfig.get_config_var("EXT_SUFFIX"))
        linked = needed(package / extension.name)
        link(package / extension.name, extension)
        libraries = needed(extension)
        for path in (path for name, path in linked.items() if name in libraries or name.startswith("libarchive.")):
            owner, terms = licence_of(path)
            files[f"{backend.INFO}/licenses/{owner}"] = terms
        binaries = [extension]
        for name, path in libraries.items():
            binaries.append(pathlib.Path(scratch, f"dovetail-{name}"))
            shutil.copy(path, binaries[-1])
            subprocess.run(["patchelf", "--set-soname", binaries[-1].name, binaries[-1]], check=True)
            files[f"dovetail/lib/{binaries[-1].name}"] = binaries[-1]
        replaced = [word for name in libraries for word in ("--replace-needed", name, f"dovetail-{name}")]
        for binary in binaries:
            rpath = "$ORIGIN/lib" if binary == extension else "$ORIGIN"
            for change in (replaced, ["--set-rpath", rpath]):  # patchelf 0.14 cannot do both at once
                subprocess.run(["patchelf", *change, binary], check=True)
            for name in output_of("patchelf", "--print-needed", str(binary)).split():
                if not OUTSIDE.fullmatch(name) and f"dovetail/lib/{name}" not in files:
                    sys.exit(f"wheel: {binary.name} still needs {name}")
        files[f"dovetail/{extension.name}"] = extension

        glibc = platform.libc_ver()[1].replace(".", "_")
        folder = ROOT / "build" / "wheel"
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.whl"):
            old.unlink()
        # Built on this glibc, it needs no newer one.
        name = backend.write_wheel(folder, f"manylinux_{glibc}_{platform.machine()}", files)
    print(f"build/wheel/{name}: {(folder / name).stat().st_size / 1e6:.1f} MB, carries {', '.join(sorted(libraries))}")


if __name__ == "__main__":
    main()
