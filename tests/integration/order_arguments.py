# SPDX-License-Identifier: Apache-2.0
"""The command line of order.py."""
import argparse

ORDERS, ASSIGNS = ["shuffle", "sequential", "global"], ["even", "files", "runs"]
TAILS, STOPS = ["drop", "pad", "wrap"], ["first", "all", "steps"]
NUMBERS = {"replicate": 1, "lanes": 0, "open-runs": 96, "pool": 256, "seed": 0, "epoch": 0, "mix-steps": 0, "at": 0,
           "rank": 0}
FLAGS = ["sticky", "state", "ids"]


def parse(arguments, description):
    def numbers(text, separator=":"):
        return [int(number) for number in text.split(separator)]

    def shards(text):
        return [(records, run_records) for records, run_records in map(numbers, text.split(","))]

    def weights(text):
        return [(int(step), numbers(shares)) for step, shares in (entry.split("=") for entry in text.split(","))]

    def changes(text):
        return [(steps, world, batch, lanes) for steps, world, batch, lanes in map(numbers, text.split(","))]

    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=shards, required=True, metavar="RECORDS:RUN_RECORDS,...")
    parser.add_argument("--world", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    for name, default in NUMBERS.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    for name, choices in {"order": ORDERS, "assign": ASSIGNS, "tail": TAILS, "stop": STOPS}.items():
        parser.add_argument(f"--{name}", choices=choices, default=choices[0])
    for name in FLAGS:
        parser.add_argument(f"--{name}", type=int, choices=[0, 1], default=0)
    parser.add_argument("--sources", type=lambda text: numbers(text, ","), metavar="SHARDS,...", help="of a mix")
    parser.add_argument("--weights", type=weights, default=[], metavar="STEP=WEIGHT:...,...", help="makes it a mix")
    parser.add_argument("--changes", type=changes, default=[], metavar="STEPS:WORLD:BATCH:LANES,...",
                        help="after so many more steps the world, the batch and the lanes are these")
    parser.add_argument("--fingerprint", type=lambda text: int(text, 16), default=0, metavar="HEX32")
    parser.add_argument("--explain", action="store_true")
    return parser.parse_args(arguments)
