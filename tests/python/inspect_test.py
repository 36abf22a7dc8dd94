#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`dovetail.inspect` returns what `dovetail inspect --json` prints."""

import json
import os
import subprocess
import sys
import threading

import dovetail
from fixtures import ErrorTest, damage_record, main, make_records, read_file, write_dataset, write_file

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from support import tfrecord  # noqa: E402

COMMAND = os.environ.get("DOVETAIL_COMMAND")
FLAGS = ({}, {"features": True}, {"full": True}, {"blocks": True, "features": True})


class InspectTest(ErrorTest):
    def examples(self, count=300):
        return [dovetail.example(label=i % 3, weight=[0.5 * i, float("nan")], name=f"name {i}",
                                 image=bytes([i % 256, 255])) for i in range(count)]

    @staticmethod
    def words(options):
        return [word for name, value in options.items()
                for word in (["--from", value] if name == "format" else [f"--{name}"])]

    def check_equal(self, path, code=0, **options):
        """Gives what both say; the command ends with this code."""
        if not COMMAND:
            self.skipTest("there is no command to compare with")
        done = subprocess.run([COMMAND, "inspect", path, "--json", *self.words(options)], capture_output=True)
        self.assertEqual(done.returncode, code, done.stderr)
        found = dovetail.inspect(path, **options)
        self.assertEqual(found, json.loads(done.stdout))
        return found

    def test_datasets_and_their_shards(self):
        dataset = write_dataset(self.path("data"), self.examples(), metadata={"name": "d\u00e9"}, schema="label:i64")
        for flags in FLAGS:
            with self.subTest(flags=flags):
                found = self.check_equal(dataset, **flags)
                self.assertEqual((found["records"], found["metadata"]["name"]), (300, "d\u00e9"))
                self.assertEqual("features" in found, "features" in flags)
                self.assertEqual("block_list" in found, "blocks" in flags)
                shard = self.check_equal(os.path.join(dataset, "shard-000001.dvt"), **flags)
                self.assertLess(shard["records"], 300)

    def test_damage_is_a_result(self):
        records = self.examples()
        dataset = write_dataset(self.path("data"), records, codec="none")
        shard = os.path.join(dataset, "shard-000002.dvt")
        damage_record(shard, records[len(records) // 2 + 20])
        for path in (dataset, shard):
            for flags in FLAGS:
                with self.subTest(path=path, flags=flags):
                    found = self.check_equal(path, code=1, **flags)
                    self.assertGreater(found["unreadable"], 0)
                    self.assertEqual(found.get("features", {}).get("damaged_blocks", 1), 1)

    def test_splits(self):
        source = write_file(self.path("a.tfrecord"), tfrecord(self.examples()))
        dovetail.convert([source], self.path("split"), split="train=0.8,val=0.2", jobs=1)
        for part in ("train", "val"):
            for flags in FLAGS:
                with self.subTest(part=part, flags=flags):
                    self.check_equal(self.path("split", part), **flags)

    def test_tfrecords_with_and_without_an_index(self):
        path = write_file(self.path("a.tfrecord"), tfrecord(self.examples()))
        for format in ("tfrecord", "tfrecord, indexed"):
            for flags in FLAGS:
                with self.subTest(format=format, flags=flags):
                    self.assertEqual(self.check_equal(path, **flags)["format"], format)
            dovetail.index(path)

    def test_a_mixed_folder(self):
        os.mkdir(self.path("mixed"))
        for i, record in enumerate([b"text", b"\xff\xfe", b'{"a": 1}', b"", *self.examples(3)]):
            write_file(self.path("mixed", f"{i}.bin"), record)
        os.symlink("nowhere", self.path("mixed", "dangling"))
        for flags in FLAGS:
            with self.subTest(flags=flags):
                self.assertEqual(self.check_equal(self.path("mixed"), **flags)["files"], 7)

    def test_the_format_is_that_of_from(self):
        path = write_file(self.path("a.jsonl"), b'{"a": 1}\n{"a": 2}\n')
        for format in ("lines", "jsonl"):
            self.assertEqual(self.check_equal(path, format=format)["format"], format)

    def test_a_shard_that_was_never_finished(self):
        dataset = write_dataset(self.path("data"), make_records(300, 5), shards=1)
        shard = os.path.join(dataset, "shard-000000.dvt")
        cut = write_file(self.path("cut.dvt"), read_file(shard)[:-100])
        self.check_equal(cut, code=1)
        self.assertFalse(dovetail.inspect(cut)["finished"])

    def test_the_page_is_that_of_the_command(self):
        dataset = write_dataset(self.path("data"), self.examples(), metadata={"name": "d\u00e9"}, schema="label:i64")
        table = write_file(self.path("a.jsonl"), b'{"a": 1}\n{"a": 2}\n')
        for path, options in ((dataset, {}), (dataset, {"features": True}), (table, {"format": "lines"})):
            with self.subTest(path=path, options=options):
                found = dovetail.inspect(path, html=self.path("a.html"), **options)
                self.assertEqual(found, self.check_equal(path, **options))
                subprocess.run([COMMAND, "inspect", path, "--html", self.path("b.html"), *self.words(options)],
                               check=True, stdout=subprocess.DEVNULL)
                self.assertEqual(read_file(self.path("a.html")), read_file(self.path("b.html")))

    def test_a_page_replaces_no_data(self):
        path = write_file(self.path("a.jsonl"), b'{"a": 1}\n')
        shard = os.path.join(write_dataset(self.path("data"), self.examples()), "shard-000000.dvt")
        for of, file in ((path, path), (path, shard)):
            self.check(dovetail.UsageError, dovetail.inspect, of, html=file, path=file,
                       code=dovetail.ErrorCode.already_exists)
        self.check(dovetail.MissingFileError, dovetail.inspect, path, html=self.path("missing", "a.html"),
                   path=self.path("missing", "a.html"), says="create it first")
        self.assertRaises(TypeError, dovetail.inspect, path, html=True)
        cut = write_file(self.path("cut.dvt"), read_file(shard)[:-100])
        self.assertRaises(dovetail.DamagedError, dovetail.inspect, cut, html=self.path("cut.html"))
        self.assertFalse(os.path.exists(self.path("cut.html")))

    def test_errors(self):
        missing = self.path("missing")
        self.check(dovetail.MissingFileError, dovetail.inspect, missing, path=missing)
        self.check(dovetail.UsageError, dovetail.inspect, missing, format="cav", code=dovetail.ErrorCode.invalid_option,
                   says=('"csv"', "cav"))
        self.assertRaises(TypeError, dovetail.inspect, 7)
        self.assertRaises(TypeError, dovetail.inspect, missing, features=1)
        self.assertRaises(TypeError, dovetail.inspect, missing, True)

    def test_other_threads_run_meanwhile(self):
        path = write_file(self.path("a.tfrecord"), tfrecord(self.examples(20_000)))
        go, ran = threading.Event(), threading.Event()
        other = threading.Thread(target=lambda: go.wait() and ran.set())
        other.start()
        before = sys.getswitchinterval()
        sys.setswitchinterval(1000)  # from here on, others run only while the lock is released
        try:
            go.set()
            calls = 0
            while not ran.is_set() and calls < 1000:
                dovetail.inspect(path)
                calls += 1
        finally:
            sys.setswitchinterval(before)
        self.assertTrue(ran.is_set())
        other.join()


if __name__ == "__main__":
    main()
