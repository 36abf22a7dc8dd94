#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of a build that need a GPU under compute-sanitizer: gpu_sanitize.py BUILD COMPUTE_SANITIZER."""

import json
import os
import subprocess
import sys
import time

ERROR = 9


def tests(build):
    listed = subprocess.run(["ctest", "--test-dir", build, "-L", "^gpu$", "--show-only=json-v1"],
                            stdout=subprocess.PIPE, text=True, check=True)
    for test in json.loads(listed.stdout)["tests"]:
        if os.path.basename(test.get("command", [""])[0]).startswith("gpu_"):
            yield test


def run(sanitizer, test):
    properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
    environment = dict(os.environ)
    environment.update(setting.split("=", 1) for setting in properties.get("ENVIRONMENT", []))
    # Calls that fail are the tests' to judge; some provoke them.
    command = [sanitizer, "--tool", "memcheck", "--report-api-errors", "no", "--error-exitcode", str(ERROR)]
    began = time.monotonic()
    status = subprocess.run(command + test["command"], env=environment,
                            cwd=properties.get("WORKING_DIRECTORY")).returncode
    print(f"{test['name']}: {'errors were found' if status == ERROR else status} in "
          f"{time.monotonic() - began:.1f} s", flush=True)
    return status


def main():
    build, sanitizer = sys.argv[1:]
    statuses = [run(sanitizer, test) for test in tests(build)]
    if not statuses:
        print("there is no test program whose name begins with gpu_")
    return max(statuses, default=1, key=abs)


if __name__ == "__main__":
    sys.exit(main())
