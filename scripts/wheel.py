#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel in build/wheel, for the Python that runs this, that needs nothing but glibc and libstdc++.

The extension and the command of build/release are linked once more, with libarchive in them: tars need none of the
35 MB that the shared one depends on. The other shared libraries are carried, by names that no library of another
package has.
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


def link(binary, target):
    """Links a target of the build folder as Ninja does, but with a static libarchive."""
    commands = output_of("ninja", "-C", str(backend.FOLDER), "--quiet", "-t", "commands", binary).splitlines()
    command = commands[-1].split(" && ")[1]  # ": && LINK && ...", where steps after the build may follow
    command = re.sub(r"/libarchive\.so[\d.]*", "/libarchive.a", command)
    command = command.replace(f"-o {binary}", f"-s -Wl,--as-needed -o {target}")
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


def link_all(folder):
    """Links extension and command; gives them by their names in the package, and the terms of their libraries."""
    extension = "_dovetail" + sysconfig.get_config_var("EXT_SUFFIX")
    binaries, used = {}, {}
    for name, target in ((extension, f"python/package/dovetail/{extension}"), (backend.COMMAND, "tools/dovetail")):
        binaries[name] = folder / pathlib.Path(name).name
        link(target, binaries[name])
        libraries = needed(binaries[name])
        used |= {library: path for library, path in needed(backend.FOLDER / target).items()
                 if library in libraries or library.startswith("libarchive.")}
    return binaries, dict(licence_of(path) for path in used.values())


def carry(binaries, folder):
    """Adds the libraries that these need to them, and lets all find one another; gives the names of the libraries."""
    libraries = {name: path for binary in binaries.values() for name, path in needed(binary).items()}
    for name, path in libraries.items():
        own = f"dovetail-{name}"
        binaries[f"lib/{own}"] = shutil.copy(path, folder / own)
        subprocess.run(["patchelf", "--set-soname", own, folder / own], check=True)
    replaced = [word for name in libraries for word in ("--replace-needed", name, f"dovetail-{name}")]
    for place, binary in binaries.items():
        rpath = "$ORIGIN/" + os.path.relpath("lib", os.path.dirname(place))
        for change in (replaced, ["--set-rpath", rpath]):  # patchelf 0.14 cannot do both at once
            subprocess.run(["patchelf", *change, binary], check=True)
        for name in output_of("patchelf", "--print-needed", str(binary)).split():
            if not OUTSIDE.fullmatch(name) and f"lib/{name}" not in binaries:
                sys.exit(f"wheel: {place} still needs {name}")
    return sorted(libraries)


def main():
    files = backend.package_files(backend.build())
    with tempfile.TemporaryDirectory(prefix="dovetail-wheel-") as scratch:
        binaries, licences = link_all(pathlib.Path(scratch))
        libraries = carry(binaries, pathlib.Path(scratch))
        files |= {f"dovetail/{name}": path for name, path in binaries.items()}
        files |= {f"{backend.INFO}/licenses/{owner}": terms for owner, terms in licences.items()}

        glibc = platform.libc_ver()[1].replace(".", "_")
        folder = ROOT / "build" / "wheel"
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.whl"):
            old.unlink()
        # Built on this glibc, it needs no newer one.
        name = backend.write_wheel(folder, files, f"manylinux_{glibc}_{platform.machine()}")
    print(f"build/wheel/{name}: {(folder / name).stat().st_size / 1e6:.1f} MB, carries {', '.join(libraries)}")


if __name__ == "__main__":
    main()
