#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `inspect` says of records: how large they are, what they hold, and how they are stored."""

import json
import os
import random
import re

from payloads import example, one_of_each, png
from support import (DAMAGED, USAGE, CommandTest, flip_byte, main, make_records, run, run_good, run_json, tfrecord,
                     write_file)


def bucket_of(size):
    """First and last size of the bucket that a record falls into."""
    return (0, 0) if size == 0 else (1 << size.bit_length() - 1, (1 << size.bit_length()) - 1)


def histogram(records):
    counts = {}
    for record in records:
        bucket = bucket_of(len(record))
        counts[bucket] = counts.get(bucket, 0) + 1
    return counts


def found_sizes(inspection):
    return {(bucket["from"], bucket["last"]): bucket["records"] for bucket in inspection["record_sizes"]["buckets"]
            if bucket["records"]}


class InspectionTest(CommandTest):
    def test_every_record_is_in_the_histogram(self):
        records = make_records(3000, seed=310, longest=3000)
        dataset = self.make_dataset(records)
        for arguments in ((dataset,), (dataset, "--full"), (dataset + ".tfrecord",)):
            with self.subTest(arguments=arguments):
                found = run_json("inspect", *arguments)
                self.assertEqual(found_sizes(found), histogram(records))
                self.assertTrue(found["record_sizes"]["exact"])
                self.assertEqual(found["record_sizes"]["records"], len(records))
        text = run_good("inspect", dataset).decode()
        self.assertIn("record sizes, all 3000 records", text)
        for (first, last), count in histogram(records).items():
            self.assertRegex(text, rf"\n *{first}{f' - {last}' if first < last else ''} +{count} ")

    def test_sizes_of_equal_records_come_from_the_index_alone(self):
        dataset = self.make_dataset([random.Random(i).randbytes(100) for i in range(500)])
        blocks = run_json("inspect", dataset, "--blocks")["block_list"]
        self.assertFalse(any(block["table"] for block in blocks))
        for block in blocks:
            flip_byte(f"{dataset}/shard-00000{block['shard']}.dvt", block["offset"] + 64)
        done = run("inspect", dataset, "--json")
        self.assertEqual(done.returncode, DAMAGED, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(found_sizes(found), {(64, 127): 500})
        self.assertEqual(found["payload"], {"guess": None, "samples": 0, "kinds": {}})
        self.assertEqual((found["looked_at"], found["unreadable"]), (64, 64))
        self.assertTrue(0 < found["damaged_blocks"] <= 64, found["damaged_blocks"])

    def test_every_payload_is_told(self):
        for kind, record in one_of_each().items():
            with self.subTest(kind=kind):
                dataset = self.make_dataset([record] * 10, name=kind)
                for path in (dataset, dataset + ".tfrecord"):
                    self.assertEqual(run_json("inspect", path)["payload"],
                                     {"guess": kind, "samples": 10, "kinds": {kind: 10}})

    def test_a_mixed_dataset_shows_the_share_of_each_payload(self):
        records = [record for record in one_of_each().values() for _ in range(2)] + [b"text"] * 3
        dataset = self.make_dataset(records)
        payload = run_json("inspect", dataset)["payload"]
        self.assertEqual((payload["guess"], payload["samples"]), ("text", len(records)))
        self.assertEqual(payload["kinds"], {kind: 5 if kind == "text" else 2 for kind in one_of_each()})
        self.assertIn("text; of 25 records examined: 5 text, 2 ", run_good("inspect", dataset).decode())

    def test_samples_of_long_sources_are_few_and_spread(self):
        records = [b"text"] * 5000 + [b"\xff"] * 5000
        dataset = self.make_dataset(records)
        for path in (dataset, dataset + ".tfrecord"):
            payload = run_json("inspect", path)["payload"]
            self.assertTrue(64 <= payload["samples"] < 128, payload)
            self.assertAlmostEqual(payload["kinds"]["text"] / payload["samples"], 0.5, delta=0.02)

    def test_a_large_dataset_is_sampled_and_says_so(self):
        source = random.Random(311)
        records = [source.randbytes(4).hex().encode() * source.choice((50, 150)) for _ in range(120_000)]
        write_file(self.path("lines"), b"".join(record + b"\n" for record in records))
        run_good("convert", self.path("lines"), "--from", "lines", "--to", self.path("dataset"), "--shards", 3)
        sampled = run_json("inspect", self.path("dataset"))
        self.assertLess(sampled["stored_bytes"], 32 << 20)  # what counts is what must be decoded
        self.assertFalse(sampled["record_sizes"]["exact"])
        taken = sampled["record_sizes"]["records"]
        self.assertTrue(len(records) / 3 < taken < len(records) * 2 / 3, taken)
        large = sum(len(record) == 1200 for record in records) / len(records)
        self.assertAlmostEqual(found_sizes(sampled)[(1024, 2047)] / taken, large, delta=0.02)
        self.assertIn(f"a sample of {taken} records; --full reads all",
                      run_good("inspect", self.path("dataset")).decode())
        whole = run_json("inspect", self.path("dataset"), "--full")
        self.assertTrue(whole["record_sizes"]["exact"])
        self.assertEqual(found_sizes(whole), histogram(records))

    def test_damaged_blocks_are_left_out_and_counted(self):
        dataset = self.make_dataset(make_records(1000, seed=312), shards=1)
        shard = dataset + "/shard-000000.dvt"
        block = [block for block in run_json("inspect", dataset, "--blocks")["block_list"] if block["table"]][2]
        flip_byte(shard, block["offset"] + 64)
        for flags in ((), ("--full",)):
            done = run("inspect", dataset, "--json", *flags)
            self.assertEqual(done.returncode, DAMAGED, done.stderr)
            found = json.loads(done.stdout)
            self.assertEqual((found["damaged_blocks"], found["record_sizes"]["exact"]), (1, False))
            self.assertEqual(found["record_sizes"]["records"], 1000 - block["records"])
            self.assertEqual(found["unreadable"], block["records"])
            for html in ((), ("--html", self.path("page.html"))):
                done = run("inspect", dataset, *flags, *html)
                self.assertEqual(done.returncode, DAMAGED, done.stderr)
                self.assertRegex(done.stdout.decode(),
                                 rf"\ndamaged: {block['records']} of {found['looked_at']} examined records "
                                 rf"cannot be read: {shard}:{block['offset']}: .*; "
                                 rf"`dovetail verify {dataset}` lists all damage\n$")
            self.assertIn(f"record sizes, of {1000 - block['records']} readable records; found 1 damaged block: ",
                          run("inspect", dataset, *flags).stdout.decode(), "all were read, so they are no sample")
        self.assertEqual(found["looked_at"], 1000)

    def test_damage_of_records_that_are_looked_at_is_told_where_sizes_come_from_the_index(self):
        source = write_file(self.path("equal.tfrecord"), tfrecord([bytes(100)] * 10_000))
        run_good("index", source)
        self.assertNotIn(b"damaged", run_good("inspect", source))
        flip_byte(source, 16 + 50)
        done = run("inspect", source)
        self.assertEqual(done.returncode, DAMAGED, done.stdout)
        self.assertRegex(done.stdout.decode(), rf"\ndamaged: \d+ of 64 examined records cannot be read: {source}:0: ")

    def test_sizes_of_an_indexed_tfrecord_are_those_of_its_records(self):
        source = write_file(self.path("sizes.tfrecord"), tfrecord([bytes(1 << i % 8) for i in range(800)]))
        run_good("index", source)
        found = run_json("inspect", source)
        self.assertEqual([bucket["records"] for bucket in found["record_sizes"]["buckets"]], [100] * 8)
        self.assertEqual(found["record_sizes"], run_json("inspect", source, "--full")["record_sizes"])

    def test_a_page_has_features_and_records_from_all_over(self):
        records = [example({"label": [i // 100], **({"rare": [0.5]} if i == 0 else {})}) for i in range(1000)]
        dataset = self.make_dataset(records)
        for source in (dataset, dataset + ".tfrecord"):
            summary = run_json("inspect", source, "--html", self.path("page.html"))
            self.assertEqual(summary["records"], 24)
            with open(self.path("page.html"), encoding="utf-8") as file:
                page = file.read()
            self.assertEqual([int(number) for number in re.findall(r'data-id="(\d+)"', page)],
                             [k * 1000 // 24 for k in range(24)])
            self.assertIn("from a sample: of 96 records;", page)
            self.assertNotIn('id="columns"', page, "they might not read the other records")
            cards = page.split('id="features"')[1].split("</div>")[0]
            self.assertEqual(re.findall('data-key="(.*?)"', cards), ["label", "rare"])
            self.assertIn("in 100 % of the records, 1 value, 10 distinct", cards)
            self.assertIn("in 1.0 % of the records, 1 value, 1 distinct", cards)

    def test_a_folder_of_images_is_looked_at_as_it_is(self):
        os.makedirs(self.path("images", "cat"))
        for i in range(5):
            write_file(self.path("images", "cat", f"{i}.png"), png(2 + i, 3))
        images = self.path("images")
        found = run_json("inspect", images)
        self.assertEqual((found["format"], found["records"], found["files"], found["payload"]["kinds"]),
                         ("folder", 5, 5, {"example": 5}))
        self.assertEqual(run_json("inspect", images, "--html", self.path("page.html"))["images"], 5)
        for flags, number in (("--range", "1:2"), 1), (("--from", "folder", "--range", "4:"), 4):
            record = run_good("cat", images, *flags, "--format", "raw")
            self.assertIn(png(2 + number, 3), record)
            self.assertIn(f"cat/{number}.png".encode(), record)

    def test_known_formats_that_are_not_read_have_their_recipe(self):
        table = write_file(self.path("b.parquet"), b"PAR1" + bytes(100) + b"PAR1")
        for command in ("inspect", "cat"):
            said = self.assert_fails(USAGE, command, table, says=["a Parquet file", "read_parquet"])
            self.assertNotIn("dovetail convert", said)

    def test_a_record_behind_the_end(self):
        dataset = self.make_dataset([b"x"] * 3)
        for source in (dataset, dataset + ".tfrecord"):
            for number in (3, 99):
                said = self.assert_fails(USAGE, "inspect", source, "--record", number,
                                         says=[f"record {number} does not exist", "only 3 records, numbered from 0"])
                self.assertNotIn("range", said)

    def test_a_folder_is_no_page(self):
        os.mkdir(self.path("folder"))
        said = run("inspect", self.path("none"), "--html", self.path("folder")).stderr.decode()
        self.assertIn("name a file in it", said)

    def test_the_format_can_be_named(self):
        table = write_file(self.path("table"), b"1;x\n2;y\n")
        lines = [b"1;x", b"2;y"]
        self.assertEqual(run_good("cat", table, "--from", "lines"), b"\n".join(lines) + b"\n")
        self.assertEqual(run_json("inspect", table, "--from", "lines")["format"], "lines")
        self.assertEqual(run_json("inspect", self.make_dataset(lines), "--from", "dovetail")["format"], "dovetail")
        self.assert_fails(DAMAGED, "cat", table, "--from", "tfrecord", says=table)
        self.assert_fails(USAGE, "cat", table, "--from", "dovetail", says=[table, "dovetail convert"])
        self.assert_fails(USAGE, "inspect", table, "--from", "cvs", says="did you mean 'csv'?")
        os.mkdir(self.path("empty"))
        for command in ("inspect", "cat"):
            self.assert_fails(USAGE, command, self.path("empty"), says=self.path("empty"))

    def test_codec_shares_add_up_to_the_whole(self):
        source = random.Random(313)
        dataset = self.make_dataset([b"word " * 20] * 500 + [source.randbytes(100) for _ in range(500)])
        found = run_json("inspect", dataset)
        shares = found["codec_shares"]
        self.assertGreater(shares["none"]["blocks"] * shares["snappy"]["blocks"], 0)
        for key in ("blocks", "raw_bytes", "stored_bytes"):
            self.assertEqual(shares["none"][key] + shares["snappy"][key], found[key])
        self.assertLess(shares["snappy"]["stored_bytes"], shares["snappy"]["raw_bytes"])


if __name__ == "__main__":
    main()
