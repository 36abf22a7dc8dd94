#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Statistics of features, as Python has them."""

import math
import os

import dovetail
from fixtures import ErrorTest, damage_record, main, np


class FeaturesTest(ErrorTest):
    def write(self, records, **options):
        with dovetail.DatasetWriter(self.path("data"), **options) as writer:
            writer.extend(records)
        return dovetail.Dataset(self.path("data"))

    def test_features_are_those_of_the_records(self):
        numbers = np.random.default_rng(340).normal(size=1000).astype(np.float32)
        dataset = self.write([dovetail.example(label=i % 3, weight=numbers[i:i + 1], name=f"name {i}",
                                               **({"rare": [1, 2]} if i % 4 == 0 else {})) for i in range(1000)])
        report = dataset.features()
        self.assertEqual((report.records, report.examples, report.first_other, report.first_damage),
                         (1000, 1000, None, None))
        self.assertEqual([feature.name for feature in report.features], ["label", "name", "rare", "weight"])
        label = report["label"]
        self.assertEqual((label.kind, label.records, label.least, label.most, label.distinct, label.distinct_error),
                         ("int64", 1000, 0, 2, 3, 0))
        self.assertEqual(label.top, ((0, 334), (1, 333), (2, 333)))
        self.assertEqual((label.histogram.low, label.histogram.high, label.histogram.counts),
                         (0, 3, (334, 333, 333)))
        weight = report["weight"]
        self.assertEqual((weight.least, weight.most), (numbers.min(), numbers.max()))
        self.assertTrue(math.isclose(weight.mean, numbers.astype(np.float64).mean(), rel_tol=1e-9))
        self.assertAlmostEqual(weight.distinct, 1000, delta=20)
        self.assertAlmostEqual(weight.distinct_error, 0.008, delta=0.001)
        self.assertEqual((report["name"].least, report["name"].most, report["name"].top), (6, 8, ()))
        self.assertTrue(report["rare"].fixed)
        self.assertEqual(report.columns, "label:i64, name:bytes, rare:i64[2]=-1, weight:f32")
        self.assertEqual(dataset.features(threads=1), report)
        with dovetail.Reader(dataset, batch=100, rank=0, world=1, columns=report.columns) as reader:
            self.assertEqual(sum(len(batch["label"]) for batch in reader), 1000)

    def test_it_is_printed_as_a_table(self):
        report = self.write([dovetail.example(label=7, **{"\u00f6dd\nname": b"\xff"})] * 4).features()
        lines = repr(report).splitlines()
        self.assertEqual(lines[0], "<FeaturesReport, 4 records, 2 features>")
        self.assertEqual(lines[3].split()[0], "\u00f6dd\\nname")
        self.assertEqual(lines[2].split(), ["label", "int64", "100", "%", "1", "7", "7", "7", "1", "7", "(100", "%)"])
        self.assertIn("b'\\xff' (100 %)", lines[3])
        self.assertEqual(len(lines), 4, "no name breaks a line")
        self.assertRaises(KeyError, lambda: report["none"])

    def test_other_records_and_damage_are_told(self):
        records = [b"text"] + [dovetail.example(label=i) for i in range(10)]
        dataset = self.write(records, codec="none")
        report = dataset.features()
        self.assertEqual((report.records, report.examples), (11, 10))
        self.assertIn("record 0", str(report.first_other))
        damage_record(dataset.shard_paths[0], records[3])
        report = dataset.features()
        self.assertEqual((report.records, report.lost_records, report.damaged_blocks), (0, 11, 1))
        self.assertIsInstance(report.first_damage, dovetail.DamagedError)
        self.assertIsNone(report.columns)

    def test_a_sample_has_about_as_many_records(self):
        dataset = self.write([dovetail.example(x=i) for i in range(20_000)], block_bytes=1024)
        report = dataset.features(max_records=1000)
        self.assertAlmostEqual(report.records, 1000, delta=200)
        self.assertAlmostEqual(report["x"].mean, 10_000, delta=300)

    def test_wrong_arguments_and_missing_shards(self):
        dataset = self.write([dovetail.example(x=1)])
        self.assertRaises(TypeError, dataset.features, threads="2")
        self.assertRaises(TypeError, dataset.features, 2)
        os.remove(dataset.shard_paths[0])
        self.check(dovetail.MissingFileError, dataset.features, path=dataset.shard_paths[0])


if __name__ == "__main__":
    main()
