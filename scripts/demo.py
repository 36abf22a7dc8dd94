#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs real files, plans an epoch, reads it with one process per rank, and checks what came out.

Everything in the verdict is counted here from the lines that the readers wrote, not taken from their word.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

FIRST, REPEATED = 1, 2


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", required=True, help="the dovetail program")
    parser.add_argument("--data", required=True, nargs="+", help="a folder of files, or TFRecord files")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--world", type=int, default=4)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--tail", choices=["drop", "pad", "wrap"], default="drop")
    parser.add_argument("--keep", default="", help="folder for the dataset; a temporary one where not given")
    return parser.parse_args()


def run_json(command):
    """Runs the command and returns its JSON; its own message is enough where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(done.returncode)
    return json.loads(done.stdout)


def convert(options, folder):
    command = [options.command, "convert", *options.data, "--to", folder, "--shards", str(options.shards)]
    start = time.monotonic()
    summary = run_json([*command, "--json"])
    seconds = time.monotonic() - start
    print(f"packed {' '.join(options.data)}: {summary['records']} records, {summary['raw_bytes'] / 1e6:.1f} MB "
          f"into {summary['shards']} shards of {summary['stored_bytes'] / 1e6:.1f} MB in {seconds:.1f} s\n")


def read_all_ranks(options, folder, ids_folder):
    """One reader process per rank, all at once, as a launcher would start them."""
    readers = []
    for rank in range(options.world):
        command = [options.command, "read", folder, "--rank", str(rank), "--world", str(options.world), "--batch",
                   str(options.batch), "--tail", options.tail, "--json", "--ids", f"{ids_folder}/ids-{rank}"]
        readers.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    outputs = [reader.communicate() for reader in readers]
    for reader, (_, errors) in zip(readers, outputs):
        if reader.returncode != 0:
            sys.stderr.buffer.write(errors)
            sys.exit(reader.returncode)
    return [json.loads(output) for output, _ in outputs]


def print_table(plan, reads):
    heading = ["rank", "shards", "steps", "rows", "valid", "bytes", "MB/s", "digest"]
    rows = [heading]
    for read, share in zip(reads, plan["ranks"]):
        rate = read["bytes"] / 1e6 / max(read["seconds"], 1e-9)
        rows.append([read["rank"], share["shards"], read["steps"], read["rows"], read["valid"], read["bytes"],
                     f"{rate:.0f}", read["digest"]])
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(heading))]
    for row in rows:
        print("  ".join(str(value).rjust(width) for value, width in zip(row, widths)))
    stats = reads[0]["stats"]
    memory = "registered memory" if stats["registered"] else "plain pages: " + stats["registration_note"]
    print(f"batches in {memory}\n")


class Delivered:
    """What all ranks got, counted per record from their ids files."""

    def __init__(self, shard_records):
        self.first = [bytearray(records) for records in shard_records]
        self.repeated = 0
        self.empty = 0
        self.steps = []
        self.problems = []

    def add(self, path, batch):
        rows_of_step = {}
        with open(path, encoding="ascii") as lines:
            for line in lines:
                step, _, shard, record, status = map(int, line.split())
                rows_of_step[step] = rows_of_step.get(step, 0) + 1
                self.add_row(shard, record, status)
        self.steps.append(len(rows_of_step))
        if sorted(rows_of_step) != list(range(len(rows_of_step))):
            self.problems.append(f"{path}: a step is missing")
        if any(rows != batch for rows in rows_of_step.values()):
            self.problems.append(f"{path}: a batch has not {batch} rows")

    def add_row(self, shard, record, status):
        if shard < 0:
            self.empty += 1
        elif status == REPEATED:
            self.repeated += 1
        elif status != FIRST:
            self.problems.append(f"shard {shard}, record {record}: status {status}")
        elif self.first[shard][record]:
            self.problems.append(f"shard {shard}, record {record}: delivered twice")
        else:
            self.first[shard][record] = 1

    def missing(self):
        return sum(shard.count(0) for shard in self.first)


def check(options, plan, reads, delivered):
    problems = list(delivered.problems)
    steps = {read["steps"] for read in reads} | set(delivered.steps)
    if steps != {plan["steps"]}:
        problems.append(f"steps differ: {sorted(steps)}, planned {plan['steps']}")
    digest = sum(int(read["digest"], 16) for read in reads) % 2**128
    if digest != int(plan["digest"], 16):
        problems.append(f"digests add up to {digest:032x}, planned {plan['digest']}")
    if delivered.missing() != plan["dropped"]:
        problems.append(f"{delivered.missing()} records were not delivered, planned {plan['dropped']}")
    if delivered.empty + delivered.repeated != plan["padded"]:
        problems.append(f"{delivered.empty + delivered.repeated} rows have no new record, planned {plan['padded']}")
    if any(read["plan_id"] != plan["plan_id"] for read in reads):
        problems.append("the ranks did not plan the same")
    if problems:
        for problem in problems[:20]:
            print(f"WRONG: {problem}")
        return 1
    delivered_records = plan["records"] - plan["dropped"]
    fate = {"drop": f"{plan['dropped']} left out as planned",
            "pad": f"{plan['padded']} rows empty as planned",
            "wrap": f"{plan['padded']} rows repeated as planned"}[options.tail]
    print(f"GOOD: {plan['steps']} steps on each of {options.world} ranks; {delivered_records} of {plan['records']} "
          f"records delivered exactly once, {fate}; digests add up to the plan's.")
    return 0


def demo(options, folder, ids_folder):
    convert(options, folder)
    planning = [options.command, "plan", folder, "--world", str(options.world), "--batch", str(options.batch),
                "--tail", options.tail]
    print("$ dovetail plan " + " ".join(planning[2:]), flush=True)
    subprocess.run(planning, check=True)
    plan = run_json([*planning, "--json"])
    print(f"\nreading with {options.world} processes at once", flush=True)
    reads = read_all_ranks(options, folder, ids_folder)
    print_table(plan, reads)
    shards = run_json([options.command, "inspect", folder, "--json"])["shards"]
    delivered = Delivered([shard["records"] for shard in shards])
    for rank in range(options.world):
        delivered.add(f"{ids_folder}/ids-{rank}", options.batch)
    return check(options, plan, reads, delivered)


def main():
    options = arguments()
    options.command = os.path.abspath(options.command)
    with tempfile.TemporaryDirectory(prefix="dovetail-demo-") as scratch:
        folder = options.keep or f"{scratch}/dataset"
        result = demo(options, folder, scratch)
    if options.keep:
        print(f"The dataset is in {options.keep}.")
    return result


if __name__ == "__main__":
    sys.exit(main())
