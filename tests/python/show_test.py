#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What objects look like, in a session and in a notebook, and what batches become outside."""

import html.parser
import unittest
import warnings

import dovetail
from fixtures import ModuleTest, damage_record, main, np, write_file

try:
    import pandas
except ImportError:
    pandas = None
try:
    import torch
except ImportError:
    torch = None

SCHEMA = "image:u8[2,3], label:i64, tokens:i32[*], name:bytes, tags:bytes[*], half:f16"
ARRAYS = {np.ndarray: ["T"], dovetail.Ragged: ["values", "offsets"], dovetail.Texts: ["characters", "text_offsets"]}
HOSTILE = "<script>alert(1)</script> & \"quoted\""


class Table(html.parser.HTMLParser):
    """The rows of a table as lists of their texts. Fails for what no such table may hold."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.rows, self.caption = set(), [], [], ""
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        assert {name for name, _ in attributes} <= {"style"}, attributes
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        if self.open[-1] == "caption":
            self.caption += data
        else:
            self.rows[-1][-1] += data


def features(i):
    return {"image": np.full((2, 3), i, "u1"), "label": i % 3, "tokens": np.arange(i % 4), "name": f"n{i}",
            "tags": ["a"] * (1 + i % 2), "half": 0.5 * i}


class ExamplesTest(ModuleTest):
    def setUp(self):
        super().setUp()
        self.dataset = dovetail.Dataset(self.make_examples("examples"))

    def make_examples(self, name, schema=SCHEMA, count=40, **options):
        options = {"schema": schema, "shards": 2, "expected_records": count, **options}
        with dovetail.DatasetWriter(self.path(name), **options) as writer:
            writer.extend(dovetail.example(**features(i)) for i in range(count))
        return self.path(name)

    def first(self, **options):
        return self.open_reader(self.dataset, **{"batch": 8, "columns": True, "order": "sequential", **options}).next()


class ShowTest(ExamplesTest):
    def table(self, thing):
        table = Table(thing._repr_html_())
        self.assertLessEqual(table.tags, {"table", "caption", "thead", "tbody", "tr", "th", "td"})
        return table

    def test_every_public_class_shows_what_it_is(self):
        batch = self.first()
        with dovetail.DatasetWriter(self.path("new")) as writer:
            writer.append(b"x")
            self.assertEqual(repr(writer), f'<DatasetWriter "{self.path("new")}": 1 record>')
        self.assertEqual(repr(writer), f'<DatasetWriter "{self.path("new")}", ended>')
        shard = dovetail.Writer(self.path("shard.dvt"))
        for thing, shown in (
                (shard, f'<Writer "{self.path("shard.dvt")}": 0 records>'),
                (dovetail.open(self.dataset), f'<Records of "{self.dataset.path}": 40>'),
                (batch.tensor("ids"), "<Tensor of ids>"),
                (batch.tensor("offsets", column="tokens"), '<Tensor of offsets of column "tokens">'),
                (dovetail.verify(self.dataset.path), "<VerifyReport, good: 40 records in 2 blocks>")):
            self.assertEqual(repr(thing), shown)
        shard.abandon()
        about = repr(self.dataset.describe()).splitlines()
        self.assertEqual(about[0], "<DatasetDescription>")
        self.assertIn("records           40", about)
        self.assertIn("shards            2", about)

    def test_tables_hold_what_there_is(self):
        dataset = self.table(self.dataset)
        self.assertIn(self.dataset.path, dataset.caption)
        self.assertIn(["columns", SCHEMA], dataset.rows)
        self.assertIn(["records", "40"], dataset.rows)
        batch = self.table(self.first())
        self.assertEqual(batch.caption, "Batch of epoch 0, step 0: 8 rows, 8 valid")
        self.assertEqual(batch.rows, [
            ["column", "type", "values"], ["image", "uint8[2,3]", "0 to 7"],
            ["label", "int64", "0, 1, 2, 0, 1, \u2026"],
            ["tokens", "int32[*]", "lengths 0, 1, 2, 3, 0, \u2026"],
            ["name", "bytes", "b'n0', b'n1', b'n2', b'n3', b'n4', \u2026"],
            ["tags", "bytes[*]", "[b'a'], [b'a', b'a'], [b'a'], [b'a', b'a'], [b'a'], \u2026"],
            ["half", "float16", "0.0, 0.5, 1.0, 1.5, 2.0, \u2026"]])
        raw = self.table(self.first(columns=None))
        self.assertEqual(raw.rows[0], ["row", "id", "status", "bytes", "begins with"])
        self.assertEqual(raw.rows[1][:3], ["0", "0", "FIRST"])
        self.assertEqual(len(raw.rows), 1 + 5 + 1)
        plan = self.table(dovetail.Plan(self.dataset, batch=8, seed=3))
        self.assertIn(["steps of epoch 0", "5"], plan.rows)
        self.assertIn(["seed", "3"], plan.rows)
        reader = self.open_reader(self.dataset)
        self.assertIn(["batches", "0"], self.table(reader.stats()).rows)
        self.assertIn("label", [row[0] for row in self.table(self.dataset.features()).rows])
        self.assertIn(["records", "40"], self.table(self.dataset.describe()).rows)
        self.assertEqual(self.table(dovetail.Plan(self.dataset, batch=8).shuffle_report()).rows[0],
                         ["", "plan", "true shuffle"])

    def test_tables_show_hostile_text_as_text(self):
        schema = 'label:i64, "<img onerror=x>":bytes="<b>"'
        path = self.make_examples("<i>name", schema, metadata={HOSTILE: HOSTILE})
        dataset = dovetail.Dataset(path)
        self.assertIn(["metadata", str({HOSTILE: HOSTILE})], self.table(dataset).rows)
        batch = self.open_reader(path, batch=4, columns=True).next()
        self.assertIn(["<img onerror=x>", "bytes", "b'<b>', b'<b>', b'<b>', b'<b>'"], self.table(batch).rows)
        self.table(dataset.describe())

    def test_nothing_of_a_batch_that_is_gone_is_shown(self):
        batch = self.first()
        batch.release()
        self.assertEqual(batch._repr_html_(), "&lt;Batch, released&gt;")

    def test_a_dataset_without_its_shards_still_shows(self):
        for path in self.dataset.shard_paths:
            write_file(path, b"")
        rows = dict(self.table(self.dataset).rows)
        self.assertRegex(rows["columns"], "^cannot be read: ")

    def test_texts_and_ragged_columns_are_iterated_over(self):
        batch = self.first()
        self.assertEqual(list(batch["name"]), batch["name"].to_list())
        self.assertEqual([len(row) for row in batch["tokens"]], [i % 4 for i in range(8)])

    def test_metadata_are_those_of_the_writer(self):
        self.assertEqual(self.dataset.metadata, {})
        path = self.make_examples("described", metadata={"who": "me", "why": "\u00fc"})
        self.assertEqual(dovetail.Dataset(path).metadata, {"who": "me", "why": "\u00fc"})


class CopyTest(ExamplesTest):
    def test_copies_are_writable_and_hold_no_slot(self):
        reader = self.open_reader(self.dataset, batch=8, columns=True, order="sequential", max_held=2)
        copies = [batch.copy() for batch in reader]
        self.assertEqual(len(copies), 5)
        self.assertEqual(list(copies[0]), [*"image label tokens name tags half ids status".split()])
        batch = self.first()
        for name, part in dict(batch).items():
            for of in ARRAYS[type(part)]:
                theirs, ours = getattr(part, of), getattr(copies[0][name], of)
                np.testing.assert_array_equal(theirs, ours)
                self.assertTrue(ours.flags.writeable, (name, of))
        self.assertEqual(copies[0]["tags"].to_list(), batch["tags"].to_list())
        raw = self.first(columns=None)
        copied = raw.copy()
        self.assertEqual(list(copied), ["values", "offsets", "ids", "status"])
        np.testing.assert_array_equal(copied["values"], raw.values)

    def test_a_column_named_as_a_part_is_refused(self):
        batch = self.first(columns='ids:i64=0')
        self.assertRaisesRegex(dovetail.UsageError, '"ids" has the name of a part', batch.copy)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_torch_takes_a_copy_without_a_warning(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            image = torch.from_numpy(self.first().copy()["image"])
        image += 1
        self.assertEqual(int(image[0, 0, 0]), 1)


@unittest.skipIf(pandas is None, "pandas is not installed")
class FrameTest(ExamplesTest):
    def test_a_batch_is_a_frame_by_id(self):
        frame = self.first(batch=48, tail="pad").to_pandas()
        self.assertEqual(list(frame.columns), [*"image label tokens name tags half".split()])
        self.assertEqual((frame.index.name, frame.index.tolist()), ("record", list(range(40))))
        self.assertEqual(frame["label"].tolist(), [i % 3 for i in range(40)])
        self.assertEqual((frame["label"].dtype, frame["half"].dtype), (np.dtype("i8"), np.dtype("f2")))
        self.assertEqual(frame["name"][7], b"n7")
        self.assertEqual(frame["tags"][7], [b"a", b"a"])
        np.testing.assert_array_equal(frame["image"][7], np.full((2, 3), 7))
        np.testing.assert_array_equal(frame["tokens"][7], [0, 1, 2])
        self.assertEqual(frame["label"].value_counts()[0], 14)

    def test_the_index_has_the_name_of_no_column(self):
        for name, index in (("id", "record"), ("record", None)):
            with dovetail.DatasetWriter(self.path(name), schema=name + ":i64") as writer:
                writer.extend(dovetail.example(**{name: 3 - i}) for i in range(3))
            frame = dovetail.Dataset(self.path(name)).to_pandas()
            self.assertEqual(frame.index.name, index)
            self.assertEqual(frame.sort_values(name)[name].tolist(), [1, 2, 3])
            self.assertEqual(len(frame.reset_index().columns), 2)

    def test_frames_hold_no_slot(self):
        reader = self.open_reader(self.dataset, batch=8, columns=True, max_held=2)
        self.assertEqual(len([batch.to_pandas() for batch in reader]), 5)

    def test_a_dataset_is_a_frame_in_its_order(self):
        for options, length in (({}, 40), ({"max_records": 7}, 7), ({"max_records": 0}, 0), ({"max_records": 99}, 40)):
            frame = self.dataset.to_pandas(**options)
            self.assertEqual(frame.index.tolist(), list(range(length)))
            self.assertEqual(frame["label"].tolist(), [i % 3 for i in range(length)])
        self.assertEqual(list(self.dataset.to_pandas("label:i32").dtypes), [np.dtype("i4")])
        records = dovetail.open(self.dataset)
        self.assertEqual(self.dataset.to_pandas(False)["record"].tolist(), list(records))

    def test_a_negative_number_of_records_is_refused(self):
        for number in (-1, -100):
            self.assertRaisesRegex(ValueError, f"max_records={number}", self.dataset.to_pandas, max_records=number)

    def test_rows_of_damaged_records_are_left_out(self):
        records = [b"record %05d" % i for i in range(400)]
        with dovetail.DatasetWriter(self.path("damaged"), codec="none", block_bytes=1024) as writer:
            writer.extend(records)
        damage_record(dovetail.Dataset(self.path("damaged")).shard_paths[0], records[150])
        for policy in ("empty", "substitute"):
            batch = self.open_reader(self.path("damaged"), batch=400, order="sequential", on_damage=policy).next()
            frame = batch.to_pandas()
            self.assertEqual(len(frame), batch.valid)
            self.assertEqual(frame["record"].tolist(), [records[i] for i in frame.index])

    def test_records_without_a_schema_are_bytes(self):
        dataset = dovetail.Dataset(self.make_dataset())
        self.assertEqual(dataset.to_pandas()["record"].tolist(), self.records)

    def test_a_dataset_without_records_is_a_frame_without_rows(self):
        with dovetail.DatasetWriter(self.path("none")):
            pass
        frame = dovetail.Dataset(self.path("none")).to_pandas()
        self.assertEqual((len(frame), frame.index.name), (0, "record"))


if __name__ == "__main__":
    main()
