#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes in comes out: TFRecords byte for byte, files and lines record for record."""

import glob
import gzip
import os
import zlib

from support import (CommandTest, gzip_bytes, main, make_records, read_file, real_data, run_good, run_json, tfrecord,
                     write_file)


class RealDataTest(CommandTest):
    def check(self, sources, framed, records, *flags):
        dataset = self.path("dataset")
        summary = run_json("convert", *sources, "--to", dataset, *flags)
        self.assertEqual(summary["records"], records)
        self.assertEqual(run_good("cat", dataset, "--format", "tfrecord"), framed)
        verdict = run_json("verify", dataset)
        self.assertEqual((verdict["ok"], verdict["records"], verdict["damaged"]), (True, records, []))

    def test_taxi_shards_come_back_byte_for_byte(self):
        sources = sorted(glob.glob(os.path.join(real_data("tfx-taxi"), "*.gz")))
        framed = b"".join(gzip.decompress(read_file(source)) for source in sources)
        self.check(sources, framed, 9909, "--shards", 8)

    def test_taxi_folder_is_read_in_name_order(self):
        folder = real_data("tfx-taxi")
        framed = b"".join(gzip.decompress(read_file(source)) for source in sorted(glob.glob(f"{folder}/*.gz")))
        self.check([folder], framed, 9909)

    def test_digits_come_back_byte_for_byte(self):
        source = real_data("tfx-mnist", "mnist.tfrecord")
        for flags in (["--codec", "none"], ["--codec", "snappy"], ["--codec", "zstd", "--codec-level", "1"],
                      ["--run-records", "7", "--block-bytes", "1K"]):
            with self.subTest(flags=flags):
                self.check([source], read_file(source), 1000, "--shards", 5, "--overwrite", *flags)

    def test_tfrecords_are_read_without_packing_too(self):
        source = real_data("tfx-mnist", "mnist.tfrecord")
        self.assertEqual(run_good("cat", source, "--format", "tfrecord"), read_file(source))
        found = run_json("inspect", source)
        self.assertEqual((found["format"], found["records"], found["max_record_bytes"]), ("tfrecord", 1000, 3187))


class RoundTripTest(CommandTest):
    def test_plain_gzip_and_zlib_tfrecords_give_the_same_records(self):
        framed = tfrecord(make_records(300, seed=1))
        cut = len(framed) // 3
        kinds = {"plain": framed, "gzip": gzip_bytes(framed), "zlib": zlib.compress(framed),
                 "members": gzip_bytes(framed[:cut]) + gzip_bytes(framed[cut:])}
        for kind, data in kinds.items():
            with self.subTest(kind=kind):
                source = write_file(self.path(kind), data)
                run_good("convert", source, "--to", self.path(kind + "-packed"), "--shards", 3)
                self.assertEqual(run_good("cat", self.path(kind + "-packed"), "--format", "tfrecord"), framed)

    def test_the_same_input_and_id_give_the_same_files_for_any_number_of_workers(self):
        source = write_file(self.path("source"), tfrecord(make_records(2000, seed=2)))
        files = []
        for jobs in (1, 2, 5):
            folder = self.path(f"jobs-{jobs}")
            run_good("convert", source, "--to", folder, "--shards", 3, "--jobs", jobs, "--dataset-id",
                     "0123456789abcdef" * 2)
            files.append({name: read_file(os.path.join(folder, name)) for name in os.listdir(folder)})
        self.assertEqual(files[0], files[1])
        self.assertEqual(files[0], files[2])

    def test_files_of_a_folder_become_records_in_bytewise_order(self):
        content = {"b/2": b"two", "b/10": b"ten", "a": b"", "Z": b"\x00\xff" * 50, "b.x": b"dot"}
        for name, data in content.items():
            path = self.path("files", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            write_file(path, data)
        run_good("convert", self.path("files"), "--to", self.path("dataset"), "--from", "folder", "--records", "raw")
        expected = b"".join(content[name] for name in sorted(content, key=os.fsencode))
        self.assertEqual(run_good("cat", self.path("dataset"), "--format", "raw"), expected)

    def test_lines_become_records_without_their_newlines(self):
        source = write_file(self.path("text"), b"first\n\nthird\r\nlast without end")
        run_good("convert", source, "--to", self.path("dataset"), "--from", "lines")
        self.assertEqual(run_good("cat", self.path("dataset")), b"first\n\nthird\nlast without end\n")
        self.assertEqual(run_json("inspect", self.path("dataset"))["records"], 4)

    def test_sources_follow_each_other_in_the_given_order(self):
        one = write_file(self.path("one"), b"1\n2\n")
        two = write_file(self.path("two"), b"3\n")
        run_good("convert", two, one, "--to", self.path("dataset"), "--from", "lines")
        self.assertEqual(run_good("cat", self.path("dataset")), b"3\n1\n2\n")


if __name__ == "__main__":
    main()
