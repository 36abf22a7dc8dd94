#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Batches: how long their memory stays, and what columns hold."""

import gc
import itertools
import random
import threading
import unittest
import weakref

import dovetail
from fixtures import ModuleTest, main, np, write_dataset

DTYPES = {"u8": "u1", "i8": "i1", "u16": "<u2", "i16": "<i2", "u32": "<u4", "i32": "<i4", "u64": "<u8", "i64": "<i8",
          "f16": "<f2", "f32": "<f4", "f64": "<f8"}

try:
    import torch
except ImportError:
    torch = None

# What of a batch keeps its slot, and how to get at its bytes again.
KEEPERS = {
    "the batch": lambda batch: batch,
    "values": lambda batch: batch.values,
    "offsets": lambda batch: batch.offsets,
    "ids": lambda batch: batch.ids,
    "status": lambda batch: batch.status,
    "a slice": lambda batch: batch.values[3:-3:2],
    "a view of another type": lambda batch: batch.ids.view("i8")[1:],
    "a memoryview": lambda batch: memoryview(batch.values),
    "an array over a memoryview": lambda batch: np.frombuffer(memoryview(batch.ids), dtype="u1")[4:],
    "a tensor": lambda batch: batch.tensor("ids"),
    "a capsule": lambda batch: batch.tensor("ids").__dlpack__(),
    "an array of DLPack": lambda batch: np.from_dlpack(batch.tensor("ids"))[2:],
}
if torch is not None:
    KEEPERS["a tensor of PyTorch"] = lambda batch: torch.from_dlpack(batch.tensor("values"))[1:]
    KEEPERS["a numpy view of one"] = lambda batch: torch.from_dlpack(batch.tensor("values")).numpy()[1:]


class LifetimeTest(ModuleTest):
    def setUp(self):
        super().setUp()
        self.dataset = self.make_dataset()

    def held_at_most(self, reader, keep):
        """How many batches can be kept in this form before the reader refuses."""
        kept = []
        for count in itertools.count():
            try:
                batch = reader.next()
            except dovetail.SlotsHeldError:
                return count, kept
            kept.append(keep(batch))
            del batch

    def test_all_that_looks_into_a_batch_keeps_its_slot(self):
        for name, keep in KEEPERS.items():
            with self.subTest(kept=name):
                reader = self.open_reader(self.dataset, max_held=3)
                count, kept = self.held_at_most(reader, keep)
                self.assertEqual(count, 3)
                for _ in range(3):  # it stays refused, and each one that goes makes room for one
                    self.assertRaises(dovetail.SlotsHeldError, reader.next)
                for room in (1, 2, 3):
                    del kept[:room]
                    gc.collect()
                    more = [keep(reader.next()) for _ in range(room)]
                    self.assertRaises(dovetail.SlotsHeldError, reader.next)
                    kept += more
                    del more

    def test_the_refusal_loses_no_batch(self):
        reader = self.open_reader(self.dataset, max_held=1)
        plan = reader.plan
        for step in range(10):
            kept = reader.next().ids
            self.assertRaises(dovetail.SlotsHeldError, reader.next)
            self.assertEqual((reader.epoch, reader.step), (0, step + 1))
            np.testing.assert_array_equal(kept, plan.rows(0, step)[0])
            del kept

    def test_what_is_not_kept_frees_the_slot(self):
        reader = self.open_reader(self.dataset, max_held=1)
        for _ in range(10):
            batch = reader.next()
            known = weakref.ref(batch)
            del batch
            self.assertIsNone(known())
        copies = []
        for _ in range(10):
            batch = reader.next()
            copies.append((batch.values.copy(), batch.rows(), batch.values + 1))
            batch.release()
        self.assertEqual(len(copies), 10)

    def test_batches_in_cycles_are_freed_by_the_collector(self):
        reader = self.open_reader(self.dataset, max_held=1)
        cycle = [reader.next()]
        cycle.append(cycle)
        self.assertRaises(dovetail.SlotsHeldError, reader.next)
        del cycle
        gc.collect()
        self.assertIsNotNone(reader.next())

    def test_arrays_stay_as_they_are_whatever_becomes_of_the_rest(self):
        seed = random.SystemRandom().randrange(1 << 32)
        print(f"seed {seed}")
        draws = random.Random(seed)
        for _ in range(30):
            reader = dovetail.Reader(self.dataset, batch=16, rank=0, world=1, io_threads=2, max_held=4,
                                     prefetch=draws.randrange(1, 4))
            parts, wanted = [], []
            things = [reader]
            for _ in range(4):
                batch = reader.next()
                for take in (lambda b: b.values, lambda b: b.ids, lambda b: np.from_dlpack(b.tensor("offsets"))):
                    parts.append(take(batch))
                    wanted.append(parts[-1].copy())
                things.append(batch)
            how = draws.choice(["close", "release", "drop"])
            del batch
            draws.shuffle(things)
            while things:
                thing = things.pop()
                if how == "close" and isinstance(thing, dovetail.Reader):
                    thing.close()
                elif how == "release" and isinstance(thing, dovetail.Batch):
                    thing.release()
                del thing
            del things, reader
            gc.collect()
            order = list(range(len(parts)))
            draws.shuffle(order)
            for i in order:
                np.testing.assert_array_equal(parts[i], wanted[i])
                parts[i] = None

    def test_a_slot_is_not_refilled_under_an_array(self):
        reader = self.open_reader(self.dataset, max_held=3, prefetch=2)
        kept = reader.next().values[5:50]
        before = kept.copy()
        for batch in itertools.islice(iter(reader), 20):
            pass
        del batch
        np.testing.assert_array_equal(kept, before)

    def test_release_is_for_the_batch_alone(self):
        reader = self.open_reader(self.dataset, max_held=1)
        batch = reader.next()
        ids = batch.ids
        before = ids.copy()
        batch.release()
        batch.release()  # does nothing
        self.assertRaises(dovetail.SlotsHeldError, reader.next)  # the array keeps it
        np.testing.assert_array_equal(ids, before)
        del ids
        with reader.next() as batch:
            self.assertEqual(batch.step, 1)
        self.assertRaises(dovetail.ClosedError, lambda: batch.ids)
        self.assertEqual(reader.next().step, 2)

    def test_a_batch_may_be_released_by_another_thread(self):
        reader = self.open_reader(self.dataset, max_held=1)
        for _ in range(10):
            held = [reader.next().values]
            thread = threading.Thread(target=held.clear)
            thread.start()
            thread.join()


class ContentTest(ModuleTest):
    def test_a_batch_describes_itself(self):
        reader = self.open_reader(self.make_dataset(), batch=16, tail="pad")
        batch = reader.next()
        self.assertEqual((len(batch), batch.epoch, batch.step, batch.valid), (16, 0, 0, 16))
        self.assertEqual(batch.registered, False)
        self.assertEqual(batch.columns, [])
        self.assertEqual(batch.rows(), [self.records[i] for i in batch.ids])
        self.assertEqual([batch.row(i) for i in range(-16, 16)], batch.rows() * 2)
        for i in (16, -17, 2**40):
            self.assertRaises(IndexError, batch.row, i)
        self.assertEqual(reader.state_dict()["state"], batch.state())
        form = {name: (getattr(batch, name).dtype, getattr(batch, name).shape)
                for name in ("values", "offsets", "ids", "status")}
        self.assertEqual(form, {"values": (np.dtype("u1"), (sum(map(len, batch.rows())),)),
                                "offsets": (np.dtype("i8"), (17,)), "ids": (np.dtype("u8"), (16,)),
                                "status": (np.dtype("u1"), (16,))})

    def test_arrays_cannot_be_written_to(self):
        batch = self.open_reader(self.make_dataset()).next()
        for name in ("values", "offsets", "ids", "status"):
            array = getattr(batch, name)
            with self.subTest(array=name):
                with self.assertRaises(ValueError):
                    array[0] = 0
                with self.assertRaises(ValueError):
                    array.flags.writeable = True
                self.assertTrue(memoryview(array).readonly)
                self.assertFalse(array.flags.owndata)

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_what_is_written_to_tensors_leads_nowhere_else(self):
        reader = self.open_reader(self.make_dataset(), max_held=9)
        writes = {"far": lambda offsets: offsets.add_(2**40), "last": lambda offsets: offsets[-1:].add_(2**33),
                  "negative": lambda offsets: offsets.sub_(2**40), "first": lambda offsets: offsets[:1].sub_(64),
                  "crossed": lambda offsets: offsets.copy_(offsets.flip(0))}
        for name, write in writes.items():
            with self.subTest(write=name):
                batch = reader.next()
                values = batch.values
                before, tensor = values.copy(), batch.tensor()
                write(torch.from_dlpack(batch.tensor("offsets")))
                self.assertEqual(len(batch.values), len(before))
                np.testing.assert_array_equal(batch.values, before)
                self.assertRaisesRegex(dovetail.UsageError, "written to", batch.rows)
                for row in range(16):
                    try:
                        self.assertLessEqual(len(batch.row(row)), len(before))
                    except dovetail.UsageError as error:
                        self.assertIn("written to", str(error))
                for part in (tensor, batch.tensor("rows")):
                    try:
                        self.assertLessEqual(torch.from_dlpack(part).numel(), len(before))
                    except dovetail.UsageError:
                        pass

    @unittest.skipIf(torch is None, "PyTorch is not installed")
    def test_what_is_written_to_tensors_goes_when_the_slot_is_filled_again(self):
        records = [bytes([i % 251]) * 1024 for i in range(1024)]  # of one size: read blocks go straight to their rows
        dataset = write_dataset(self.path("one_size"), records, block_bytes=64 * 1024, run_records=64)
        reader = self.open_reader(dataset, batch=64, epochs=4)
        for _ in range(4):
            for batch in reader:
                self.assertEqual(batch.rows(), [records[i] for i in batch.ids])
                self.assertEqual(batch.valid, 64)
                torch.from_dlpack(batch.tensor("offsets")).add_(2**40)
                torch.from_dlpack(batch.tensor("status")).fill_(77)
        self.assertEqual(reader.stats()["bytes"], 4 * 1024 * 1024)

    def test_a_batch_is_asked_for_columns_and_not_iterated(self):
        batch = self.open_reader(self.make_dataset()).next()
        self.assertNotIn("x", batch)
        for call in (list, iter):
            self.assertRaisesRegex(TypeError, "Batch", call, batch)
        batch = self.open_reader(self.make_dataset(longest=0, name="empty"), columns="x:i64=1").next()
        self.assertIn("x", batch)
        for other in ("y", 3, None, b"x"):
            self.assertNotIn(other, batch)
        batch.release()
        self.assertRaises(dovetail.ClosedError, lambda: "x" in batch)

    def test_parts_are_not_copied(self):
        batch = self.open_reader(self.make_dataset()).next()
        for name in ("values", "offsets", "ids", "status"):
            first = getattr(batch, name).ctypes.data
            self.assertEqual(first, getattr(batch, name).ctypes.data)
            self.assertEqual(first % 256, 0)
            self.assertEqual(first, np.from_dlpack(batch.tensor(name)).ctypes.data)

    def test_tensors_hold_what_arrays_hold(self):
        batch = self.open_reader(self.make_dataset(seed=5)).next()
        for name in ("values", "offsets", "ids", "status"):
            tensor = batch.tensor(name)
            self.assertEqual(tensor.__dlpack_device__(), (1, 0))
            tensor.__dlpack__(max_version=(1, 1), dl_device=(1, 0), copy=False)  # as newer consumers ask
            for asked in ({"copy": True}, {"dl_device": (2, 0)}):
                with self.assertRaises(BufferError):
                    tensor.__dlpack__(**asked)
            np.testing.assert_array_equal(np.from_dlpack(tensor).view("u1"), getattr(batch, name).view("u1"))
            np.testing.assert_array_equal(np.from_dlpack(tensor), np.from_dlpack(tensor))  # as often as asked for

    def test_rows_of_one_size_are_a_matrix(self):
        records = [bytes([i, i, 0, 0]) for i in range(64)]  # an array of the list would drop the zeros
        batch = self.open_reader(write_dataset(self.path("fixed"), records), batch=8).next()
        rows = np.from_dlpack(batch.tensor("rows"))
        self.assertEqual(rows.shape, (8, 4))
        self.assertEqual([row.tobytes() for row in rows], [records[id] for id in batch.ids])
        mixed = self.open_reader(self.make_dataset()).next()
        with self.assertRaises(dovetail.UsageError):
            mixed.tensor("rows").__dlpack__()

    def test_what_is_not_there_is_named(self):
        batch = self.open_reader(self.make_dataset()).next()
        self.assertRaisesRegex(ValueError, '"values", "rows", "offsets", "ids", "status"', batch.tensor, "labels")
        self.assertRaisesRegex(TypeError, "part must be", batch.tensor, 3)
        self.assertRaisesRegex(dovetail.UsageError, r"give the reader columns=", lambda: batch["label"])
        self.assertRaisesRegex(dovetail.UsageError, r"give the reader columns=", batch.tensor, column="label")


class ColumnTest(ModuleTest):
    def columns_of(self, features, schema, batch=4, **options):
        """The first batch of these examples in their order."""
        with dovetail.DatasetWriter(self.path("columns"), overwrite=True) as writer:
            writer.extend(dovetail.example(**each) for each in features)
        return self.open_reader(self.path("columns"), batch=batch, order="sequential", columns=schema, **options).next()

    def test_dense_columns_of_every_type_hold_what_numpy_held(self):
        draws = np.random.default_rng(3)
        for name, dtype in DTYPES.items():
            with self.subTest(dtype=name):
                floats = name.startswith("f")
                limits = None if floats else np.iinfo(dtype)
                # Integers come as int64, so that of u64 only the lower half can be written.
                high = None if floats else min(limits.max, 2**63 - 1)
                given = [draws.normal(size=6).astype("f2").astype("f4") if floats else
                         draws.integers(limits.min, high, size=6, dtype="i8", endpoint=True) for _ in range(4)]
                if not floats:
                    given[0][:2] = limits.min, high
                batch = self.columns_of([{"x": each} for each in given], f"x:{name}[2,3]")
                column = batch["x"]
                self.assertEqual((column.dtype, column.shape), (np.dtype(dtype), (4, 2, 3)))
                np.testing.assert_array_equal(column, np.stack(given).astype(dtype).reshape(4, 2, 3))
                self.assertFalse(column.flags.writeable)
                np.testing.assert_array_equal(np.from_dlpack(batch.tensor(column="x")), column)

    def test_bytes_of_arrays_are_columns_as_well(self):
        images = [np.arange(12, dtype="u1") + 10 * i for i in range(4)]
        batch = self.columns_of([{"image": image, "label": i} for i, image in enumerate(images)],
                                "image:u8[3,4], label:i32")
        self.assertEqual(batch.columns, ["image", "label"])
        np.testing.assert_array_equal(batch["image"], np.stack(images).reshape(4, 3, 4))
        np.testing.assert_array_equal(batch["label"], [0, 1, 2, 3])
        self.assertEqual(batch["label"].dtype, np.dtype("i4"))

    def test_batches_show_what_they_hold(self):
        batch = self.columns_of([{"x": np.arange(i), "t": b"abc", "label": i} for i in range(4)],
                                "x:i64[*], t:bytes, label:i64")
        self.assertEqual(batch.keys(), ["x", "t", "label"])
        self.assertEqual([name for name, _ in batch.items()], batch.keys())
        columns = dict(batch)
        np.testing.assert_array_equal(columns["label"], range(4))
        self.assertEqual(columns["t"].to_list(), [b"abc"] * 4)
        self.assertRegex(repr(batch), r"^<Batch of epoch 0, step 0: 4 rows, 4 valid, .*x.*label.*>$")
        self.assertEqual(repr(columns["x"]), "<Ragged of 4 rows: 6 items of int64[]>")
        self.assertEqual(repr(columns["t"]), "<Texts of 4 rows: 4 texts, 12 bytes>")
        del columns
        batch.release()
        self.assertEqual(repr(batch), "<Batch, released>")

        reader = self.open_reader(self.make_dataset(), batch=16)
        batch = reader.next()
        self.assertEqual(dict(batch), {})
        self.assertRegex(repr(batch), r"^<Batch of epoch 0, step 0: 16 rows, 16 valid, \d+ bytes>$")
        self.assertEqual(repr(reader), "<Reader at epoch 0, step 1: batch 16, world 1>")
        self.assertRegex(repr(reader.plan.epoch(0)),
                         r"^<EpochPlan 0: \d+ steps of \d+ records, \d+ dropped, 0 rows padded>$")
        reader.close()
        self.assertEqual(repr(reader), "<Reader, closed>")

    def test_names_of_columns_are_shown_as_they_are(self):
        batch = self.columns_of([{"gr\u00f6\u00dfe": 1, "a\nb": 2}] * 4, '"gr\u00f6\u00dfe":i64, "a\\x0ab":i64')
        self.assertIn('"gr\u00f6\u00dfe":i64, "a\\x0ab":i64>', repr(batch))
        batch = self.columns_of([{"\u00f6" * 200: 1}] * 4, '"' + "\u00f6" * 200 + '":i64')
        self.assertTrue(repr(batch).endswith("\u00f6...>"), repr(batch))

    def test_ragged_columns(self):
        tokens = [np.arange(n, dtype="i8") for n in (3, 1, 5, 2)]
        pairs = [np.arange(2 * n, dtype="f4") for n in (2, 1, 3, 1)]
        batch = self.columns_of([{"tokens": a, "pairs": b} for a, b in zip(tokens, pairs)],
                                "tokens:i32[*], pairs:f32[*,2]")
        column = batch["tokens"]
        self.assertIsInstance(column, dovetail.Ragged)
        self.assertEqual(len(column), 4)
        self.assertEqual((column.values.dtype, column.offsets.dtype), (np.dtype("i4"), np.dtype("i8")))
        np.testing.assert_array_equal(column.offsets, [0, 3, 4, 9, 11])
        for i, row in enumerate(column):
            np.testing.assert_array_equal(row, tokens[i])
            np.testing.assert_array_equal(column[i - 4], tokens[i])
        for i in (4, -5):
            self.assertRaises(IndexError, lambda: column[i])
        for part in (slice(1, 3), slice(None, None, -2), slice(9, None)):
            self.assertEqual([row.tolist() for row in column[part]], [row.tolist() for row in tokens[part]])
        for wrong in ("x", 1.0, None):
            self.assertRaises(TypeError, lambda: column[wrong])
        np.testing.assert_array_equal(batch["pairs"][2], pairs[2].reshape(3, 2))
        self.assertEqual(batch["pairs"].values.shape, (7, 2))
        np.testing.assert_array_equal(np.from_dlpack(batch.tensor("offsets", column="pairs")), [0, 2, 3, 6, 7])

    def test_texts(self):
        names = ["one", "", "drei", "\u56db"]
        tags = [["a", "bc"], ["d"], [""], ["x", "", "yz"]]
        batch = self.columns_of([{"name": n, "tags": t} for n, t in zip(names, tags)], "name:bytes, tags:bytes[*]")
        column = batch["name"]
        self.assertIsInstance(column, dovetail.Texts)
        self.assertEqual((len(column), column.shape, column.offsets), (4, (), None))
        self.assertEqual(column.to_list(), [name.encode() for name in names])
        self.assertEqual([column[i] for i in (-1, -4)], [names[3].encode(), b"one"])
        self.assertEqual([column.text(t) for t in (0, 3, -1, -2)],
                         [b"one", names[3].encode(), names[3].encode(), b"drei"])
        for t in (4, -5):
            self.assertRaises(IndexError, column.text, t)
            self.assertRaises(IndexError, lambda: column[t])
        self.assertEqual(column[::-1], column.to_list()[::-1])
        self.assertEqual(batch["tags"][1:3], batch["tags"].to_list()[1:3])
        self.assertEqual(column.characters.tobytes(), "".join(names).encode())
        self.assertEqual(batch["tags"].to_list(), [[t.encode() for t in row] for row in tags])
        np.testing.assert_array_equal(batch["tags"].offsets, [0, 2, 3, 4, 7])
        np.testing.assert_array_equal(np.from_dlpack(batch.tensor("text_offsets", column="name")), column.text_offsets)

    def test_arrays_of_texts_keep_every_byte(self):
        texts = [b"ab\0\0", b"", b"\0", b"abc"]
        batch = self.columns_of([{"d": text, "one": [text], "tags": [text] * (1 + i % 2)}
                                 for i, text in enumerate(texts)], "d:bytes, one:bytes[*], tags:bytes[*]")
        for of in (batch, batch.copy()):
            for name in batch.columns:
                with self.subTest(column=name, of=type(of).__name__):
                    array = np.asarray(of[name])
                    self.assertEqual((array.dtype, array.shape), (np.dtype(object), (4,)))
                    self.assertEqual(array.tolist(), of[name].to_list())
        self.assertEqual(np.array(batch["d"], dtype="S4").dtype, np.dtype("S4"))  # as asked for
        with self.assertRaisesRegex(ValueError, "without a copy"):
            batch["d"].__array__(copy=False)

    def test_rows_without_a_record_are_zeros(self):
        batch = self.columns_of([{"x": 7, "t": np.array([1, 2]), "s": "a"}] * 3, "x:i64, t:i64[*], s:bytes",
                                batch=5, tail="pad")
        np.testing.assert_array_equal(batch["x"], [7, 7, 7, 0, 0])
        np.testing.assert_array_equal(batch["t"].offsets, [0, 2, 4, 6, 6, 6])
        self.assertEqual(batch["s"].to_list(), [b"a"] * 3 + [b""] * 2)
        np.testing.assert_array_equal(batch.status, [1, 1, 1, 0, 0])
        self.assertEqual(batch.valid, 3)
        self.assertEqual(batch.ids[3], dovetail.NO_ID)

    def test_columns_keep_the_slot(self):
        schema = "x:i64, t:i64[*], s:bytes, v:bytes[*]"
        self.columns_of([{"x": i, "t": np.arange(i % 5), "s": str(i), "v": ["a"] * (i % 3 + 1)} for i in range(80)],
                        schema)
        takes = {"dense": lambda batch: batch["x"], "ragged": lambda batch: batch["t"],
                 "a row of it": lambda batch: batch["t"][1], "texts": lambda batch: batch["s"],
                 "many texts": lambda batch: batch["v"].offsets,
                 "a tensor": lambda batch: np.from_dlpack(batch.tensor(column="x"))}
        for name, take in takes.items():
            with self.subTest(kept=name):
                reader = self.open_reader(self.path("columns"), batch=4, columns=schema, max_held=1)
                kept = take(reader.next())
                self.assertRaises(dovetail.SlotsHeldError, reader.next)
                del kept
                self.assertIsNotNone(reader.next())

    def test_the_schema_of_the_writer_is_taken_where_asked_for(self):
        with dovetail.DatasetWriter(self.path("named"), schema="x:i64") as writer:
            writer.extend(dovetail.example(x=i) for i in range(8))
        reader = self.open_reader(self.path("named"), batch=8, columns=True, order="sequential")
        np.testing.assert_array_equal(reader.next()["x"], range(8))
        self.assertEqual(dovetail.Dataset(self.path("named")).schema, "x:i64")
        with dovetail.DatasetWriter(self.path("unnamed")) as writer:
            writer.append(dovetail.example(x=1))
        with self.assertRaisesRegex(ValueError, "names no schema.*inspect PATH --features.*--schema infer"):
            self.open_reader(self.path("unnamed"), columns=True)
        with self.assertRaisesRegex(ValueError, "no tf.train.Examples.*map=.*lines of text again with --records ex"):
            self.open_reader(self.make_dataset(), columns=True)
        with dovetail.DatasetWriter(self.path("lines")) as writer:
            writer.append(b'{"x": 1}')
        with self.assertRaisesRegex(ValueError, "records are JSON.*`dovetail cat OLD . dovetail convert - --records"):
            self.open_reader(self.path("lines"), columns=True)
        with self.assertRaisesRegex(ValueError, "True takes all columns"):  # the command has --columns all
            self.open_reader(self.path("named"), columns="all")
        with self.assertRaisesRegex(TypeError, 'a list of names, or one text, such as "image:u8.*, not dict'):
            self.open_reader(self.path("named"), columns={"x": "i64"})
        with self.assertRaisesRegex(KeyError, 'the batch has no column "y"; it has: x'):
            self.open_reader(self.path("named"), batch=8, columns=True).next()["y"]

    def test_names_pick_columns_of_the_schema(self):
        path = self.path("wide")
        with dovetail.DatasetWriter(path, schema='x:i64=-1, "a b":bytes, y:f32[2]') as writer:
            writer.extend(dovetail.example(**{"a b": b"t", "y": [i, 2]}) for i in range(8))
        for names in (["a b", "x"], ("a b", "x")):
            batch = self.open_reader(path, batch=8, columns=names).next()
            self.assertEqual(batch.columns, ["a b", "x"])
            self.assertEqual(list(batch["x"]), [-1] * 8)  # the fallback of the schema
        self.assertEqual(list(dovetail.Dataset(path).to_pandas(columns=["y"]).columns), ["y"])
        with self.assertRaisesRegex(ValueError, 'the schema has no column "z"; it has: x:i64=-1, "a b":bytes, y:f'):
            self.open_reader(path, columns=["x", "z"])
        with self.assertRaisesRegex(TypeError, "names no column"):
            self.open_reader(path, columns=[])
        with self.assertRaisesRegex(TypeError, "a name in columns must be a string, not int"):
            self.open_reader(path, columns=["x", 1])
        with self.assertRaisesRegex(ValueError, "no tf.train.Examples"):
            self.open_reader(self.make_dataset(), columns=["x"])


if __name__ == "__main__":
    main()
