#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the packages of build/package and the wheel of build/wheel in clean roots, uses them, and removes them.

The roots are of the Debian that this is. Needs root and debootstrap; where one is missing it says so and ends with 77.
Logs stay in build/systems/logs.
"""

import pathlib
import platform
import shutil
import sys

sys.dont_write_bytecode = True
from check_systems import FOLDER, ROOT, Failed, Missing, new_root, step_in, why_not  # noqa: E402

INSTALL = "apt-get install -y -q --no-install-recommends"
# Whatever the files of the packages and of the wheel are, this is in their paths. What the steps write lies in /tmp.
NOTHING_LEFT = ("left=$(find / -xdev -iname '*dovetail*' -not -path '/given/*' -not -path '/tmp/*'); "
                "echo \"$left\"; test -z \"$left\"")

USE = """set -ex
dovetail --version
dovetail convert /usr/share/doc --records raw --to /tmp/docs --shards 4
dovetail verify /tmp/docs
dovetail inspect /tmp/docs
dovetail read /tmp/docs --rank 1 --world 2 --batch 8"""
COMMAND = USE + """
test -s /usr/share/man/man1/dovetail-convert.1
. /usr/share/bash-completion/completions/dovetail
complete -p dovetail
test ! -e /usr/lib/*/libdovetail.so.0"""

CONSUMER = """set -ex
cmake -S /given/consumer -B /tmp/consumer -G Ninja -DCMAKE_BUILD_TYPE=Release
cmake --build /tmp/consumer
/tmp/consumer/writer_only /tmp/written | grep 'wrote 1000 records'
/tmp/consumer/trainer /tmp/written | grep 'read 1000 records'
readelf -d /tmp/consumer/trainer | grep 'libdovetail.so.0'
g++ -std=c++20 /given/consumer/trainer.cc -o /tmp/trainer $(pkg-config --cflags --libs dovetail)
/tmp/trainer /tmp/written | grep 'read 1000 records'"""

MODULE = '''
import dovetail
with dovetail.DatasetWriter("/tmp/numbers") as writer:
    writer.extend(b"record %d" % i for i in range(1000))
dovetail.verify("/tmp/numbers")
records = dovetail.Records(dovetail.Dataset("/tmp/numbers"))
assert [records[i] for i in (0, 999)] == [b"record 0", b"record 999"]
print("wrote and verified with", dovetail.__version__, dovetail.__file__)
'''
READER = '''
import dovetail
import numpy
reader = dovetail.Reader("/tmp/numbers", batch=50)
ids = [int(i) for batch in reader for i in batch.ids]
assert sorted(ids) == list(range(1000))
print("read with NumPy", numpy.__version__)
'''

PACKAGES = [
    ("update", "apt-get update -q"),
    ("install the command", f"{INSTALL} /given/dovetail_*.deb"),
    ("use the command", COMMAND),
    ("install the libraries", f"{INSTALL} cmake g++ ninja-build pkg-config /given/libdovetail*.deb"),
    ("build a consumer", CONSUMER),
    ("install the module", f"{INSTALL} /given/python3-dovetail_*.deb"),
    ("use the module", "cd /tmp && python3 /given/module.py && python3 /given/reader.py"),
    ("run the command by the module", "python3 -m dovetail verify /tmp/docs"),
    ("remove", "apt-get purge -y -q dovetail libdovetail0 libdovetail-dev python3-dovetail && ldconfig -p"
               " | (! grep dovetail) && " + NOTHING_LEFT),
]
WHEEL = [
    ("update", "apt-get update -q"),
    ("install Python", f"{INSTALL} python3 python3-venv && python3 -m venv --system-site-packages /environment"),
    ("install the wheel", "/environment/bin/pip install --no-index --no-deps /given/*.whl"),
    ("use the module", "cd /tmp && /environment/bin/python /given/module.py"),
    ("use its command", f"PATH=/environment/bin:$PATH\n{USE}\npython -m dovetail verify /tmp/docs"),
    ("use the module with NumPy", f"{INSTALL} python3-numpy && cd /tmp && /environment/bin/python /given/reader.py"
                                  " && /environment/bin/pip check"),
    ("remove", "/environment/bin/pip uninstall -y dovetail && " + NOTHING_LEFT),
]


def test(name, given, steps):
    """Runs the steps in a new root, where /given has these files and folders."""
    root = new_root(name, platform.freedesktop_os_release()["VERSION_CODENAME"])
    (root / "given").mkdir()
    for path in given:
        if path.is_dir():
            shutil.copytree(path, root / "given" / path.name)
        else:
            shutil.copy(path, root / "given" / path.name)
    (root / "given" / "module.py").write_text(MODULE)
    (root / "given" / "reader.py").write_text(READER)
    try:
        for title, command in steps:
            seconds, _ = step_in(name, title, command, {})
            print(f"{name}: {title}: passed, {seconds:.0f} s", flush=True)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def main():
    if platform.freedesktop_os_release().get("ID") != "debian":
        print("skipped: the packages are for Debian, and this is another system")
        return 77
    if why_not():
        print(f"skipped: {why_not()}")
        return 77
    packages = sorted((ROOT / "build" / "package").glob("*.deb"))
    wheels = sorted((ROOT / "build" / "wheel").glob("*.whl"))
    if len(packages) != 4 or len(wheels) != 1:
        sys.exit("package_test: `make package wheel` comes first")
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        test("packages", [*packages, ROOT / "tests" / "install" / "consumer"], PACKAGES)
        test("wheel", wheels, WHEEL)
    except Missing as missing:
        print(f"skipped: {missing}")
        return 77
    except Failed as failed:
        print(f"failed: {failed}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
