#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds three accounts of the order against each other: the library (print_ids), the independent program (order.py)
and the page that specifies it (order.md).

Usage: check_order.py PRINT_IDS ORDER_PY ORDER_MD
"""
import importlib.util
import pathlib
import re
import shlex
import subprocess
import sys

OPTION_SETS = [
    "--shards 5:2,4:2,3:2 --world 2 --batch 2 --open-runs 2 --pool 3 --seed 7 --epoch 1",
    "--shards 100:10 --world 1 --batch 7",
    "--shards 40:7,0:7,60:7,13:7,1:7 --world 4 --batch 3 --tail pad --open-runs 3 --pool 8",
    "--shards 40:7,0:7,60:7,13:7,1:7 --world 3 --batch 5 --tail wrap --open-runs 3 --pool 8 --seed 99",
    "--shards 33:5,21:4,50:9,8:100 --world 2 --batch 4 --lanes 4 --open-runs 4 --pool 16 --epoch 12",
    "--shards 33:5,21:4,50:9,8:100 --world 4 --batch 2 --replicate 2 --tail pad --pool 5",
    "--shards 9:3,9:3,9:3,9:3,9:3,9:3,9:3 --world 3 --batch 2 --assign files --tail drop --open-runs 2 --pool 4",
    "--shards 9:3,2:3,30:3,9:3,4:3 --world 2 --batch 4 --assign files --tail wrap --pool 6 --epoch 3",
    "--shards 9:3,2:3,30:3,9:3,4:3 --world 3 --batch 4 --assign files --tail pad --open-runs 1 --pool 1",
    "--shards 17:4,23:4,5:4 --world 3 --batch 4 --order sequential --tail pad",
    "--shards 17:4,23:4,5:4 --world 2 --batch 3 --order sequential --assign files --tail wrap",
    "--shards 300:16,280:16,310:16 --world 2 --batch 32 --seed 18446744073709551615 --epoch 4294967295",
    "--shards 3:1 --world 2 --batch 4 --tail wrap",
    "--shards 1:1 --world 3 --batch 2 --tail pad",
    "--shards 700:1,650:1 --world 1 --batch 450 --open-runs 400 --pool 300 --seed 5",
]


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.stdout if done.returncode == 0 else f"failed: {done.stderr}"


def expect(what, got, wanted):
    if got == wanted:
        return 0
    for number, (a, b) in enumerate(zip(got.splitlines() + [""], wanted.splitlines() + [""]), 1):
        if a != b:
            print(f"FAILED {what}\n  line {number}: {a!r}\n  wanted:  {b!r}")
            return 1
    print(f"FAILED {what}: one output ends early")
    return 1


def check_option_sets(print_ids, order_py):
    failures = 0
    for options in OPTION_SETS:
        arguments = shlex.split(options)
        for rank in range(int(arguments[arguments.index("--world") + 1])):
            both = [*arguments, "--rank", str(rank)]
            wanted = run([sys.executable, order_py, *both])
            if wanted.startswith("failed"):
                failures += expect(f"order.py {options}", wanted, "rows")
            failures += expect(f"rank {rank} of {options}", run([print_ids, *both]), wanted)
    return failures


def check_examples(print_ids, order_py, page):
    """Runs every `$ order.py ...` of the page."""
    failures = 0
    examples = re.findall(r"```console\n\$ order\.py (.*?)\n(.*?)```", page, re.S)
    if not examples:
        return expect("examples in the page", "none", "some")
    for options, output in examples:
        arguments = shlex.split(options.replace("\\\n", " "))
        failures += expect(f"order.py {options}", run([sys.executable, order_py, *arguments]), output)
        if "--explain" not in arguments:
            failures += expect(f"print_ids {options}", run([print_ids, *arguments]), output)
    return failures


def vector_value(order, name, arguments):
    if name == "philox":
        numbers = [int(text, 16) for text in arguments]
        return " ".join(f"{out:08x}" for out in order.philox(numbers[:4], numbers[4:]))
    numbers = [int(text) for text in arguments]
    if name == "word":
        return f"{order.word(*numbers):016x}"
    if name == "permutation":
        return " ".join(map(str, order.Permutation(*numbers).all()))
    if name == "position":
        return str(order.Permutation(*numbers[:-1])(numbers[-1]))
    if name == "digest":
        return f"{order.record_digest(*numbers):032x}"
    if name == "digests":
        return f"{sum(map(order.record_digest, range(*numbers))) & order.MASK128:032x}"
    if name == "hash":
        return f"{order.hash_words(numbers):032x}"
    return "an unknown kind of vector"


def check_vectors(order_py, page):
    spec = importlib.util.spec_from_file_location("order", order_py)
    order = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(order)
    failures = 0
    vectors = re.search(r"```vectors\n(.*?)```", page, re.S)
    for line in vectors[1].splitlines():
        call, value = line.split(" = ")
        name, *arguments = call.split()
        failures += expect(f"vector {call}", vector_value(order, name, arguments), value)
    return failures


def main(print_ids, order_py, order_md):
    sys.dont_write_bytecode = True
    page = pathlib.Path(order_md).read_text(encoding="utf-8")
    failures = check_option_sets(print_ids, order_py)
    failures += check_examples(print_ids, order_py, page)
    failures += check_vectors(order_py, page)
    print("all agree" if failures == 0 else f"{failures} disagreements")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
