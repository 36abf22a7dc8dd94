#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dealt rows are those that each rank reads: check_deal.py MPIEXEC MPI_DEAL WRITE_RANDOM."""

import os
import re
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi_job"))
from launch import run, write_random  # noqa: E402

RECORDS = 3001
BATCH = 25
EPOCHS = 2
EQUAL = re.compile(r"check: on (\d+) ranks (\d+) steps, (\d+) rows, (\d+) empty, (\d+) bytes are equal\n")
TURN = re.compile(r"(deal|each): (\d+) steps, (\d+) rows, (\d+) empty, (\d+) bytes in .* digest ([0-9a-f]{32});")


def counts(world, tail):
    """Steps, rows with a record and empty rows that a run must have."""
    rows = world * BATCH
    steps = RECORDS // rows if tail == "drop" else -(-RECORDS // rows)
    filled = min(RECORDS, steps * rows)
    return EPOCHS * steps, EPOCHS * filled, EPOCHS * (steps * rows - filled)


def check(mpiexec, program, dataset, world, tail):
    arguments = (dataset, "--batch", BATCH, "--tail", tail, "--epochs", EPOCHS)
    expected = counts(world, tail)
    assert (expected[2] > 0) == (tail == "pad"), "the last batch is padded"

    output = run(mpiexec, world, program, "check", *arguments)
    print(output, end="")
    ranks, *got, byte_count = map(int, EQUAL.fullmatch(output).groups())
    assert (ranks, *got) == (world, *expected)

    # Two uncounted turns, then deal, each, deal, each; the program holds each digest against the plan.
    output = run(mpiexec, world, program, "compare", *arguments, "--turns", 2)
    print(output, end="")
    turns = TURN.findall(output)
    assert [mode for mode, *_ in turns] == ["deal", "each"] * 2
    assert {tuple(map(int, turn[1:5])) for turn in turns} == {(*expected, byte_count)}
    assert len({turn[5] for turn in turns}) == 1, "one digest"
    assert re.search(r"dealt rows come [\d.]+ times as fast", output)


def main():
    mpiexec, program, writer = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="dovetail-deal-") as folder:
        dataset = os.path.join(folder, "dataset")
        write_random(writer, dataset, RECORDS, 0, 3000)
        for world in (2, 4):
            for tail in ("drop", "pad"):
                check(mpiexec, program, dataset, world, tail)
        # Records that MPI does not send in one go: rank 0 has to keep a step until all have it.
        large = os.path.join(folder, "large")
        write_random(writer, large, 120, 100_000, 400_000)
        assert EQUAL.fullmatch(run(mpiexec, 3, program, "check", large, "--batch", 4, "--epochs", EPOCHS))
        for mode in ("deal", "each"):
            (turn,) = TURN.findall(run(mpiexec, 2, program, mode, dataset, "--batch", BATCH))
            assert turn[0] == mode


if __name__ == "__main__":
    main()
