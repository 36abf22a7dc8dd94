#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and tests a fresh clone of the last commit on other systems, each a clean root made by debootstrap.

A table comes out, and in build/systems a log of each step, the table, and the versions of what the project depends on
that were found to work. Needs root, for chroot, and mirrors of Debian and Ubuntu; where one is missing it says so and
ends with 77. The roots stay in build/systems/base for the next run; the systems themselves are removed unless they are
kept.
"""

import argparse
import dataclasses
import datetime
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "systems"
MIRROR = os.environ.get("DEBIAN_MIRROR", "http://deb.debian.org/debian")
UBUNTU_MIRROR = os.environ.get("UBUNTU_MIRROR", "http://archive.ubuntu.com/ubuntu")
UBUNTU = {"noble"}
CLONE = "/dovetail"
STEP_SECONDS = 3 * 3600


@dataclasses.dataclass
class System:
    """A root, what is there before anything of the project runs, and the commands that have to pass."""
    suite: str
    what: str
    commands: list
    components: str = "main"
    prepare: str = ""
    environment: dict = dataclasses.field(default_factory=dict)
    versions: str = ""  # more packages whose versions are of interest


SYSTEMS = {
    "debian12": System("bookworm", "Debian 12", ["make demo", "make test"], versions="g++"),
    "debian12-cuda11.8": System(
        "bookworm", "Debian 12 with its CUDA Toolkit",
        ["make test", "cmake --build --preset test --target gpu_programs"],
        components="main contrib non-free non-free-firmware",
        prepare="apt-get install -y -q --no-install-recommends nvidia-cuda-toolkit g++-11",
        versions="g++ g++-11 nvidia-cuda-toolkit"),
    "debian13": System("trixie", "Debian 13", ["make demo", "make test"], versions="g++"),
    # With trainers, which it packages.
    "debian-sid": System(
        "sid", "Debian's development release", ["make test"],
        prepare="apt-get install -y -q --no-install-recommends python3-accelerate python3-transformers",
        versions="g++ python3-accelerate python3-transformers"),
    "ubuntu24.04": System("noble", "Ubuntu 24.04", ["make demo", "make test"], components="main universe",
                          versions="g++"),
    "debian13-clang19": System(
        "trixie", "Debian 13, clang 19", ["make test"],
        prepare="apt-get install -y -q --no-install-recommends clang-19 libclang-rt-19-dev",
        environment={"CC": "clang-19", "CXX": "clang++-19"}, versions="clang-19"),
    # The command is also built for the machine itself: what both write is compared. ISA-L can be there for one
    # architecture only, so what is built for the machine has the project's own CRC32C.
    "debian12-arm64": System(
        "bookworm", "Debian 12, aarch64 by its cross compiler and QEMU",
        ["cmake --preset release && cmake --build --preset release",
         "cmake -S . -B build/aarch64 -G Ninja --toolchain cmake/aarch64-linux-gnu.cmake -DDOVETAIL_UNITY=ON"
         " && cmake --build build/aarch64",
         "python3 -B tests/integration/compare_ids.py build/release/tools/dovetail"
         " 'qemu-aarch64-static build/aarch64/tools/dovetail'",
         "ctest --test-dir build/aarch64 -L unit --timeout 3600 -j $(($(nproc) + 1))"],
        prepare="dpkg --add-architecture arm64 && apt-get update -q && apt-get install -y -q --no-install-recommends"
                " cmake g++ g++-aarch64-linux-gnu libcli11-dev libdlpack-dev ninja-build pkg-config protobuf-compiler"
                " python3-protobuf qemu-user-static libgtest-dev:arm64 libgmock-dev:arm64 libisal-dev:arm64 "
                + " ".join(f"{library} {library}:arm64" for library in (
                    "libarchive-dev", "libboost1.81-dev", "libbz2-dev", "liblzma-dev", "libprotobuf-dev",
                    "libsnappy-dev", "liburing-dev", "libxxhash-dev", "libzstd-dev", "zlib1g-dev")),
        versions="g++-aarch64-linux-gnu qemu-user-static"),
}


class Missing(Exception):
    """What this machine lacks."""


class Failed(Exception):
    """A step that did not pass."""


def logged(name, step, command, **options):
    log = FOLDER / "logs" / f"{name}-{re.sub(r'[^a-z0-9]+', '-', step.lower())}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as output:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                              timeout=STEP_SECONDS, check=False, **options)
    return done.returncode, log


def mirror_of(suite):
    return UBUNTU_MIRROR if suite in UBUNTU else MIRROR


def base_of(suite):
    """The clean root of a release, made where it is not there yet."""
    base = FOLDER / "base" / suite
    if base.exists():
        return base
    partial = base.with_name(suite + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.parent.mkdir(parents=True, exist_ok=True)
    # Debian packages neither the keys of Ubuntu nor, for later releases, their scripts, which are all the same.
    checks, script = (["--no-check-gpg"], ["gutsy"]) if suite in UBUNTU else ([], [])
    status, log = logged(suite, "debootstrap",
                         ["debootstrap", "--variant=minbase", *checks, suite, str(partial), mirror_of(suite), *script])
    if status != 0:
        raise Missing(f"no root of {suite} from {mirror_of(suite)}: see {log.relative_to(ROOT)}")
    partial.rename(base)
    return base


def inside(root, command, environment):
    """The words that run a shell command in the root, with a process table, devices and memory of its own."""
    # Mounts are of this command's own namespace and go with it, whatever ends it.
    script = (f'mount --make-rprivate / && mount --rbind /dev "{root}/dev" && mount -t proc proc "{root}/proc" && '
              f'mount -t sysfs sys "{root}/sys" && exec chroot "{root}" /usr/bin/env -i "$@"')
    variables = {"HOME": "/root", "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                 "TERM": "dumb", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", **environment}
    return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-c", script, "inside",
            *(f"{name}={value}" for name, value in variables.items()), "bash", "-c", command]


def packages_in(root):
    query = ["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package} ${Version}\n"]
    told = subprocess.run(["chroot", str(root), *query], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {line.split()[1]: line.split()[2] for line in told.splitlines() if line.startswith("installed ")}


def wanted_packages():
    """The first words of what the lists of `make test` name."""
    names = []
    for name in ("build", "python", "test"):
        for line in (ROOT / "scripts" / "packages" / f"{name}.txt").read_text(encoding="utf-8").splitlines():
            names += [word.split()[0] for word in line.split("#")[0].split("|") if word.strip()]
    return sorted(set(names))


def summary(log):
    """What the tests counted, from the end of a log."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    of_ctest = [line for line in lines if re.fullmatch(r"\d+% tests passed, \d+ tests failed out of \d+", line)]
    of_make = [line for line in lines[-3:] if re.fullmatch(r"\d+ (skipped|passed, \d+ failed)", line)]
    return ", ".join(of_make or of_ctest)


def new_root(name, suite, components="main"):
    """A clean root in FOLDER, with a network."""
    root = FOLDER / name
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["cp", "-a", str(base_of(suite)), str(root)], check=True)
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    (root / "etc" / "apt" / "sources.list").write_text(f"deb {mirror_of(suite)} {suite} {components}\n")
    # Some programs hang where the name of the machine says nothing.
    (root / "etc" / "hosts").write_text(f"127.0.0.1 localhost {socket.gethostname()}\n::1 localhost\n")
    return root


def step_in(name, title, command, environment):
    """Runs a shell command in the root of this name; gives its seconds and its log."""
    began = time.monotonic()
    status, log = logged(name, title, inside(FOLDER / name, command, environment))
    if status != 0:
        raise Failed(f"{title} ends with {status}: see {log.relative_to(ROOT)}")
    return time.monotonic() - began, log


def why_not():
    """Why no root can be made here, or nothing."""
    if os.geteuid() != 0:
        return "only root may make and enter other systems"
    return "" if shutil.which("debootstrap") else "there is no debootstrap"


def run(name, system, rows):
    """Appends a row of the table for each command that passes; gives the versions."""
    root = new_root(name, system.suite, system.components)

    def step(title, command):
        return step_in(name, title, command, system.environment)

    # What a person has who reads the README: git, make and apt.
    step("prepare", "apt-get update -q && apt-get install -y -q --no-install-recommends ca-certificates git make && "
         + (system.prepare or "true"))
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(root) + CLONE], check=True)
    for command in system.commands:
        before = len(packages_in(root))
        seconds, log = step(command, f"cd {CLONE} && {command}")
        rows.append((system.what, command, len(packages_in(root)) - before, seconds, summary(log) or "passed"))
        print(f"{name}: {command}: {rows[-1][-1]}, {seconds:.0f} s", flush=True)
    there = packages_in(root)
    versions = {package: there[package] for package in wanted_packages() + system.versions.split() if package in there}
    return versions


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", action="store_true", help="keep the systems, to look into them")
    parser.add_argument("systems", nargs="*", metavar="SYSTEM", help=f"all, where none is given: {' '.join(SYSTEMS)}")
    options = parser.parse_args()
    unknown = set(options.systems) - set(SYSTEMS)
    if unknown:
        parser.error(f"no such system: {' '.join(sorted(unknown))}; there are {' '.join(SYSTEMS)}")
    if why_not():
        print(f"skipped: {why_not()}")
        return 77

    table = ["| system | command | packages that it installs | minutes | tests |", "|---|---|---|---|---|"]
    versions = []
    bad = skipped = 0
    for name in options.systems or SYSTEMS:
        system = SYSTEMS[name]
        rows = []
        try:
            found = run(name, system, rows)
        except Missing as missing:
            skipped += 1
            last = f"| {system.what} | | | | skipped: {missing} |"
        except Failed as failed:
            bad += 1
            last = f"| {system.what} | | | | **failed**: {failed} |"
        else:
            last = None
            versions.append(f"{system.what}: " + ", ".join(map(" ".join, found.items())))
        finally:
            if not options.keep:
                shutil.rmtree(FOLDER / name, ignore_errors=True)
        table += [f"| {what} | `{command}` | {packages} | {seconds / 60:.1f} | {tests} |"
                  for what, command, packages, seconds, tests in rows]
        if last:
            table.append(last)
            print(last, flush=True)
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout.strip()
    text = "\n".join([f"{datetime.date.today()}, commit {commit}", "", *table, "", *versions, ""])
    (FOLDER / "table.md").write_text(text, encoding="utf-8")
    print(f"\n{text}")
    if skipped and not bad and skipped == len(options.systems or SYSTEMS):
        return 77
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
