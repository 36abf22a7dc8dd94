#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The metric has the same bits on any number of ranks: check_evaluation.py MPIEXEC MPI_EVALUATION WRITE_RANDOM."""

import os
import re
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi_job"))
from launch import run, write_random  # noqa: E402

WORLDS = (1, 3, 4)
LINE = re.compile(r"(\d+) ranks, batches of (\d+): (\d+) records, (\d+) empty rows, (\d+) batches without a record\n"
                  r"  mean log-likelihood (\S+), of a plain loop (\S+), of partial sums (\S+)\n")


def check(mpiexec, evaluation, dataset, records, batches):
    """Runs all worlds and batches; returns how many batches had no record, and the different partial sums."""
    bits = set()
    partial_sums = set()
    all_empty = 0
    for world in WORLDS:
        output = run(mpiexec, world, evaluation, dataset, *batches)
        print(output, end="")
        found = LINE.findall(output)
        assert [(int(ranks), int(batch)) for ranks, batch, *_ in found] == [(world, batch) for batch in batches]
        for _, batch, seen, empty, empty_batches, metric, plain, partial in found:
            rows = world * int(batch)
            steps = -(-records // rows)
            assert int(seen) == records, "every record once"
            assert int(empty) == steps * rows - records > 0, "the last batches are padded"
            bits |= {metric, plain}
            partial_sums.add(partial)
            all_empty += int(empty_batches)
    assert len(bits) == 1, f"one metric: {bits}"
    return all_empty, partial_sums


def main():
    mpiexec, evaluation, writer = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="dovetail-evaluation-") as folder:
        many = os.path.join(folder, "many")
        write_random(writer, many, 1010, 0, 600)
        all_empty, partial_sums = check(mpiexec, evaluation, many, 1010, (7, 400, 1100))
        # 1010 = 12 * 7 * 12 + 2: with batches of 7, the last step of 3 and of 4 ranks has two records.
        assert all_empty == 3, "1 of 3 ranks and 2 of 4 end with a batch of padding"
        assert len(partial_sums) > 1, "added up rank by rank, the bits depend on the world"

        few = os.path.join(folder, "few")
        write_random(writer, few, 2, 100, 200)
        all_empty, _ = check(mpiexec, evaluation, few, 2, (3,))
        assert all_empty == 3, "1 of 3 ranks and 2 of 4 have no record at all"


if __name__ == "__main__":
    main()
