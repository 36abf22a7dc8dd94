#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts rely on: subcommands, JSON keys, formats of records. And that people get the same in words."""

import json
import os
import re
import shlex

from payloads import example
from support import GOOD, CommandTest, main, make_records, run_good, run_json, tfrecord, write_file

PLAN_KEYS = ["plan_id", "order_id", "dataset", "plan_checksum", "records", "shards", "world", "batch", "lanes",
             "steps", "rows", "dropped", "padded", "digest", "ranks", "notes"]
READ_KEYS = {"plan_id", "rank", "world", "batch", "steps", "rows", "valid", "bytes", "seconds", "digest", "registered",
             "epoch", "replicate", "stats"}
INSPECT_KEYS = {"format", "finished", "records", "blocks", "raw_bytes", "stored_bytes", "max_record_bytes", "codecs",
                "metadata"}


class CommandLineTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.records = make_records(100, seed=50)
        self.dataset = self.make_dataset(self.records)

    def test_help_and_version(self):
        subcommands = ("convert", "inspect", "cat", "verify", "plan", "read", "show")
        text = run_good("--help").decode()
        for name in subcommands:
            self.assertIn(name, text)
            self.assertIn("--json", run_good(name, "--help").decode())
        version = run_good("--version").decode().splitlines()
        self.assertRegex(version[0], r"^dovetail \d+\.\d+\.\d+$")
        names = ("compiler", "build type", "sanitizers", "CUDA", "io_uring", "CRC32C here")
        for line, name in zip(version[1:], names, strict=True):
            self.assertRegex(line, rf"^{name}  +\S")

    def test_plan_has_exactly_the_promised_keys(self):
        plan = run_json("plan", self.dataset, "--world", "3", "--batch", "4", "--tail", "pad")
        self.assertEqual(list(plan), PLAN_KEYS)
        for key, digits in (("plan_id", 32), ("order_id", 32), ("dataset", 32), ("plan_checksum", 16), ("digest", 32)):
            self.assertRegex(plan[key], f"^[0-9a-f]{{{digits}}}$")
        self.assertEqual([list(rank) for rank in plan["ranks"]], [["rank", "records", "shards", "bytes_estimate"]] * 3)
        self.assertEqual([rank["rank"] for rank in plan["ranks"]], [0, 1, 2])
        self.assertEqual(sum(rank["records"] for rank in plan["ranks"]), 100)
        counts = [plan[key] for key in ("records", "shards", "steps", "rows", "dropped", "padded")]
        self.assertEqual(counts, [100, 4, 9, 108, 0, 8])

    def test_plan_in_words_says_the_same(self):
        plan = run_json("plan", self.dataset, "--world", "3", "--batch", "4")
        text = run_good("plan", self.dataset, "--world", "3", "--batch", "4").decode()
        for value in (plan["plan_id"], plan["plan_checksum"], plan["digest"], f"dropped records {plan['dropped']}"):
            self.assertIn(value, text)

    def test_read_has_the_promised_keys(self):
        summary = run_json("read", self.dataset, "--rank", "0", "--world", "1", "--batch", "10")
        self.assertLessEqual(READ_KEYS, set(summary))
        self.assertEqual((summary["steps"], summary["rows"], summary["valid"]), (10, 100, 100))
        self.assertEqual(summary["bytes"], sum(map(len, self.records)))
        self.assertRegex(summary["digest"], "^[0-9a-f]{32}$")
        self.assertIn(summary["registered"], (True, False))
        self.assertEqual(summary["stats"]["rows"], 100)

    def test_registration_can_be_switched_off(self):
        summary = run_json("read", self.dataset, "--rank", "0", "--world", "1", "--batch", "9", "--registration", "off")
        self.assertFalse(summary["registered"])

    def test_inspect_has_the_promised_keys(self):
        found = run_json("inspect", self.dataset)
        self.assertLessEqual(INSPECT_KEYS, set(found))
        self.assertEqual((found["format"], found["finished"], found["records"]), ("dovetail", True, 100))
        self.assertEqual(found["raw_bytes"], sum(map(len, self.records)))
        self.assertEqual(found["max_record_bytes"], max(map(len, self.records)))
        self.assertEqual(sum(found["codecs"].values()), found["blocks"])
        self.assertEqual([shard["name"] for shard in found["shards"]], [f"shard-{i:06}.dvt" for i in range(4)])

    def test_inspect_lists_blocks_end_to_end(self):
        found = run_json("inspect", self.dataset, "--blocks")
        self.assertEqual(len(found["block_list"]), found["blocks"])
        position = {}
        for block in found["block_list"]:
            self.assertEqual(block["first_record"], position.get(block["shard"], 0))
            position[block["shard"]] = block["first_record"] + block["records"]
        self.assertEqual([position[i] for i in range(4)], [shard["records"] for shard in found["shards"]])

    def test_metadata_is_kept(self):
        source = write_file(self.path("source"), tfrecord([b"x"]))
        run_good("convert", source, "--to", self.path("target"), "--record-type", "letters", "--meta", "licence=free",
                 "--meta", "note=a=b", "--dataset-id", "00112233445566778899aabbccddeeff",
                 "--schema", "image:u8[28,28,1],label:i64")
        found = run_json("inspect", self.path("target"))
        self.assertEqual(found["metadata"], {"licence": "free", "note": "a=b"})
        self.assertEqual((found["record_type"], found["dataset_id"]), ("letters", "00112233445566778899aabbccddeeff"))
        self.assertEqual(found["schema"], "image:u8[28,28,1], label:i64")
        self.assertIn("image:u8[28,28,1], label:i64", run_good("inspect", self.path("target")).decode())
        self.assertNotIn("schema", run_json("inspect", self.dataset))

    def test_one_record_can_be_looked_at(self):
        for i in (0, 37, 99):
            record = run_json("inspect", self.dataset, "--record", i)
            self.assertEqual((record["id"], record["bytes"]), (i, len(self.records[i])))
            content = bytes.fromhex(record["hex"]) if "hex" in record else record["text"].encode()
            self.assertEqual(content, self.records[i])
        self.assertIn("|", run_good("inspect", self.dataset, "--record", "37").decode())

    def test_a_record_that_is_looked_at_names_its_payload(self):
        dataset = self.make_dataset([example({"label": [3], "x": [b"y" * 600]}), b"text"], name="a b")
        shown = run_good("inspect", dataset, "--record", 0).decode()
        self.assertRegex(shown, r"\npayload +tf.train.Example\n")
        advised = re.search(r"\n\.\.\. \d+ more bytes; `dovetail (cat .+)` writes them all", shown).group(1)
        self.assertIn(b"y" * 600, run_good(*shlex.split(advised), "--format", "raw"))
        self.assertRegex(run_good("inspect", dataset, "--record", 1).decode(), r"\npayload +text\n")

    def test_formats_of_records(self):
        self.assertEqual(run_good("cat", self.dataset, "--format", "raw"), b"".join(self.records))
        self.assertEqual(run_good("cat", self.dataset, "--format", "text"), b"".join(r + b"\n" for r in self.records))
        self.assertEqual(run_good("cat", self.dataset, "--format", "hex").decode().split("\n")[:-1],
                         [record.hex() for record in self.records])
        self.assertEqual(run_good("cat", self.dataset, "--format", "tfrecord"), tfrecord(self.records))
        lines = run_good("cat", self.dataset, "--json").decode().splitlines()
        self.assertEqual([json.loads(line)["id"] for line in lines], list(range(100)))

    def test_empty_records_in_long_blocks_take_little_memory(self):
        lines = write_file(self.path("lines"), b"\n" * 1_100_000)
        run_good("convert", lines, "--from", "lines", "--to", self.path("empty"))
        child = os.spawnvp(os.P_NOWAIT, "sh", ["sh", "-c", 'exec "$DOVETAIL_COMMAND" cat "$0" --json > "$1"',
                                               self.path("empty"), self.path("out")])
        _, status, usage = os.wait4(child, 0)
        self.assertEqual(status, GOOD)
        if re.search(rb"sanitizers +none", run_good("--version")):  # others take memory themselves
            self.assertLess(usage.ru_maxrss, (32 << 10) + (8 << 10) * os.cpu_count())
        with open(self.path("out"), "rb") as out:
            ids = [json.loads(line)["id"] for line in out]
        self.assertEqual(ids, list(range(1_100_000)))

    def test_records_as_json(self):
        records = [example({"label": [3, -4], "w": [0.5, 1e30], "name": ["naïve".encode(), b"\xff\x00"], "none": []}),
                   b'{"nested": [1, {"a": null}],\n "x": "y"}', b"text", b"", b"\xff", b"7"]
        dataset = self.make_dataset(records, name="typed")
        lines = run_good("cat", dataset, "--format", "json").decode().splitlines()
        self.assertEqual([json.loads(line) for line in lines], [
            {"feature": {"label": [3, -4], "name": ["naïve", {"base64": "/wA="}], "none": None, "w": [0.5, 1e30]}},
            {"nested": [1, {"a": None}], "x": "y"}, "text", "", {"base64": "/w=="}, "7"])
        self.assertEqual(run_good("cat", dataset + ".tfrecord", "--format", "json").decode().splitlines(), lines)

    def test_ranges_are_half_open_and_cross_shards(self):
        for text, part in (("0:0", slice(0, 0)), ("3:5", slice(3, 5)), ("20:80", slice(20, 80)), (":7", slice(7)),
                           ("7", slice(7, 8)), ("95:", slice(95, None)), (":", slice(None)),
                           ("90:1000", slice(90, None)), ("100:", slice(0, 0))):
            with self.subTest(range=text):
                self.assertEqual(run_good("cat", self.dataset, "--range", text, "--format", "tfrecord"),
                                 tfrecord(self.records[part]))
                self.assertEqual(run_good("cat", self.dataset + ".tfrecord", "--range", text, "--format", "tfrecord"),
                                 tfrecord(self.records[part]))

    def test_a_shard_a_manifest_and_a_glob_are_paths_too(self):
        shards = [run_json("inspect", f"{self.dataset}/shard-00000{i}.dvt")["records"] for i in range(4)]
        self.assertEqual(sum(shards), 100)
        for path in (f"{self.dataset}/manifest.dvt", f"{self.dataset}/shard-*.dvt"):
            self.assertEqual(run_good("cat", path, "--format", "tfrecord"), tfrecord(self.records))

    def test_verify_says_how_much_is_good(self):
        self.assertEqual(run_json("verify", self.dataset)["records"], 100)
        self.assertRegex(run_good("verify", self.dataset).decode(), r"^good: all 100 records in \d+ blocks are good\n$")

    def test_sizes_take_suffixes(self):
        source = write_file(self.path("source"), tfrecord(make_records(2000, seed=51)))
        for size, most in (("4K", 4096), ("4KiB", 4096), ("4Ki", 4096), ("4 KiB", 4096), ("4096", 4096),
                           ("04096", 4096), ("010K", 10240), ("09K", 9216)):
            run_good("convert", source, "--to", self.path("sized"), "--shard-bytes", "64K", "--block-bytes", size,
                     "--overwrite")
            blocks = run_json("inspect", self.path("sized"), "--blocks")["block_list"]
            self.assertTrue(0.8 * most < max(block["raw_bytes"] for block in blocks) <= most, size)

    def test_convert_in_words_and_json(self):
        source = write_file(self.path("source"), tfrecord(self.records))
        summary = run_json("convert", source, "--to", self.path("one"), "--shards", "2")
        self.assertEqual((summary["records"], summary["shards"], summary["files"], summary["formats"]),
                         (100, 2, 1, ["tfrecord"]))
        text = run_good("convert", source, "--to", self.path("two")).decode()
        self.assertTrue(re.search(r"records +100,", text), text)


if __name__ == "__main__":
    main()
