#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `dovetail bench` says fits together, and what `dovetail read` takes to find out what limits a job."""

import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from support import (DAMAGED, IO, USAGE, CommandTest, flip_byte, main, make_records, read_file, read_ids, run_good,
                     run_json)

KEYS = ["dataset", "rank", "world", "batch", "threads", "cores", "storage", "storage_note", "limits", "first_pass",
        "second_pass", "share_of_limit", "limited_by", "verdict"]
PASS_KEYS = ["steps", "rounds", "batches", "rows", "bytes", "seconds", "bytes_per_second", "rows_per_second", "reads",
             "waiting_reads", "waiting_for_storage", "time_planning", "time_reading", "time_decoding", "time_gathering"]
LIMITS = ["page_cache", "checksum", "decoding", "row_copy", "one_thread", "all_threads"]
BOTTLENECKS = ("storage", "reading", "decoding", "gathering", "planning")
READ = ("--rank", 0, "--world", 1, "--batch", 10)


class BenchTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.records = make_records(2000, seed=90)
        self.dataset = self.make_dataset(self.records)

    def test_fields_are_there_and_fit_together(self):
        found = run_json("bench", self.dataset, "--seconds", 1, "--batch", 10, "--decode-threads", 1)
        self.assertEqual(list(found), KEYS)
        dataset = found["dataset"]
        self.assertEqual((dataset["records"], dataset["shards"], dataset["raw_bytes"]),
                         (2000, 4, sum(map(len, self.records))))
        self.assertEqual(dataset["mean_record_bytes"], sum(map(len, self.records)) // 2000)
        self.assertGreater(dataset["sampled_blocks"], 0)
        self.assertTrue(0 < dataset["compressed_share"] <= 1)
        self.assertEqual((found["rank"], found["world"], found["batch"], found["threads"]), (0, 1, 10, 1))

        limits = found["limits"]
        self.assertEqual(list(limits), LIMITS)
        for name in LIMITS:
            self.assertGreater(limits[name], 0)
        self.assertEqual(limits["one_thread"], limits["all_threads"])
        self.assertLess(limits["one_thread"], min(limits["decoding"], limits["row_copy"]))

        for name in ("first_pass", "second_pass"):
            measured = found[name]
            self.assertEqual(list(measured), PASS_KEYS)
            self.assertEqual(measured["rows"], 10 * measured["batches"])
            self.assertAlmostEqual(measured["bytes_per_second"], measured["bytes"] / measured["seconds"], delta=1)
        self.assertEqual(found["first_pass"]["rounds"], 1)
        self.assertEqual(found["first_pass"]["bytes"], dataset["raw_bytes"])
        self.assertGreater(found["second_pass"]["rounds"], 1)
        self.assertAlmostEqual(found["share_of_limit"],
                               found["second_pass"]["bytes_per_second"] / limits["all_threads"], places=6)
        self.assertIn(found["limited_by"], BOTTLENECKS)
        self.assertTrue(found["verdict"].endswith("."))

    def test_nothing_is_decoded_where_nothing_is_compressed(self):
        plain = self.make_dataset(self.records, "plain", 2, "--codec", "none")
        found = run_json("bench", plain, "--seconds", 1)
        self.assertEqual(found["dataset"]["compressed_share"], 0)
        self.assertIsNone(found["limits"]["decoding"])

    def test_words_say_what_limits(self):
        begin = time.monotonic()
        text = run_good("bench", self.dataset, "--seconds", 1).decode()
        self.assertLess(time.monotonic() - begin, 10)
        for words in ("dataset", "page cache", "together", "first pass", "second pass", "of the limit", "limits"):
            self.assertIn(words, text)

    def test_bad_input_is_refused(self):
        self.assert_fails(IO, "bench", self.path("nothing"), says=("nothing",))
        self.assert_fails(USAGE, "bench", self.dataset, "--seconds", 0, says=("--seconds",))
        self.assert_fails(USAGE, "bench", self.dataset, "--batch", 5000, says=("2000",))
        self.assert_fails(USAGE, "bench", self.dataset, "--rank", 2, "--world", 2, says=("rank",))
        self.assert_fails(USAGE, "bench", self.dataset, "--storage", "tape",
                          says=("tape", "auto", "pread", "io_uring", "io_uring_direct"))

    def test_damage_is_named(self):
        shard = self.path("dataset", "shard-000001.dvt")
        block = next(b for b in run_json("inspect", self.dataset, "--blocks")["block_list"] if b["shard"] == 1)
        flip_byte(shard, block["offset"] + 70)
        self.assert_fails(DAMAGED, "bench", self.dataset, "--seconds", 1, says=("shard-000001.dvt",))


class ReadTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.dataset = self.make_dataset(make_records(500, seed=91))

    def test_storage_is_taken_and_told(self):
        for word in ("auto", "automatic", "pread"):
            self.assertEqual(run_json("read", self.dataset, *READ, "--storage", word)["storage"], "pread")
        self.assertIn("storage  pread", run_good("read", self.dataset, *READ).decode())
        self.assert_fails(USAGE, "read", self.dataset, *READ, "--storage", "tape",
                          says=("tape", "auto", "pread", "io_uring", "io_uring_direct"))

    def test_timeline_is_a_trace_of_every_batch(self):
        run_good("read", self.dataset, *READ, "--timeline", self.path("trace.json"))
        trace = json.loads(read_file(self.path("trace.json")))
        handed_over = [event["args"]["step"] for event in trace["traceEvents"] if event["name"] == "batch"]
        self.assertEqual(handed_over, list(range(50)))
        self.assert_fails(IO, "read", self.dataset, *READ, "--timeline", self.path("none", "trace.json"),
                          says=("trace.json",))

    def test_replay_repeats_the_first_steps(self):
        ids = self.path("ids")
        summary = run_json("read", self.dataset, *READ, "--replay", 3, "--steps", 70, "--ids", ids)
        self.assertEqual((summary["replay"], summary["steps"], summary["rows"]), (3, 70, 700))
        rows = read_ids(ids)
        self.assertEqual(rows, (rows[:30] * 24)[:700])
        self.assertEqual([row[0] for row in rows[:30:10]], [0, 1, 2])
        self.assert_fails(USAGE, "read", self.dataset, *READ, "--replay", 51, says=("50 steps left",))
        self.assert_fails(USAGE, "read", self.dataset, *READ, "--replay", 3, "--state-out", self.path("state"),
                          says=("--state-out",))


if __name__ == "__main__":
    main()
