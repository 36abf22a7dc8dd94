#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Saving, indexing and exporting what is packed, and the mixing of a plan, with reports as values."""

import os
import threading

import dovetail
from fixtures import ErrorTest, damage_record, main, read_file, write_dataset, write_file

ID = "0123456789abcdef" * 2


class RecoverTest(ErrorTest):
    def test_a_whole_dataset_is_saved_whole(self):
        path = self.make_dataset(metadata={"who": "me"})
        report = dovetail.recover(path, self.path("saved"), dataset_id=ID)
        self.assertTrue(report.ok)
        self.assertEqual((report.records, report.expected_records, report.lost, report.dataset_id),
                         (400, 400, (), ID))
        self.assertEqual(sum(shard.records for shard in report.shards), 400)
        self.assertEqual(list(dovetail.open(self.path("saved"))), self.records)
        self.assertEqual(dovetail.Dataset(self.path("saved")).metadata, {"who": "me"})
        self.assertRegex(repr(report), r"^<RecoverReport, good: saved 400 of 400 records in \d+ blocks>$")

    def test_what_is_lost_is_listed(self):
        records = [b"record %05d" % i for i in range(1000)]
        path = write_dataset(self.path("data"), records, shards=1, codec="none")
        shard = dovetail.Dataset(path).shard_paths[0]
        for i in (100, 500, 900):
            damage_record(shard, records[i])
        report = dovetail.recover(path, self.path("saved"), regions=2)
        self.assertFalse(report.ok)
        self.assertEqual((len(report.lost), report.lost_regions), (2, 3))
        self.assertEqual(report.records + report.lost_records, report.expected_records)
        self.assertEqual(report.lost[0].file, shard)
        self.assertIn(100, report.lost[0].records)
        self.assertIn("3 lost regions", repr(report))
        self.check(dovetail.UsageError, dovetail.recover, path, self.path("saved"), path=self.path("saved"),
                   code=dovetail.ErrorCode.already_exists)
        self.assertEqual(dovetail.recover(path, self.path("saved"), overwrite=True).records, report.records)

    def test_a_wrong_id_is_refused(self):
        self.assertRaisesRegex(dovetail.UsageError, "dataset_id", dovetail.recover, self.make_dataset(),
                               self.path("saved"), dataset_id="x")


class TfrecordTest(ErrorTest):
    def export(self, target, **options):
        return dovetail.export_tfrecords([self.make_dataset(overwrite=True)], self.path(target), **options)

    def test_a_dataset_becomes_files_and_these_become_shards(self):
        report = self.export("records")
        self.assertEqual((report.records, len(report.files), report.skipped), (400, 4, 0))
        self.assertEqual(report.raw_bytes, sum(map(len, self.records)))
        self.assertEqual(report.stored_bytes, sum(map(os.path.getsize, report.files)))
        for file in report.files:
            index = dovetail.index(file, write_dali=True)
            self.assertEqual((index.index, index.shard.records, index.kept), (file + ".dvi", 100, False))
            self.assertTrue(dovetail.index(file, check_dali=True).kept)
            self.assertEqual(len(read_file(file + ".idx").splitlines()), 100)
        files = os.path.join(self.path("records"), "*.tfrecord")
        self.assertEqual(list(dovetail.open(files)), self.records)
        self.assertTrue(dovetail.Dataset(files).describe().tfrecord)
        self.assertEqual(dovetail.Dataset(files).metadata, {})

    def test_options_are_those_of_the_command(self):
        self.assertEqual(len(self.export("two", shards=2, jobs=1).files), 2)
        self.assertTrue(self.export("packed", compression="gzip").files[0].endswith(".tfrecord.gz"))
        one = self.export("one.tfrecord.gz", shards=1)
        self.assertEqual(one.files, (self.path("one.tfrecord.gz"),))
        self.check(dovetail.UsageError, self.export, "one.tfrecord.gz", shards=1, path=one.files[0],
                   code=dovetail.ErrorCode.already_exists)
        self.assertEqual(self.export("one.tfrecord.gz", shards=1, overwrite=True).records, 400)
        self.assertEqual(self.export("bounded", max_record_bytes=200).records, 400)
        self.assertRaisesRegex(dovetail.DovetailError, "the limit is 10", self.export, "less", max_record_bytes=10)
        self.assertRaisesRegex(dovetail.UsageError, '"none", "gzip", "zlib", "snappy"', self.export, "x",
                               compression="xz")

    def test_other_sources_are_read_as_convert_does(self):
        write_file(self.path("table.csv"), b"name;size\na;1\nb;2\n")
        dovetail.export_tfrecords([self.path("table.csv")], self.path("table.tfrecord"), csv_delimiter=";",
                                  csv_types={"size": "real"})
        dovetail.index(self.path("table.tfrecord"))
        found = [dovetail.parse_example(record) for record in dovetail.open(self.path("table.tfrecord"))]
        self.assertEqual([(row["name"], row["size"].tolist()) for row in found], [([b"a"], [1.0]), ([b"b"], [2.0])])

    def test_a_part_of_a_dataset_is_taken(self):
        path = self.make_dataset()
        dovetail.convert([path], self.path("part"), range=(10, 30))
        self.assertEqual(list(dovetail.open(self.path("part"))), self.records[10:30])
        for call in (dovetail.convert, dovetail.export_tfrecords):
            taken = call([path], self.path(call.__name__), range=(0, 400), sample=0.5, sample_seed=3).records
            self.assertTrue(100 < taken < 300, taken)
        self.assertRaisesRegex(TypeError, "range must be two numbers", dovetail.convert, [path], "to", range=3)

    def test_progress_may_stop_it(self):
        asked = []

        def stop(share, records, raw_bytes):
            asked.append(threading.current_thread())
            return False

        with self.assertRaises(dovetail.CancelledError):
            self.export("records", progress=stop)
        self.assertTrue(asked)
        self.assertFalse(os.path.exists(self.path("records")) and os.listdir(self.path("records")))

    def test_a_folder_is_not_indexed(self):
        self.check(dovetail.UsageError, dovetail.index, self.folder, path=self.folder,
                   code=dovetail.ErrorCode.unknown_format, says="this is a folder; name its TFRecord files")

    def test_what_is_no_tfrecord_has_no_index(self):
        path = write_file(self.path("lines.txt"), b"one\ntwo\n" * 10)
        with self.assertRaises(dovetail.DovetailError) as caught:
            dovetail.index(path)
        self.assertEqual(caught.exception.path, path)
        self.assertEqual(os.listdir(self.folder), ["lines.txt"])


class ShuffleReportTest(ErrorTest):
    def test_a_shuffle_is_compared_with_a_true_one(self):
        dataset = self.make_dataset(4000)
        good = dovetail.Plan(dataset, batch=64, order="global").shuffle_report()
        self.assertEqual((good.weak, good.flaws), (False, ()))
        self.assertEqual((good.batches, good.all_batches, good.readers), (62, 62, 1))
        self.assertAlmostEqual(good.plan.rank.mean_slices, good.true_shuffle.rank.mean_slices, delta=1)
        self.assertEqual(good.plan.rank, good.plan.all_ranks)
        weak = dovetail.Plan(dataset, batch=64, order="sequential").shuffle_report(epoch=1)
        self.assertTrue(weak.weak)
        self.assertIn("few_slices", weak.flaws)
        self.assertEqual(repr(weak).splitlines()[0].split(":")[0], "<ShuffleReport, 62 of 62 batches, weak")
        self.assertIn("rank.mean_slices", repr(weak))
        self.assertRaisesRegex(dovetail.UsageError, "epoch=-1", dovetail.Plan(dataset, batch=64).shuffle_report, -1)


if __name__ == "__main__":
    main()
