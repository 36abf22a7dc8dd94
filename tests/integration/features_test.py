#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `inspect --features` says, beside counting in Python, and that the columns it proposes read the records."""

import collections
import json
import math
import os
import random
import struct

from payloads import example
from support import (DAMAGED, GOOD, USAGE, CommandTest, flip_byte, gzip_bytes, main, real_data, run, run_good, run_json,
                     tfrecord, write_file)

SEED = 330


def as_float(value):
    return struct.unpack("<f", struct.pack("<f", value))[0]


def random_examples(count):
    """Features as dicts: labels, many ids, ragged lists, floats, texts, and one that most records lack."""
    source = random.Random(SEED)
    made = []
    for i in range(count):
        features = {"label": [min(int(source.expovariate(0.5)), 9)], "id": [source.randrange(-1 << 62, 1 << 62)],
                    "tokens": [source.randrange(20_000) for _ in range(source.randrange(1, 30))],
                    "weights": [as_float(source.gauss(10, 3)) for _ in range(3)],
                    "class": [b"class %d" % source.randrange(4)],
                    "url": [b"https://example.org/%d" % source.randrange(1 << 30)]}
        if i % 7 == 0:
            features["rare"] = [source.random() < 0.5 and 1 or 0]
        made.append(features)
    return made


class FeaturesTest(CommandTest):
    def features(self, source, *flags):
        found = run_json("inspect", source, "--features", *flags)["features"]
        return found, {feature["name"]: feature for feature in found["features"]}

    def check(self, made, found):
        lists = collections.defaultdict(list)
        for features in made:
            for name, values in features.items():
                lists[name].append(values)
        self.assertEqual(sorted(found), sorted(lists))
        for name, feature in found.items():
            with self.subTest(feature=name, seed=SEED):
                values = [value for each in lists[name] for value in each]
                numbers = [len(value) if isinstance(value, bytes) else value for value in values]
                lengths = [len(each) for each in lists[name]]
                kind = {bytes: "bytes", float: "float", int: "int64"}[type(values[0])]
                self.assertEqual((feature["kind"], feature["records"], feature["values"]),
                                 (kind, len(lengths), len(values)))
                self.assertEqual((feature["list_lengths"]["least"], feature["list_lengths"]["most"]),
                                 (min(lengths), max(lengths)))
                self.assertAlmostEqual(feature["list_lengths"]["mean"], len(values) / len(lengths))
                found_numbers = feature["byte_lengths" if kind == "bytes" else "numbers"]
                self.assertEqual((found_numbers["least"], found_numbers["most"]), (min(numbers), max(numbers)))
                mean = math.fsum(numbers) / len(numbers)
                self.assertTrue(math.isclose(found_numbers["mean"], mean, rel_tol=1e-12), (found_numbers, mean))
                self.check_counts(feature, collections.Counter(values), numbers)

    def check_counts(self, feature, counts, numbers):
        distinct = feature["distinct"]
        self.assertEqual(distinct["exact"], len(counts) <= 512)
        self.assertLessEqual(abs(distinct["count"] - len(counts)), 0 if distinct["exact"] else 0.025 * len(counts))
        if feature["top_exact"]:
            expected = sorted(((count, value) for value, count in counts.items() if count > 1), reverse=True)[:10]
            self.assertEqual([top["count"] for top in feature["top"]], [count for count, _ in expected])
            for top in feature["top"]:
                value = top["value"].encode() if isinstance(top["value"], str) else top["value"]
                self.assertEqual(counts[as_float(value) if feature["kind"] == "float" else value], top["count"])
        histogram = feature["histogram"]
        self.assertAlmostEqual(sum(histogram["counts"]) / len(numbers), 1, delta=0 if histogram["exact"] else 0.02)
        if not histogram["exact"]:
            return
        width = (histogram["to"] - histogram["from"]) / len(histogram["counts"])
        bars = [0] * len(histogram["counts"])
        for number in numbers:
            bars[min(int((number - histogram["from"]) / width), len(bars) - 1)] += 1
        self.assertEqual(histogram["counts"], bars)

    def test_statistics_are_those_of_counting(self):
        made = random_examples(4000)
        records = [example(features) for features in made]
        dataset = self.make_dataset(records)
        source = write_file(self.path("packed.tfrecord.gz"), gzip_bytes(tfrecord(records)))
        reports = []
        for path in (dataset, dataset + ".tfrecord", source):
            report, found = self.features(path)
            self.assertEqual((report["records"], report["examples"], report["damaged_blocks"]), (4000, 4000, 0))
            self.check(made, found)
            reports.append(report)
        self.assertEqual(reports, [reports[0]] * 3, "a dataset and a source of another format say the same")

    def test_the_columns_read_every_record(self):
        dataset = self.make_dataset([example(features) for features in random_examples(500)])
        report, _ = self.features(dataset)
        self.assertEqual(report["columns"], 'class:bytes, id:i64, label:i64, rare:i64=-1, tokens:i64[*], url:bytes, '
                                            'weights:f32[3]')
        done = run_json("read", dataset, "--rank", 0, "--world", 1, "--batch", 32, "--tail", "pad", "--columns",
                        report["columns"])
        self.assertEqual(done["steps"], 16)
        text = run_good("inspect", dataset, "--features").decode()
        self.assertIn(f"--columns '{report['columns']}'", text)

    def test_tables_become_examples_with_features(self):
        rows = "".join(f"{i},{i / 4},{'ab'[i % 2]},{'' if i % 3 else i}\n" for i in range(300))
        table = write_file(self.path("table.csv"), ("id,weight,class,some\n" + rows).encode())
        run_good("convert", table, "--from", "csv", "--to", self.path("table"))
        report, found = self.features(self.path("table"))
        self.assertEqual({name: feature["kind"] for name, feature in found.items()},
                         {"id": "int64", "weight": "float", "class": "bytes", "some": "int64"})
        self.assertEqual(found["weight"]["numbers"], {"least": 0.0, "mean": 299 / 8, "most": 74.75})
        self.assertEqual((found["some"]["records"], found["some"]["empty_lists"]), (300, 200))
        self.assertIn("some:i64=-1", report["columns"])
        text = run_good("inspect", self.path("table"), "--features").decode()
        self.assertRegex(text, r"\n *int64 +33\.3 % +1 .* some\n", "an empty list is a missing value")
        self.assertEqual(self.features(table)[0], report, "a table is inspected as it is")

    def test_a_conversion_can_have_the_columns(self):
        table = write_file(self.path("table.csv"), b"id,weight\n1,0.5\n2,\n3,1.5\n")
        for source in (table, self.make_dataset([example({"id": [i]}) for i in range(10)]) + ".tfrecord"):
            run_good("convert", source, "--schema", "infer", "--to", self.path("typed"), "--overwrite")
            done = run_json("read", self.path("typed"), "--rank", 0, "--world", 1, "--batch", 1, "--columns", "all")
            self.assertEqual(done["columns"], "id:i64, weight:f32=nan" if source == table else "id:i64")

    def test_lines_of_json_have_their_members(self):
        lines = write_file(self.path("lines.jsonl"), b"".join(b'{"id": %d, "at": {"x": %d.5}, "tags": ["a", "b"]}\n' %
                                                              (i, i) for i in range(100)))
        run_good("convert", lines, "--to", self.path("lines"))
        report, found = self.features(self.path("lines"))
        self.assertEqual((report["json_objects"], report["examples"], report["columns"]), (100, 0, None))
        self.assertEqual(sorted(found), ["at.x", "id", "tags"])
        self.assertEqual(found["at.x"]["numbers"], {"least": 0.5, "mean": 50.0, "most": 99.5})
        self.assertIn("of 100 records, 100 JSON objects\n",
                      run_good("inspect", self.path("lines"), "--features").decode())
        self.assertEqual(self.features(lines)[0], report)

    def test_without_the_flag_nothing_is_read_for_them(self):
        dataset = self.make_dataset([example({"label": [1]})])
        self.assertNotIn("features", run_json("inspect", dataset))
        self.assertNotIn("--columns", run_good("inspect", dataset).decode())
        self.assert_fails(USAGE, "inspect", dataset, "--features", "--record", "0", says="--features")

    def test_other_records_are_counted(self):
        dataset = self.make_dataset([b"text", example({"x": [1]}), b"more text"], shards=1)
        report, found = self.features(dataset)
        self.assertEqual((report["records"], report["examples"], found["x"]["records"]), (3, 1, 1))
        self.assertIn("record 0: tf.train.Example: ", report["first_other"])
        text = run_good("inspect", dataset, "--features").decode()
        self.assertIn("features, of 3 records, 2 of them not a tf.train.Example with features", text)

    def test_damaged_blocks_are_left_out_and_told(self):
        dataset = self.make_dataset([example({"x": [i]}) for i in range(2000)], shards=1)
        block = run_json("inspect", dataset, "--blocks")["block_list"][3]
        flip_byte(dataset + "/shard-000000.dvt", block["offset"] + 64)
        done = run("inspect", dataset, "--features", "--json")
        self.assertEqual(done.returncode, DAMAGED, done.stderr)
        report = json.loads(done.stdout)["features"]
        self.assertEqual((report["records"], report["lost_records"], report["damaged_blocks"]),
                         (2000 - block["records"], block["records"], 1))
        self.assertIn(f"shard-000000.dvt:{block['offset']}", report["first_damage"])
        done = run("inspect", dataset, "--features")
        self.assertEqual(done.returncode, DAMAGED)
        self.assertIn(f"without 1 damaged block of {block['records']} records", done.stdout.decode())

    def test_hostile_names_and_values_stay_in_their_line(self):
        name = "\x1b[31mred\nline'"
        dataset = self.make_dataset([example({name: [b"\x1b[0m\xff", b"\n"]})] * 2, shards=1)
        text = run_good("inspect", dataset, "--features").decode()
        self.assertNotIn("\x1b", text)
        self.assertIn("\\x1b[31mred\\nline'", text)
        self.assertIn("0x1b5b306dff (50.0 %)", text)
        report, found = self.features(dataset)
        self.assertEqual(found[name]["top"],
                         [{"value": "\n", "count": 2}, {"value": {"base64": "G1swbf8="}, "count": 2}])
        option = text[text.index("--columns "):].splitlines()[0]
        done = run_good("read", dataset, "--rank", 0, "--world", 1, "--batch", 1, "--columns", report["columns"])
        self.assertTrue(done)
        self.assertIn("'\\''", option, "ready for a shell")

    def test_ten_thousand_features_take_little_memory(self):
        source = random.Random(SEED)
        names = [f"feature {i:05}" for i in range(12_000)]
        numbers = [example({name: [source.randrange(1 << 40)] for name in names}) for _ in range(20)]
        texts = [json.dumps({name: f"text {source.randrange(1 << 40)}" for name in names}).encode() for _ in range(20)]
        first = b'{"feature 00000": ""}'
        for case, records in (("numbers", numbers), ("texts", texts), ("one first", [first, *texts])):
            with self.subTest(case=case, seed=SEED):
                record_bytes = 350 * len(names) if case == "numbers" else 25 * len(texts[0])  # as in the docs
                report = self.features_in_memory(records, record_bytes, case)
                self.assertEqual([feature["name"] for feature in report["features"]], names[:10_000])
                self.assertAlmostEqual(report["names_left_out"], 2000, delta=60)
                self.assertTrue(all(feature["records"] >= 20 for feature in report["features"]))

    def test_a_long_name_around_many_members_takes_little_memory(self):
        outer = "k" * 4000
        record = json.dumps({outer: {str(i): i for i in range(40_000)}}).encode()
        report = self.features_in_memory([record], 25 * len(record), "nested")
        self.assertAlmostEqual(len(report["features"]) + report["names_left_out"], 40_000, delta=1200)

    def features_in_memory(self, records, record_bytes, name):
        """The features of a dataset of these records, which `inspect` finds within 64 MiB and what a record takes."""
        dataset = self.make_dataset(records, name, shards=1)
        command = ["inspect", dataset, "--features", "--json"]
        child = os.spawnvp(os.P_NOWAIT, "sh", ["sh", "-c", 'exec "$DOVETAIL_COMMAND" "$@" > "$0"', self.path("out"),
                                               *command])
        _, status, usage = os.wait4(child, 0)
        self.assertEqual(status, GOOD)
        threads = min(8, len(os.sched_getaffinity(0)))
        self.assertLess(usage.ru_maxrss << 10, (64 << 20) + threads * record_bytes)
        with open(self.path("out"), encoding="utf-8") as out:
            return json.load(out)["features"]

    def test_records_of_tensorflow(self):
        report, found = self.features(real_data("tfx-taxi", "train-00000-of-00012.tfrecord.gz"))
        self.assertEqual(report["records"], report["examples"])
        self.assertEqual((found["trip_start_month"]["numbers"]["least"], found["trip_start_month"]["numbers"]["most"]),
                         (1, 12))
        self.assertEqual(found["payment_type"]["top"][0]["value"], "Cash")
        self.assertIn('company:bytes=""', report["columns"])


if __name__ == "__main__":
    main()
