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
PLAN_BENCH, PLAN_SCALE, STAGE_BENCH, DELIVERY_BENCH, EXAMPLE_BENCH = sys.argv[1:6]
COMMAND = sys.argv[6] if len(sys.argv) > 6 else ""
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

    @unittest.skipUnless(COMMAND, "built without the command")
    def test_conversions_are_tried(self):
        found = script("convert_trial.py", "--command", COMMAND, "--folder", self.folder, "--files=50",
                       "--tar-bytes=1000000", "--rounds=1")
        self.assertIn(", 50 records, ", found)
        self.assertIn(", 10 records, ", found)
        for way in ("convert --codec none", "cp", "cp and sync"):
            self.assertRegex(found, rf"(?m)^{way}: \d+\.\d\d GB/s$")
        self.assertEqual(os.listdir(self.folder), [])

    def test_every_kind_of_example_is_decoded_and_reported(self):
        path = os.path.join(self.folder, "example_bench.json")
        run(EXAMPLE_BENCH, "--benchmark_min_time=0.001", f"--benchmark_out={path}")
        with open(path, encoding="utf-8") as file:
            runs = json.load(file)["benchmarks"]
        for measured in runs:
            self.assertNotIn("error_occurred", measured, measured)
            self.assertGreater(measured["per_record"], 0, measured)
        names = {tuple(measured["run_name"].split("/")) for measured in runs}
        for work in ("taxi", "mnist", "tokens", "tokens_ragged", "jpeg"):
            for contestant in ("columns", "protobuf", "protobuf_reused", "protobuf_arena", "protobuf_columns", "copied",
                               "copied_over"):
                self.assertIn((work, contestant), names)
        report = script("report.py", path)
        for measured in runs:
            self.assertIn(measured["run_name"], report)

    def test_every_stage_is_measured_and_reported(self):
        path = os.path.join(self.folder, "stage_bench.json")
        run(STAGE_BENCH, "--benchmark_min_time=0.001", f"--benchmark_out={path}")
        with open(path, encoding="utf-8") as file:
            runs = json.load(file)["benchmarks"]
        for measured in runs:
            self.assertNotIn("error_occurred", measured, measured)
            self.assertGreater(measured["bytes_per_second"], 0, measured)
        names = {measured["run_name"].split("/")[0] for measured in runs}
        self.assertEqual(names, {"crc32c", "block_decode", "packaged_snappy", "gather_copy"})
        report = script("report.py", path)
        for measured in runs:
            self.assertIn(measured["run_name"], report)

    def deliver(self, name, *options):
        """What delivery_bench measures with a thousandth of the records."""
        path = os.path.join(self.folder, name)
        run(DELIVERY_BENCH, "--data", os.path.join(self.folder, "data"), "--scale=0.001", "--bytes=0", "--rounds=1",
            "--cold-rounds=1", "--warmups=0", "--limit-seconds=0.001", "--out", path, *options)
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    def test_delivery_is_measured_beside_peers_and_limits_and_reported(self):
        # The program itself checks that every contestant delivers every record once.
        measured = self.deliver("delivery.json", "--modes=two_processes,one_process,one_core")
        self.assertEqual([workload["name"] for workload in measured["workloads"]], ["w1", "w2", "w3", "w4"])
        report = script("delivery_report.py", os.path.join(self.folder, "delivery.json"))
        two_cores = measured["machine"]["usable_cpus"] >= 2
        for workload in measured["workloads"]:
            cells = [cell for cell in workload["cells"] if "skipped" not in cell]
            self.assertLessEqual({"dovetail", "bare_walk", "indexed", "tfrecord", "leveldb_log"},
                                 {cell["task"] for cell in cells})
            for cell in cells:
                self.assertGreater(cell["bytes_per_second"]["median"], 0, cell)
                rows = [sum(outcome["delivered"]["rows"] for outcome in outcomes) for outcomes in cell["rounds"]]
                self.assertEqual(rows, [workload["records"] * cell["epochs"]] * len(rows))
                self.assertEqual({len(outcomes) for outcomes in cell["rounds"]},
                                 {2 if cell["mode"] == "two_processes" else 1})
            for part in workload["limits"]:
                self.assertTrue("skipped" in part or part["bytes_per_second"]["median"] > 0, part)
            composed = {(limit["form"], limit["mode"]) for limit in workload["composed"] if limit["cache"] == "warm"}
            forms = ["stored"] if workload["name"] == "w2" else ["stored", "snappy"]
            modes = ["one_core", "two_processes"] if two_cores else ["one_core"]
            self.assertEqual(composed, {(form, mode) for form in forms for mode in modes})
            for limit in workload["composed"]:
                # No chain of parts is faster than its slowest one.
                for part in limit["parts"]:
                    self.assertLessEqual(limit["bytes_per_second"] * part["share"], part["bytes_per_second"] * 1.001)
                    self.assertIn(part["limit"], report)

    def test_data_are_used_again_unless_the_recipe_differs(self):
        narrow = ["--workloads=w1", "--codecs=stored", "--caches=warm", "--modes=one_core", "--no-limits"]
        shard = os.path.join(self.folder, "data", "w1-stored", "shard-000003.dvt")
        self.deliver("first.json", *narrow)
        first = os.stat(shard).st_ino, os.stat(shard).st_mtime_ns
        self.deliver("second.json", *narrow)
        self.assertEqual((os.stat(shard).st_ino, os.stat(shard).st_mtime_ns), first)
        measured = self.deliver("third.json", *narrow, "--run-bytes=65536", "--block-bytes=32768")
        self.assertNotEqual((os.stat(shard).st_ino, os.stat(shard).st_mtime_ns), first)
        self.assertEqual((measured["settings"]["run_bytes"], measured["settings"]["block_bytes"]), (65536, 32768))

    def test_delivery_of_other_records_is_an_error(self):
        narrow = ["--workloads=w3", "--codecs=stored", "--caches=warm", "--modes=one_core", "--no-limits", "--no-peers"]
        self.deliver("first.json", *narrow)
        # The sums that the data had when they were made are the last line of the recipe.
        recipe = os.path.join(self.folder, "data", "w3-stored", "recipe.txt")
        with open(recipe, encoding="utf-8") as file:
            lines = file.read().splitlines()
        sums = lines[-1].split()
        sums[-1] = str(int(sums[-1]) + 1)
        with open(recipe, "w", encoding="utf-8") as file:
            file.write("\n".join(lines[:-1] + [" ".join(sums)]) + "\n")
        with self.assertRaisesRegex(AssertionError, "other records than the data have"):
            self.deliver("second.json", *narrow)

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
