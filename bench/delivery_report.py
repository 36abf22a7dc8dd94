#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints what delivery_bench measured, from its JSON: one table for each workload, then the limits it is judged by."""

import argparse
import json

TITLES = {"w1": "W1, 1 KiB tokens", "w2": "W2, 16 to 400 KiB images", "w3": "W3, 64 B records",
          "w4": "W4, lines of 60 to 2,000 B"}
MODES = {"two_processes": "2 processes, a core each", "one_process": "1 process, 2 cores", "one_core": "1 core"}
# Peers and limits have no threads: two cores are two processes for them.
SAME = {"one_process": "two_processes"}
OURS = ("dovetail", "indexed")
YARDSTICK = "bare_walk"


def gigabytes(value):
    return f"{value / 1e9:.2f}"


def codec(cell):
    return "snappy" if cell["form"] == "snappy" else "stored"


def composed(workload, cell):
    for limit in workload["composed"]:
        if (limit["form"], limit["cache"]) == (codec(cell), cell["cache"]) and \
                limit["mode"] == SAME.get(cell["mode"], cell["mode"]):
            return limit
    return None


def best(workload, cell, wanted):
    """The highest rate of the contestants that `wanted` picks, under the conditions of a cell."""
    rates = [peer["bytes_per_second"]["median"] for peer in workload["cells"]
             if wanted(peer["task"]) and "skipped" not in peer and codec(peer) == codec(cell)
             and peer["cache"] == cell["cache"] and peer["mode"] == SAME.get(cell["mode"], cell["mode"])]
    return max(rates, default=None)


def line(workload, cell):
    name = f"{codec(cell):7}{cell['cache']:5}{cell['task']:16}{MODES[cell['mode']]:25}"
    if "skipped" in cell:
        return f"{name} skipped: {cell['skipped']}"
    rate = cell["bytes_per_second"]
    limit = composed(workload, cell)
    peer = best(workload, cell, lambda task: task not in (*OURS, YARDSTICK))
    bare = best(workload, cell, lambda task: task == YARDSTICK)
    spread = f"{gigabytes(rate['min'])}-{gigabytes(rate['max'])}"
    cpu = cell["cpu_seconds_per_gb"]["median"]
    share = f"{rate['median'] / limit['bytes_per_second']:.0%}" if limit else ""
    cpu_share = f"{limit['cpu_seconds_per_gb'] / cpu:.0%}" if limit and cell["cache"] == "warm" else ""
    of_bare, of_peer = (f"{rate['median'] / other:.2f}" if other and cell["task"] in (*OURS, YARDSTICK) else ""
                        for other in (bare, peer))
    return (f"{name}{gigabytes(rate['median']):>7} {spread:>13}"
            f"{gigabytes(cell['bytes_per_second_with_opening']['median']):>9}"
            f"{cell['rows_per_second']['median'] / 1e6:>9.3f}{cpu:>9.3f}"
            f"{cell['peak_rss_mib']['median']:>8.0f}"
            f"{cell['p999_gap_seconds']['median'] * 1e3:>8.2f}"
            f"{share:>8}{cpu_share:>6}{of_bare:>8}{of_peer:>8}{cell['other_load']['median']:>8.0%}")


def print_rows(workload):
    """The rows of the table in docs/performance.md, of warm files: one core, then two processes."""
    for form, word in (("stored", "stored"), ("snappy", "Snappy")):
        columns = []
        for mode in ("one_core", "two_processes"):
            cells = {cell["task"]: cell for cell in workload["cells"] if "skipped" not in cell
                     and (codec(cell), cell["mode"], cell["cache"]) == (form, mode, "warm")}
            if not {"dovetail", YARDSTICK} <= set(cells):
                continue
            ours, bare = cells["dovetail"], cells[YARDSTICK]
            rate = {task: cell["bytes_per_second"]["median"] for task, cell in cells.items()}
            cpu = " / ".join(f"{cell['cpu_seconds_per_gb']['median']:.3f}" for cell in (ours, bare))
            peers = [gigabytes(rate[task]) if task in rate else "–"
                     for task in ("indexed", "leveldb_log", "tfrecord", "lmdb", "packaged_snappy")]
            columns.append([gigabytes(rate["dovetail"]), gigabytes(rate[YARDSTICK]),
                            f"{rate['dovetail'] / rate[YARDSTICK]:.2f}", cpu, *peers])
        if columns:
            row = [", ".join(cells) if set(cells) != {"–"} else "–" for cells in zip(*columns)]
            row[3] = columns[0][3]  # the processor time of one core
            print("| " + " | ".join([f"{workload['name'].upper()} {word}", *row]) + " |")


def print_workload(workload):
    payload = workload["data"][0]["payload_bytes"]
    sizes = ", ".join(f"{data['form']} {gigabytes(data['file_bytes'])}" for data in workload["data"])
    print(f"\n{TITLES[workload['name']]}: {workload['records']:,} records, {gigabytes(payload)} GB; files: {sizes} GB")
    print(f"{'':53}{'GB/s':>7} {'least-most':>13}{'opening':>9}{'Mrec/s':>9}{'CPU s/GB':>9}{'RSS MiB':>8}"
          f"{'gap ms':>8}{'limit':>8}{'CPU':>6}{'x bare':>8}{'x peer':>8}{'others':>8}")
    for cell in sorted(workload["cells"], key=lambda cell: (codec(cell) != "stored", cell["cache"] != "warm")):
        print(line(workload, cell))
    for limit in workload["composed"]:
        parts = [f"{part['share']:.3f} / {gigabytes(part['bytes_per_second'])} {part['limit']}"
                 for part in limit["parts"]]
        storage = limit.get("storage")
        beside = f", storage {storage['share']:.3f} / {gigabytes(storage['bytes_per_second'])} {storage['limit']}" \
            if storage else ""
        print(f"limit {limit['form']} {limit['cache']}, {MODES[limit['mode']]}: "
              f"{gigabytes(limit['bytes_per_second'])} GB/s = 1 / ({' + '.join(parts)}){beside}")
    print("parts, GB/s:")
    for part in workload["limits"]:
        rate = part.get("bytes_per_second")
        value = f"{gigabytes(rate['median']):>8} {gigabytes(rate['min'])}-{gigabytes(rate['max'])}" if rate \
            else f"skipped: {part['skipped']}"
        cpu = f"{part['cpu_seconds_per_gb']['median']:8.4f} CPU s/GB" if rate else ""
        print(f"  {part['form']:7}{part['task']:22}{MODES[part['mode']]:25}{value:24}{cpu}  {part['what']}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", help="delivery_bench --out ...")
    parser.add_argument("--rows", action="store_true", help="only the rows of the table in docs/performance.md")
    options = parser.parse_args()
    with open(options.json, encoding="utf-8") as file:
        measured = json.load(file)
    if options.rows:
        for workload in measured["workloads"]:
            print_rows(workload)
        return
    settings = measured["settings"]
    machine = measured["machine"]
    print(f"{machine['processor']}, {machine['usable_cpus']} processors, Linux {machine['kernel']}")
    print(f"Payload from the first batch to the last; \"opening\": from before the files are opened. Medians of "
          f"{settings['rounds']} rounds, cold {settings['cold_rounds']}; scale {settings['scale']:g}.")
    print(f"Every consumer {settings['consumer']}. RSS of the larger process; mapped files count. \"gap\": between two "
          f"batches, exceeded by one in a thousand. \"limit\": share of the composed limit, \"CPU\": the same by time "
          f"of processors; \"x bare\": against the bare walk, \"x peer\": against the fastest peer, on as many cores; "
          f"\"others\": share of the processors that other programs took meanwhile.")
    for workload in measured["workloads"]:
        print_workload(workload)


if __name__ == "__main__":
    main()
