#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""coverage_report.py JSON: sums up by folder what gcovr counted; scripts/coverage.sh calls it.

--least PERCENT FOLDER...  fails where fewer of the lines of a folder, and of those in it, ran
--uncovered FOLDER         lists the lines that never ran instead
"""

import argparse
import json
import os
import sys


def counted(file):
    return [line for line in file["lines"] if not line["gcovr/noncode"]]


def share(ran, of):
    return f"{ran:6d} of {of:6d}  {100 * ran / of if of else 100:5.1f} %"


def ranges(numbers):
    """1-3, 7: of sorted numbers."""
    found = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(begin) if begin == end else f"{begin}-{end}" for begin, end in found)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("json")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT")
    parser.add_argument("--uncovered", metavar="FOLDER")
    parser.add_argument("folders", nargs="*")
    arguments = parser.parse_intermixed_args()
    with open(arguments.json, encoding="utf-8") as text:
        files = json.load(text)["files"]
    if arguments.uncovered is not None:
        for file in files:
            missing = [line["line_number"] for line in counted(file) if line["count"] == 0]
            if missing and file["file"].startswith(arguments.uncovered):
                print(f"{file['file']}: {ranges(missing)}")
        return

    folders = {}
    for file in files:
        lines = counted(file)
        branches = [branch for line in lines for branch in line["branches"]]
        sums = folders.setdefault(os.path.dirname(file["file"]), [0, 0, 0, 0])
        for i, count in enumerate((sum(line["count"] > 0 for line in lines), len(lines),
                                   sum(branch["count"] > 0 for branch in branches), len(branches))):
            sums[i] += count
    print(f"{'folder':18}{'lines':>14}{'':12}{'branches':>14}")
    for folder, (lines_ran, lines, branches_ran, branches) in sorted(folders.items()):
        print(f"{folder:18}{share(lines_ran, lines)}  {share(branches_ran, branches)}")
    failed = False
    for folder in arguments.folders:
        below = [sums for name, sums in folders.items() if name == folder or name.startswith(folder + "/")]
        ran, of = (sum(sums[i] for sums in below) for i in range(2))
        if of == 0 or 100 * ran < arguments.least * of:
            print(f"coverage: fewer than {arguments.least:g} % of the lines of {folder}/ ran")
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
