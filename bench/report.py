#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the medians and the fastest repetitions of what plan_bench or stage_bench measured, from its JSON: times with
their limits, and rates where bytes are counted."""

import argparse
import collections
import json
import re
import statistics

# What docs/performance.md promises, in seconds.
LIMITS = {r"order_shuffle/": 7e-9, r"seek/.*/pool:256$": 5e-3, r"plan/": 50e-3, r"elastic_restart/": 2.0}
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def measured_by_name(path):
    """The repetitions of each benchmark, in seconds of the processor: per record where it walks them, else per call;
    and in bytes per second, where it counts bytes."""
    with open(path, encoding="utf-8") as file:
        runs = [run for run in json.load(file)["benchmarks"] if run["run_type"] == "iteration"]
    runs.sort(key=lambda run: (run["family_index"], run["per_family_instance_index"]))
    seconds, rates = collections.defaultdict(list), collections.defaultdict(list)
    for run in runs:
        seconds[run["run_name"]].append(run.get("per_record") or run["cpu_time"] * UNITS[run["time_unit"]])
        if "bytes_per_second" in run:
            rates[run["run_name"]].append(run["bytes_per_second"])
    return seconds, rates


def readable(seconds):
    unit = next((unit for unit, size in UNITS.items() if seconds < 1000 * size), "s")
    return f"{seconds / UNITS[unit]:.3g} {unit}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", help="plan_bench --benchmark_out=...")
    options = parser.parse_args()
    seconds, rates = measured_by_name(options.json)
    print(f"{'':44} {'median':>10} {'fastest':>10} {'GB/s' if rates else 'limit':>10}")
    for name, repetitions in seconds.items():
        limit = next((seconds for pattern, seconds in LIMITS.items() if re.match(pattern, name)), None)
        last = f"{statistics.median(rates[name]) / 1e9:.2f}" if rates[name] else readable(limit) if limit else ""
        print(f"{name:44} {readable(statistics.median(repetitions)):>10} {readable(min(repetitions)):>10} {last:>10}")


if __name__ == "__main__":
    main()
