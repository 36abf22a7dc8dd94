#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the trainer on four ranks and checks what it prints: check_trainer.py MPIEXEC TRAINER train|per_file."""

import os
import re
import subprocess
import sys

RANKS = 4
SKIPPED = 77


def run(mpiexec, trainer, *arguments):
    command = [mpiexec, "--allow-run-as-root", "--oversubscribe", "-np", str(RANKS), trainer, *arguments]
    return subprocess.run(command, check=True, timeout=240, stdout=subprocess.PIPE, text=True).stdout


def check_training(output):
    epochs = re.findall(r"epoch +\d+: (\d+) steps, loss ([\d.]+)", output)
    assert len(epochs) == 10, "ten epochs"
    assert len({steps for steps, _ in epochs}) == 1, "the same steps in every epoch"
    assert float(epochs[-1][1]) < float(epochs[0][1]), "the loss falls"
    accuracy = float(re.search(r"trained: .* accuracy ([\d.]+) on all 1000 digits", output)[1])
    assert accuracy > 0.85, f"accuracy {accuracy}"
    assert len(re.findall(r"rank \d waited for data", output)) == RANKS, "every rank says how long it waited"


def check_per_file(output):
    assert "NOT the same" in output, "the plans differ"
    assert re.search(r"rank( \d)+ would have left after \d+ steps and hung rank( \d)+", output), "somebody would hang"
    assert re.search(r"one plan for all: 10 steps on each of 4 ranks", output), "the plan for all works"


def main():
    mpiexec, trainer, mode = sys.argv[1:]
    data = os.environ.get("DOVETAIL_TEST_DATA", "")
    digits = os.path.join(data, "tfx-mnist", "mnist.tfrecord")
    if not data or not os.path.exists(digits):
        print("skipped: DOVETAIL_TEST_DATA names no folder with tfx-mnist/mnist.tfrecord")
        return SKIPPED
    output = run(mpiexec, trainer, digits, *(["--per-file"] if mode == "per_file" else []))
    print(output)
    if mode == "train":
        check_training(output)
    else:
        check_per_file(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
