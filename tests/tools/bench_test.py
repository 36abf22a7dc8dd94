#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `dovetail bench` says fits together, and what `dovetail read` takes to find out what limits a job."""

import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))

from support import (DAMAGED, IO, USAGE, CommandTest, flip_byte, main, make_records, read_file, read_ids, run_good,
                     run_json, tfrecord, write_file)

KEYS = ["dataset", "rank", "world", "batch", "threads", "cores", "storage", "storage_note", "cat", "bare_walk",
        "first_pass", "second_pass", "share_of_walk", "trials", "first_limited_by", "limited_by", "verdict"]
PASS_KEYS = ["batches", "rows", "bytes", "seconds", "bytes_per_second", "rows_per_second", "stored_bytes_per_second",
             "reads", "waiting_reads", "shares"]
PARTS = ["storage", "reading", "checks", "decoding", "copying", "columns", "order", "handover"]
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

        self.assertEqual(found["cat"]["bytes"], sum(map(os.path.getsize, self.shards(self.dataset))))
        self.assertGreater(found["cat"]["cached_share"], 0)
        for name in ("first_pass", "second_pass"):
            measured = found[name]
            self.assertEqual(list(measured), PASS_KEYS)
            self.assertEqual(measured["rows"], 10 * measured["batches"])
            self.assertAlmostEqual(measured["bytes_per_second"], measured["bytes"] / measured["seconds"], delta=1)
        for measured in (found["bare_walk"], found["first_pass"], found["second_pass"]):
            self.assertEqual(list(measured["shares"]), PARTS)
            self.assertAlmostEqual(sum(measured["shares"].values()), 1)
        self.assertEqual(found["first_pass"]["bytes"], dataset["raw_bytes"])
        self.assertGreater(found["second_pass"]["bytes"], dataset["raw_bytes"])
        walk = found["bare_walk"]["bytes_per_second"]
        self.assertAlmostEqual(found["share_of_walk"], found["second_pass"]["bytes_per_second"] / walk, places=6)
        shares = found["second_pass"]["shares"]
        self.assertEqual(found["limited_by"], max(shares, key=shares.get))
        self.assertTrue(found["verdict"].endswith("."))

    @staticmethod
    def shards(dataset):
        return [os.path.join(dataset, name) for name in os.listdir(dataset) if name.startswith("shard-")]

    def test_storage_is_measured_in_the_state_that_is_found(self):
        dataset = self.make_dataset(make_records(50000, seed=92), "cold", 1, "--codec", "none")
        for shard in self.shards(dataset):
            with open(shard, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        found = run_json("bench", dataset, "--seconds", 1)
        if found["cat"]["cached_share"] > 0.2:
            self.skipTest("the file system keeps these files in memory")
        # `cat` came first, and has left them as they were.
        self.assertGreater(found["first_pass"]["waiting_reads"], 0)

    def test_threads_that_are_not_used_are_tried(self):
        found = run_json("bench", self.dataset, "--seconds", 1, "--decode-threads", 1)
        expected = [f"--decode-threads {found['cores']}"] if found["cores"] > 1 else []
        tried = [trial["option"] for trial in found["trials"] if trial["option"].startswith("--decode-threads")]
        self.assertEqual(tried, expected)

    def test_tfrecords_in_place_are_measured(self):
        file = write_file(self.path("data.tfrecord"), tfrecord(self.records))
        run_good("index", file)
        found = run_json("bench", file, "--seconds", 1)
        self.assertGreater(found["bare_walk"]["bytes_per_second"], 0)

    def test_the_rest_of_the_epoch_of_a_state_is_measured(self):
        state = self.path("state")
        run_good("read", self.dataset, *READ, "--epoch", 1, "--steps", 150, "--state-out", state)
        found = run_json("bench", self.dataset, "--seconds", 1, "--batch", 10, "--from-state", state)
        for name in ("first_pass", "second_pass"):
            self.assertGreater(found[name]["batches"], 0)
        self.assertLessEqual(found["first_pass"]["batches"], 50)

    # Which part takes most of the time is a matter of the machine: tests of verdicts have reports of their own.
    def test_parts_are_those_of_the_data(self):
        text = [b"%0400d" % i for i in range(20000)]
        for codec, records in (("zstd", text), ("none", text), ("none", [bytes(200000)] * 200)):
            with self.subTest(codec=codec, records=len(records)):
                dataset = self.make_dataset(records, "parts", 4, "--codec", codec, "--overwrite")
                found = run_json("bench", dataset, "--seconds", 1, "--decode-threads", 1)
                self.assertEqual(found["dataset"]["compressed_share"] > 0, codec == "zstd")
                for part in ("reading", "checks"):
                    self.assertGreater(found["bare_walk"]["shares"][part], 0)
                self.assertGreater(found["share_of_walk"], 0)
                if codec == "none" or found["limited_by"] != "decoding":
                    self.assertNotIn("--codec", found["verdict"])

    def test_columns_are_a_part_of_their_own(self):
        rows = "".join(f"{i},{i / 7},{i * 3},{i / 11}\n" for i in range(20000))
        table = write_file(self.path("table.csv"), ("a,b,c,d\n" + rows).encode())
        run_good("convert", table, "--to", self.path("table"), "--schema", "infer", "--codec", "none")
        found = run_json("bench", self.path("table"), "--seconds", 1, "--decode-threads", 1, "--columns", "all")
        self.assertGreater(found["second_pass"]["shares"]["columns"], 0)
        self.assertEqual(found["second_pass"]["shares"]["copying"], 0)

    def test_words_say_what_limits(self):
        text = run_good("bench", self.dataset, "--seconds", 1).decode()
        for words in ("dataset", "cat", "first pass", "second pass", "its time", "of the bare walk",
                      "The largest share"):
            self.assertIn(words, text)

    def test_bad_input_is_refused(self):
        self.assert_fails(IO, "bench", self.path("nothing"), says=("nothing",))
        self.assert_fails(USAGE, "bench", self.dataset, "--seconds", 0, says=("--seconds",))
        self.assert_fails(USAGE, "bench", self.dataset, "--batch", 5000, says=("2000",))
        self.assert_fails(USAGE, "bench", self.dataset, "--rank", 2, "--world", 2, says=("rank",))
        self.assert_fails(USAGE, "bench", self.dataset, "--storage", "tape",
                          says=("tape", "automatic", "pread", "io_uring_direct"))

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
        for word in ("automatic", "pread"):
            self.assertEqual(run_json("read", self.dataset, *READ, "--storage", word)["storage"], "pread")
        self.assertIn("storage  pread", run_good("read", self.dataset, *READ).decode())
        self.assert_fails(USAGE, "read", self.dataset, *READ, "--storage", "tape",
                          says=("tape", "automatic", "pread", "io_uring_direct"))

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
