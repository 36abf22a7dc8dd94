#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Does the same with several builds of the command and compares what they write, byte by byte: shards, manifests,
indexes, TFRecords, plans, ids and states. compare_ids.py COMMAND COMMAND..., each of one word or more, as for a shell:

    compare_ids.py build/release/tools/dovetail 'qemu-aarch64 build/aarch64/tools/dovetail'
"""

import itertools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

import support

WORLDS = (1, 3, 4)
ID = "00112233445566778899aabbccddeeff"


class Build:
    """One build of the command, and the folder of what it writes."""

    def __init__(self, command, folder):
        self._command = [os.path.abspath(word) if os.path.exists(word) else word for word in shlex.split(command)]
        self._folder = folder
        os.mkdir(folder)

    def run(self, *arguments, code=support.GOOD):
        """Gives the output. It runs in the folder: names are relative, and so the same for every build."""
        done = subprocess.run([*self._command, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              cwd=self._folder, check=False)
        if done.returncode != code:
            raise AssertionError(f"{done.args}: exit code {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def keep(self, name, *arguments):
        support.write_file(self.path(name), self.run(*arguments))

    def path(self, name):
        return os.path.join(self._folder, name)


def pack(build, records):
    """Files of every kind, from records and from a table."""
    support.write_file(build.path("records.tfrecord"), support.tfrecord(records))
    rows = (f"{i},{i / 7:.9g},word{i % 13}\n" for i in range(600))
    support.write_file(build.path("table.csv"), ("number,share,word\n" + "".join(rows)).encode())
    same_id = ("--dataset-id", ID)
    build.run("convert", "records.tfrecord", "--to", "packed", "--shards", 5, "--run-records", 16, "--block-bytes",
              "1K", *same_id)
    build.run("convert", "table.csv", "--to", "shuffled", "--shuffle", 7, "--split", "train=0.7,val=0.3", "--shards", 3,
              *same_id)
    build.run("convert", "packed", "--to", "sampled", "--sample", 0.3, "--codec", "none", *same_id)
    build.run("convert", "packed", "--to-tfrecord", "back", "--compression", "snappy")
    build.run("index", "records.tfrecord", "--write-dali")
    shard = sorted(name for name in os.listdir(build.path("packed")) if name.startswith("shard-"))[0]
    whole = support.read_file(os.path.join(build.path("packed"), shard))
    support.write_file(build.path("torn.dvt"), whole[:len(whole) * 2 // 3])
    build.run("recover", "torn.dvt", "saved.dvt", *same_id, code=support.DAMAGED)  # as it tells what is lost


def plan(build):
    for order, tail in itertools.product(("shuffle", "sequential", "global"), ("drop", "pad", "wrap")):
        options = ("--world", 4, "--batch", 8, "--tail", tail, "--order", order, "--pool", 64, "--seed", 5)
        build.keep(f"plan-{order}-{tail}.json", "plan", "packed", *options, "--json", "--save",
                   f"saved-{order}-{tail}.json")
    mixed = ("packed", "sampled", "--weights", "0=3:1,20=0.7:0.3", "--stop", "steps", "--mix-steps", 60)
    build.keep("plan-mixed.json", "plan", *mixed, "--world", 2, "--batch", 8, "--json", "--shuffle-report", "--svg",
               "mixed.svg", "--save", "saved-mixed.json")


def read(build):
    def ids(name, *options):
        build.run("read", *options, "--ids", name, "--registration", "off")

    for world, tail, order in itertools.product(WORLDS, ("drop", "pad", "wrap"), ("shuffle", "sequential", "global")):
        ids(f"ids-{world}-{tail}-{order}", "packed", "--rank", world - 1, "--world", world, "--batch", 8,
            "--tail", tail, "--order", order)
    ids("ids-mixed", "packed", "sampled", "--plan", "saved-mixed.json", "--rank", 1, "--world", 2)
    ids("ids-indexed", "records.tfrecord", "--rank", 0, "--world", 2, "--batch", 8)
    for order in ("shuffle", "global"):
        ids(f"ids-begun-{order}", "packed", "--rank", 0, "--world", 3, "--batch", 8, "--order", order, "--steps", 9,
            "--state-out", f"state-{order}")
        # Another world goes on.
        ids(f"ids-resumed-{order}", "packed", "--rank", 1, "--world", 2, "--batch", 4, "--from-state", f"state-{order}",
            "--steps", 20, "--state-out", f"state-after-{order}")


def tree(folder):
    """The bytes of all files, by their paths."""
    files = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            files[os.path.relpath(path, folder)] = support.read_file(path)
    return files


def main():
    commands = sys.argv[1:]
    records = support.make_records(1500, seed=80)
    expected = None
    with tempfile.TemporaryDirectory(prefix="dovetail-ids-") as folder:
        for command in commands:
            build = Build(command, os.path.join(folder, "build"))
            pack(build, records)
            plan(build)
            read(build)
            files = tree(build.path(""))
            shutil.rmtree(build.path(""))
            expected = expected or files
            others = sorted(name for name in files.keys() | expected.keys() if files.get(name) != expected.get(name))
            if others:
                print(f"{command}: not as {commands[0]} writes them: {', '.join(others)}")
                return 1
    print(f"{len(commands)} builds write the same {len(expected)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
