#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Conversions, verification and the merge of parts, from Python."""

import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import dovetail
import numpy
from fixtures import ModuleTest, main, make_records, read_file, write_dataset, write_file
from support import tfrecord

ID = "0123456789abcdef" * 2


class ConversionTest(ModuleTest):
    def put_lines(self, name="lines.txt", count=20_000):
        self.lines = [b"line %d of %s" % (i, name.encode()) for i in range(count)]
        return write_file(self.path(name), b"\n".join(self.lines) + b"\n")

    def records_of(self, *names):
        return list(dovetail.open(self.path(*names)))

    def test_sources_of_other_formats(self):
        records = make_records(200, 4)
        rows = [json.dumps({"id": i, "text": "t" * i}).encode() for i in range(50)]
        os.mkdir(self.path("pictures"))
        for i in range(20):
            write_file(self.path("pictures", f"{i:02}.bin"), b"%d" % i * 50)
        with tarfile.open(self.path("a.tar"), "w") as archive:
            for i in range(10):
                entry = tarfile.TarInfo(f"{i}.bin")
                entry.size = 100
                archive.addfile(entry, io.BytesIO(bytes([i]) * 100))
        write_dataset(self.path("packed"), records)
        cases = (
            (write_file(self.path("a.tfrecord"), tfrecord(records)), "tfrecord", {}, 200, records),
            (self.path("packed"), "dovetail", {}, 200, records),
            (write_file(self.path("a.jsonl"), b"\n".join(rows) + b"\n"), "jsonl", {"records": "raw"}, 50, rows),
            (self.path("pictures"), "folder", {"records": "raw"}, 20, [b"%d" % i * 50 for i in range(20)]),
            (self.path("a.tar"), "tar", {"records": "raw"}, 10, None),
        )
        for source, name, options, count, wanted in cases:
            with self.subTest(format=name):
                report = dovetail.convert([source], self.path("to-" + name), jobs=1, **options)
                self.assertEqual((report.records, report.formats), (count, (name,)))
                self.assertEqual(report.datasets[0].manifest, self.path("to-" + name, "manifest.dvt"))
                got = self.records_of("to-" + name)
                self.assertEqual(len(got), count)
                if wanted is not None:
                    self.assertEqual(got, wanted)
                verified = dovetail.verify(self.path("to-" + name))
                self.assertTrue(verified.ok)
                self.assertEqual((verified.records, verified.damaged), (count, ()))

    def test_one_path_is_a_list_of_one(self):
        source = write_file(self.path("a.txt"), b"one\ntwo\n")
        for number, path in enumerate((source, source.encode(), pathlib.Path(source))):
            self.assertEqual(dovetail.convert(path, self.path(f"to-{number}")).records, 2)
            self.assertEqual(dovetail.export_tfrecords(path, self.path(f"to-{number}.tfrecord")).records, 2)

    def test_the_report_notes_what_is_probably_not_meant(self):
        source = write_file(self.path("a.csv"), b"a,b\n" + b"1,2\n" * 3 + b"\x1b[2J,2\n")
        report = dovetail.convert([source], self.path("to"), shards=9)
        types, shards = report.notes
        self.assertEqual(types, f'a is bytes because of "\\x1b[2J" in line 5 of {source}; --csv-null names values that '
                                "mean a missing number, --csv-type sets the type of a column")
        self.assertIn("more shards than records", shards)
        self.assertTrue(repr(report).endswith(f">\nnote: {types}\nnote: {shards}"), repr(report))
        good = dovetail.convert([source], self.path("to"), overwrite=True, csv_nulls=["\x1b[2J"])
        self.assertEqual(good.notes, ())
        self.assertEqual(good.schema, dovetail.Dataset(self.path("to")).schema)
        self.assertNotIn("\n", repr(good))
        for part in range(2):
            dovetail.convert([source], self.path("parts"), shards=9, part=(part, 2))
        self.assertEqual(dovetail.merge(self.path("parts")).notes, (shards,))

    def test_the_report_says_what_each_source_was_taken_for(self):
        for name in ("dog", "cat", ".git"):
            os.makedirs(self.path("photos", name))
            write_file(self.path("photos", name, "1"), name.encode())
        report = dovetail.convert([self.path("photos")], self.path("to"), labels=True)
        photos = dovetail.ConvertedSource(self.path("photos"), "folder", {"hidden": 1}, ("cat", "dog"), ())
        self.assertEqual(report.sources, (photos,))
        again = dovetail.convert([self.path("photos")], self.path("as before"), labels=True,
                                 classes=report.sources[0].classes)
        self.assertEqual(again.sources[0].classes, ("cat", "dog"))
        tables = [write_file(self.path(name), b"id,price,name\n1,2.5,a\n2,3.5,b\n") for name in ("a.csv", "b.csv")]
        report = dovetail.convert(tables, self.path("tables"))
        self.assertEqual([source.path for source in report.sources], tables)
        for source in report.sources:
            self.assertEqual((source.format, source.left_out, source.classes), ("csv", {}, ()))
            self.assertEqual(source.columns, (("id", "int64"), ("price", "real"), ("name", "bytes")))

    def test_csv_is_read_as_asked(self):
        table = write_file(self.path("a.csv"), b"1;2.5\n2;3\n")
        report = dovetail.convert([table], self.path("to"), csv_delimiter=";", csv_header=False,
                                  csv_types={"c0": "real"})
        self.assertEqual(report.records, 2)
        self.assertEqual(report.sources[0].columns, (("c0", "real"), ("c1", "real")))
        batch, = dovetail.Reader(self.path("to"), batch=2, order="sequential", columns="c0:f32, c1:f32")
        self.assertEqual((batch["c0"].tolist(), batch["c1"].tolist()), ([1, 2], [2.5, 3]))
        missing = write_file(self.path("b.csv"), b"a,b\n?,NA\nNA,NA\n3,x\n")  # as --csv-null: NA stays one
        report = dovetail.convert([missing], self.path("missing"), csv_nulls=["?"])
        self.assertEqual(report.sources[0].columns, (("a", "int64"), ("b", "bytes")))
        batch, = dovetail.Reader(self.path("missing"), batch=3, order="sequential", columns=True)
        self.assertEqual(batch["a"].tolist(), [-1, -1, 3])
        for options, error, says in (({"csv_delimiter": ";;"}, dovetail.UsageError, "one character"),
                                     ({"csv_delimiter": 3}, TypeError, "csv_delimiter"),
                                     ({"csv_header": "no"}, TypeError, "csv_header"),
                                     ({"csv_nulls": "NA"}, TypeError, "a list of strings"),
                                     ({"csv_types": ["c0"]}, TypeError, "a dict of strings"),
                                     ({"csv_types": {"c0": "float"}}, dovetail.UsageError, "bytes"),
                                     ({"csv_types": {"c9": "real"}}, dovetail.UsageError, "the columns are")):
            with self.assertRaisesRegex(error, says):
                dovetail.convert([table], self.path("no"), **{"csv_delimiter": ";", "csv_header": False} | options)

    def test_integers_of_json_are_read_as_floats_where_some_are(self):
        source = write_file(self.path("a.jsonl"), b'{"x": 1, "y": [1, 2]}\n{"x": 0.5, "y": [3, 4]}\n')
        for schema, y in ((None, "int64"), ("infer", "int64"), ("x:f64, y:f32[2]", "float32")):
            dovetail.convert([source], self.path("to"), records="example", schema=schema, shards=1, overwrite=True)
            batch, = dovetail.Reader(self.path("to"), batch=2, order="sequential", columns=True)
            self.assertEqual((batch["x"].tolist(), batch["y"].tolist()), ([1, 0.5], [[1, 2], [3, 4]]), schema)
            self.assertEqual(batch["y"].dtype, y)

    def test_the_recipes_for_arrays_do_what_they_say(self):
        images = numpy.arange(60, dtype=numpy.uint8).reshape(5, 3, 4)
        labels = numpy.arange(5, dtype=numpy.int64)
        numpy.save(self.path("a.npy"), images)
        numpy.savez(self.path("a.npz"), label=labels, weight=labels / 2)
        for name in ("a.npy", "a.npz"):
            with self.assertRaises(dovetail.UsageError) as raised:
                dovetail.convert([self.path(name)], self.path("refused"))
            code = re.search(r'python3 -c "(.*)"; see docs', str(raised.exception)).group(1)
            code = code.replace("FILE", self.path(name)).replace("DIR", self.path(name + "-packed"))
            subprocess.run([sys.executable, "-c", code], check=True)
        self.assertEqual(self.records_of("a.npy-packed"), [image.tobytes() for image in images])
        batch, = dovetail.Reader(self.path("a.npz-packed"), batch=5, order="sequential",
                                 columns="label:i64, weight:f32")
        self.assertEqual(batch["label"].tolist(), labels.tolist())
        self.assertEqual(batch["weight"].tolist(), (labels / 2).tolist())

    def test_patterns_choose_the_files_of_a_folder(self):
        os.mkdir(self.path("folder"))
        for name in ("a.jpg", "a.txt", "b.jpg"):
            write_file(self.path("folder", name), name.encode())
        for names, options in ((["a.jpg", "b.jpg"], {"include": ["*.jpg"]}),
                               (["b.jpg"], {"include": ["*.jpg"], "exclude": ["a.*"]})):
            dovetail.convert([self.path("folder")], self.path("to"), format="folder", overwrite=True, records="raw",
                             **options)
            self.assertEqual(self.records_of("to"), [name.encode() for name in names])

    def test_progress_is_told_and_rises(self):
        seen = []
        report = dovetail.convert([self.put_lines()], self.path("to"), format="lines", jobs=2, shards=8,
                                  progress=lambda share, records, raw: seen.append((share, records, raw)))
        self.assertEqual(self.records_of("to"), self.lines)
        self.assertTrue(seen)
        for part in range(3):
            values = [each[part] for each in seen]
            self.assertEqual(values, sorted(values))
        self.assertTrue(all(0 <= each[0] <= 1 for each in seen))
        self.assertLessEqual(seen[-1][1], report.records)

    def test_progress_may_stop_it(self):
        source = self.put_lines()

        def fails(*_):
            raise KeyError("mine")

        class Interrupts:
            def __call__(self, *_):
                raise KeyboardInterrupt

        for progress, error in ((lambda *_: False, dovetail.CancelledError), (fails, KeyError),
                                (Interrupts(), KeyboardInterrupt), (lambda: None, TypeError)):
            with self.assertRaises(error):
                dovetail.convert([source], self.path("to"), format="lines", jobs=2, shards=8, progress=progress,
                                 resume=False)
        for goes_on in (None, 0, "", True):
            report = dovetail.convert([source], self.path("to"), format="lines", overwrite=True,
                                      progress=lambda *_: goes_on)
            self.assertEqual(report.records, len(self.lines))

    def test_what_progress_raises_last_is_raised(self):
        calls = []

        def count(*at):
            calls.append(at)

        source = self.put_lines(count=1000)
        dovetail.convert([source], self.path("to"), format="lines", jobs=1, progress=count)

        def last(*at):
            last.calls += 1
            if last.calls == len(calls):
                raise KeyError("mine")

        last.calls = 0
        with self.assertRaises(KeyError):
            dovetail.convert([source], self.path("to"), format="lines", jobs=1, overwrite=True, progress=last)

    def test_damage_in_a_source(self):
        good = b'{"a": 1}\n' * 10
        source = write_file(self.path("a.jsonl"), good + b"{oops\n" + good)
        with self.assertRaises(dovetail.DamagedError) as caught:
            dovetail.convert([source], self.path("to"))
        self.assertEqual((caught.exception.path, caught.exception.offset), (source, len(good)))
        self.assertEqual(caught.exception.code, dovetail.ErrorCode.malformed_input)
        report = dovetail.convert([source], self.path("to"), on_error="skip")
        self.assertEqual((report.records, report.skipped), (20, 1))
        self.assertIsInstance(report.first_skipped[0], dovetail.DamagedError)
        self.assertEqual(report.first_skipped[0].offset, len(good))

    def test_verify_lists_what_is_not_there(self):
        folder = self.path("gaps")
        with dovetail.DatasetWriter(folder, shard_bytes=2_000) as writer:
            writer.extend(b"%0100d" % i for i in range(200))
        shards = [name for name in sorted(os.listdir(folder)) if name.startswith("shard-")]
        for name in shards[1:3]:
            os.remove(os.path.join(folder, name))
        report = dovetail.verify(folder)
        self.assertFalse(report.ok)
        self.assertEqual(report.damaged, ())
        self.assertEqual([os.path.basename(error.path) for error in report.unreadable], shards[1:3])
        self.assertIsInstance(report.unreadable[0], dovetail.MissingFileError)

    def test_verify_lists_all_damage(self):
        source = self.put_lines(count=5000)
        dovetail.convert([source], self.path("to"), format="lines", shards=2, codec="none", block_bytes=1024)
        before = dovetail.verify(self.path("to"))
        shards = dovetail.Dataset(self.path("to")).shard_paths
        for shard, line in ((0, 10), (0, 2000), (1, 4000)):
            data = bytearray(read_file(shards[shard]))
            data[data.index(self.lines[line])] ^= 1
            write_file(shards[shard], data)
        report = dovetail.verify(self.path("to"), threads=2)
        self.assertFalse(report.ok)
        self.assertEqual([place.file for place in report.damaged], [shards[0], shards[0], shards[1]])
        self.assertEqual(report.damaged_places, 3)
        self.assertEqual(report.records, 5000 - sum(len(place.records) for place in report.damaged))
        self.assertEqual(report.blocks, before.blocks - 3)
        self.assertIn(10, report.damaged[0].records)
        self.assertTrue(all(place.reason and place.offset % 64 == 0 for place in report.damaged))

    def test_parts_are_merged(self):
        sources = [self.put_lines(f"{i}.txt", 3000 + i) for i in range(3)]
        dovetail.convert(sources, self.path("whole"), format="lines", shards=7, dataset_id=ID)
        for part in (2, 0, 1):
            with self.assertRaises(dovetail.DovetailError) as caught:
                dovetail.merge(self.path("parts"))
            report = dovetail.convert(sources, self.path("parts"), format="lines", shards=7, dataset_id=ID,
                                      part=(part, 3))
            self.assertEqual(report.datasets, ())
        self.assertIsInstance(caught.exception, dovetail.DamagedError)
        merged = dovetail.merge(self.path("parts"))
        self.assertEqual(merged.records, 9003)
        self.assertEqual((merged.datasets[0].dataset_id, len(merged.datasets[0].shards)), (ID, 7))
        self.assertEqual(self.records_of("parts"), self.records_of("whole"))
        self.assertEqual(sorted(os.listdir(self.path("parts"))), sorted(os.listdir(self.path("whole"))))
        self.assertRaises(dovetail.DovetailError, dovetail.merge, self.path("parts"))

    def test_one_at_a_time_works_on_a_part(self):
        source = self.put_lines()
        said = []

        def again(share, *_):
            if share > 0 and not said:
                try:
                    dovetail.convert([source], self.path("to"), format="lines", shards=4, part=(0, 2), jobs=1)
                except dovetail.BusyError as error:
                    said.append(error)

        dovetail.convert([source], self.path("to"), format="lines", shards=4, part=(0, 2), jobs=1, progress=again)
        self.assertEqual(said[0].code, dovetail.ErrorCode.busy)
        dovetail.convert([source], self.path("to"), format="lines", shards=4, part=(1, 2), jobs=1)
        dovetail.merge(self.path("to"))
        self.assertEqual(self.records_of("to"), self.lines)

    def test_splits_are_datasets_of_their_own(self):
        report = dovetail.convert([self.put_lines()], self.path("to"), format="lines", split="train=0.9,val=0.1")
        self.assertEqual([os.path.dirname(each.manifest) for each in report.datasets],
                         [self.path("to", "train"), self.path("to", "val")])
        self.assertEqual(sorted(self.records_of("to", "train") + self.records_of("to", "val")), sorted(self.lines))


if __name__ == "__main__":
    main()
