#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Converts a folder of many small files and one large tar, and prints time and memory. Then copies the dataset that the
tar became: with `convert --codec none`, with `cp -r`, and with `cp -r` and `sync`, as a conversion ends on the disk.
The data are made for it, 10 GB and as much again by default, and removed."""

import argparse
import io
import json
import os
import random
import shutil
import statistics
import subprocess
import tarfile
import tempfile
import time

FILES_PER_FOLDER = 1000


def make_files(folder, count, seed):
    numbers = random.Random(seed)
    for i in range(count):
        below = os.path.join(folder, f"{i // FILES_PER_FOLDER:05d}")
        if i % FILES_PER_FOLDER == 0:
            os.makedirs(below)
        with open(os.path.join(below, f"{i:08d}"), "wb") as file:
            file.write(numbers.randbytes(numbers.randrange(500, 3500)))


def make_tar(path, size, seed):
    """Images of about 110 KB with their labels, as WebDataset has them."""
    numbers = random.Random(seed)
    noise = numbers.randbytes(1 << 20)
    with tarfile.open(path, "w") as tar:
        for i in range(size // 110_000 + 1):
            begin = numbers.randrange(1 << 18)
            image = noise[begin:begin + numbers.randrange(100_000, 120_000)]
            for extension, data in (("jpg", image), ("cls", str(i % 1000).encode())):
                member = tarfile.TarInfo(f"{i:08d}.{extension}")
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
            tar.members.clear()  # else this process grows, and a child's peak begins with its parent's


def size_of(path):
    if os.path.isfile(path):
        return os.path.getsize(path)
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def measure(command, source, target, *options):
    start = time.monotonic()
    process = subprocess.Popen([command, "convert", source, "--to", target, "--json", *options], stdout=subprocess.PIPE)
    with process.stdout as out:
        text = out.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - start
    if process.returncode != 0:
        raise SystemExit(f"convert {source} failed: {process.returncode}")
    report = json.loads(text)
    return {"bytes": size_of(source), "records": report["records"], "shards": report["shards"],
            "seconds": seconds, "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "peak_mib": usage.ru_maxrss / 1024}


def measure_copies(command, source, target, rounds):
    """Median seconds of each way to copy a dataset, with interleaved rounds; the page cache holds what fits."""

    def copy():
        subprocess.run(["cp", "-r", source, target], check=True)

    def copy_and_sync():
        copy()
        os.sync()

    ways = {"convert --codec none": lambda: measure(command, source, target, "--codec", "none"),
            "cp": copy, "cp and sync": copy_and_sync}
    seconds = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            os.sync()
            start = time.monotonic()
            way()
            seconds[name].append(time.monotonic() - start)
            shutil.rmtree(target)
    return {name: statistics.median(values) for name, values in seconds.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", default="build/release/tools/dovetail")
    parser.add_argument("--folder", help="where the input is made; a temporary folder by default")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--tar-bytes", type=int, default=10_000_000_000)
    parser.add_argument("--rounds", type=int, default=5, help="of copies")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for name, make, size in (("files", make_files, options.files), ("tar", make_tar, options.tar_bytes)):
            source = os.path.join(folder, "data.tar" if name == "tar" else name)
            make(source, size, options.seed)
            found = measure(options.command, source, os.path.join(folder, f"{name}-out"))
            print(f"{name}: {found['bytes'] / 1e9:.2f} GB, {found['records']} records, {found['shards']} shards: "
                  f"{found['seconds']:.1f} s, {found['cpu_seconds']:.1f} s of processors, "
                  f"{found['bytes'] / found['seconds'] / 1e6:.0f} MB/s, peak {found['peak_mib']:.0f} MiB", flush=True)

        copied = os.path.join(folder, "tar-out")
        found = measure_copies(options.command, copied, os.path.join(folder, "copy"), options.rounds)
        for name, seconds in found.items():
            print(f"{name}: {size_of(copied) / seconds / 1e9:.2f} GB/s", flush=True)


if __name__ == "__main__":
    main()
