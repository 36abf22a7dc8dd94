#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmarks run, and what they write is what the scripts beside them read. Tiny sizes; no time is judged."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

FOLDER = os.path.dirname(os.path.abspath(__file__))
PLAN_BENCH, PLAN_SCALE = sys.argv[1:3]
WORLDS = [1, 16]


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def script(name, *arguments):
    return run(sys.executable, os.path.join(FOLDER, name), *arguments)


class SmokeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_every_plan_benchmark_runs_and_is_reported(self):
        path = os.path.join(self.folder, "plan_bench.json")
        # As few shards as have a step for the largest world.
        run(PLAN_BENCH, "--shards=64", "--benchmark_min_time=0.001", f"--benchmark_out={path}")
        with open(path, encoding="utf-8") as file:
            runs = json.load(file)["benchmarks"]
        self.assertTrue(runs)
        for measured in runs:
            self.assertNotIn("error_occurred", measured, measured)
            self.assertGreater(measured["cpu_time"], 0, measured)
        names = {measured["run_name"].split("/")[0] for measured in runs}
        self.assertLessEqual({"order_shuffle", "order_sequential", "order_global", "order_mix", "id_of_pick", "seek",
                              "plan", "elastic_restart", "state_text", "digest_of_record", "digest_of_epoch"}, names)
        report = script("report.py", path)
        for measured in runs:
            self.assertIn(measured["run_name"], report)

    def test_scale_gives_the_same_rows_as_table_json_and_drawing(self):
        sizes = ["--max-shards=1000", "--shard-records=10000", f"--max-world={WORLDS[-1]}", "--repetitions=2"]
        path = os.path.join(self.folder, "plan_scale.json")
        table = run(PLAN_SCALE, *sizes, "--out", path)
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        for printed in (kept, json.loads(run(PLAN_SCALE, *sizes, "--json"))):
            rows = printed["by_shards"]
            self.assertEqual([(row["shards"], row["records"], row["world"]) for row in rows],
                             [(shards, shards * 10000, world) for shards in (100, 1000) for world in WORLDS])
            self.assertEqual([row["shards"] for row in printed["by_records"]], [1000] * 3)
            for row in rows + printed["by_records"]:
                for what in ("plan", "start", "resume", "change", "eighth_change"):
                    self.assertEqual(set(row[what]), {"median_ms", "max_ms", "kept_bytes", "peak_bytes"})
                    self.assertGreaterEqual(row[what]["max_ms"], row[what]["median_ms"])
                    self.assertGreaterEqual(row[what]["peak_bytes"], row[what]["kept_bytes"])
                # Every plan remembers where each shard begins.
                self.assertGreaterEqual(row["plan"]["kept_bytes"], 8 * row["shards"])
        for row in kept["by_shards"] + kept["by_records"]:
            self.assertIn(f"{row['shards']:9} {row['records']:16} {row['world']:6} |", table)
        drawing = os.path.join(self.folder, "plan-scale.svg")
        script("draw_scale.py", path, drawing)
        curves = xml.parse(drawing).getroot().iter("{http://www.w3.org/2000/svg}polyline")
        self.assertEqual([len(curve.get("points").split()) for curve in curves], [2] * 7)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
