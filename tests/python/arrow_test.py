#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Batches and datasets for readers of Arrow: by the structures of the interface, and as DuckDB reads them.

DuckDB is libduckdb.so, which is looked for as other libraries are, or named by DOVETAIL_DUCKDB. npm's package
@duckdb/node-bindings-linux-x64 has one."""

import ctypes
import ctypes.util
import gc
import os
import unittest

import dovetail
from fixtures import ModuleTest, damage_record, main, np

DUCKDB = os.environ.get("DOVETAIL_DUCKDB") or ctypes.util.find_library("duckdb")
SCHEMA = "image:u8[2,3], label:i64, tokens:i32[*], pairs:f32[*,2], name:bytes, tags:bytes[*], half:f16"
DTYPES = {"C": "u1", "c": "i1", "S": "u2", "s": "i2", "I": "u4", "i": "i4", "L": "u8", "l": "i8", "e": "f2", "f": "f4",
          "g": "f8"}


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


def pointers(kind):
    return ctypes.POINTER(ctypes.POINTER(kind))


Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p),
                   ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", pointers(Schema)),
                   ("dictionary", ctypes.c_void_p), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))),
                   ("private_data", ctypes.c_void_p)]
Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                  ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                  ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", pointers(Array)),
                  ("dictionary", ctypes.c_void_p), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))),
                  ("private_data", ctypes.c_void_p)]
Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))),
                   ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))),
                   ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(Stream))),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))), ("private_data", ctypes.c_void_p)]


def structure(capsule, name, kind):
    """Borrows the structure that a capsule owns."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return kind.from_address(get(capsule, name))


def numbers(address, dtype, count):
    if count == 0:
        return np.empty(0, dtype)
    size = np.dtype(dtype).itemsize * count
    return np.frombuffer((ctypes.c_char * size).from_address(address), dtype)


def values(schema, array):
    """The values of an array, as lists, bytes and numbers, by its format alone."""
    kind, rows = schema.format.decode(), array.length
    assert array.null_count == array.offset == 0 and not array.buffers[0] and schema.n_children == array.n_children
    children = [(schema.children[i].contents, array.children[i].contents) for i in range(array.n_children)]
    if kind == "+s":
        return {of.name.decode(): values(of, part) for of, part in children}
    if kind.startswith("+w:"):
        size, items = int(kind[3:]), values(*children[0])
        assert len(items) == size * rows
        return [items[i * size:(i + 1) * size] for i in range(rows)]
    if kind not in DTYPES:
        ends = numbers(array.buffers[1], "i8", rows + 1).tolist()
        if kind == "+L":
            items = values(*children[0])
            assert len(items) == ends[-1]
        else:
            assert kind == "Z" and array.n_buffers == 3
            items = numbers(array.buffers[2], "u1", ends[-1]).tobytes()
        return [items[ends[i]:ends[i + 1]] for i in range(rows)]
    assert array.n_buffers == 2
    return numbers(array.buffers[1], DTYPES[kind], rows).tolist()


def batch_values(batch):
    capsules = batch.__arrow_c_array__()
    return values(structure(capsules[0], b"arrow_schema", Schema), structure(capsules[1], b"arrow_array", Array))


def stream_values(dataset):
    """The values of all batches of a stream, which are all held at a time. Errors: as OSError."""
    capsule = dataset.__arrow_c_stream__()
    stream, schema, arrays = structure(capsule, b"arrow_array_stream", Stream), Schema(), []
    assert stream.get_schema(stream, schema) == 0
    while True:
        array = Array()
        failed = stream.get_next(stream, array)
        if failed:
            raise OSError(failed, stream.get_last_error(stream).decode())
        if not array.release:
            break
        arrays.append(array)
    del capsule
    gc.collect()
    found = {schema.children[i].contents.name.decode(): [] for i in range(schema.n_children)}
    for array in arrays:
        for name, part in values(schema, array).items():
            found[name] += part
        array.release(array)
    schema.release(schema)
    return found


def expected(i):
    return {"image": [[i, i, i]] * 2, "label": i % 3, "tokens": list(range(i % 4)),
            "pairs": [[float(j), float(j)] for j in range(1 + i % 2)], "name": b"n%d" % i, "tags": [b"a"] * (1 + i % 2),
            "half": 0.5 * i}


class ExamplesTest(ModuleTest):
    def setUp(self):
        super().setUp()
        self.dataset = self.make_examples(40)
        self.wanted = {name: [expected(i)[name] for i in range(40)] for name in expected(0)}

    def make_examples(self, count, name="examples", schema=SCHEMA, **options):
        with dovetail.DatasetWriter(self.path(name), schema=schema, **options) as writer:
            for i in range(count):
                given = dict(expected(i), image=np.full(6, i, "u1"), tokens=np.arange(i % 4),
                             pairs=np.arange(1 + i % 2, dtype="f4").repeat(2))
                writer.append(dovetail.example(**given))
        return dovetail.Dataset(self.path(name))

    def first(self, **options):
        return self.open_reader(self.dataset, **{"batch": 40, "columns": True, "order": "sequential", **options}).next()


class ArrowTest(ExamplesTest):
    def test_columns_of_every_type_are_arrays(self):
        self.assertEqual(batch_values(self.first()), self.wanted)
        for dtype in ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"):
            self.assertEqual(batch_values(self.first(columns=f"label:{dtype}"))["label"], self.wanted["label"])

    def test_rows_without_columns_are_records(self):
        self.assertEqual(batch_values(self.first(columns=None)), {"record": list(dovetail.open(self.dataset))})

    def test_rows_without_a_record_stay_in_a_batch(self):
        found = batch_values(self.first(batch=48, tail="pad"))
        self.assertEqual((found["label"][40:], found["tags"][40:]), ([0] * 8, [[]] * 8))

    def test_arrays_keep_the_slot_as_long_as_they_live(self):
        reader = self.open_reader(self.dataset, batch=8, columns=True, max_held=1)
        kept = reader.next().__arrow_c_array__()
        self.assertRaises(dovetail.SlotsHeldError, reader.next)
        moved = Array()  # as a consumer takes a child away before it releases its parent
        array = structure(kept[1], b"arrow_array", Array)
        ctypes.memmove(ctypes.byref(moved), array.children[1], ctypes.sizeof(Array))
        array.children[1].contents.release = type(array.release)()
        del kept, array
        gc.collect()
        self.assertRaises(dovetail.SlotsHeldError, reader.next)
        moved.release(moved)
        self.assertIsNotNone(reader.next())

    def test_offsets_that_were_written_to_are_refused(self):
        for columns, place in ((None, {}), (True, {"column": "tokens"}), (True, {"column": "pairs"}),
                               (True, {"column": "tags"}), (True, {"column": "name"})):
            batch = self.first(columns=columns)
            part = "text_offsets" if place.get("column") == "name" else "offsets"
            offsets = np.from_dlpack(batch.tensor(part, **place))
            written = np.frombuffer((ctypes.c_char * offsets.nbytes).from_address(offsets.ctypes.data), "i8")
            for place_written, number in ((3, 1 << 40), (-1, written[-1] + 1)):
                before, written[place_written] = written[place_written], number
                self.assertRaisesRegex(dovetail.UsageError, "offsets of the batch were written to",
                                       batch.__arrow_c_array__)
                written[place_written] = before
            batch.__arrow_c_array__()

    def test_a_dataset_streams_its_records_in_order(self):
        self.assertEqual(stream_values(self.dataset), self.wanted)
        raw = dovetail.Dataset(self.make_dataset(3000))
        self.assertEqual(stream_values(raw), {"record": self.records})
        with dovetail.DatasetWriter(self.path("none")):
            pass
        self.assertEqual(stream_values(dovetail.Dataset(self.path("none"))), {"record": []})

    def test_damage_ends_a_stream_with_its_place(self):
        records = [b"record %05d" % i for i in range(3000)]
        with dovetail.DatasetWriter(self.path("data"), codec="none") as writer:
            writer.extend(records)
        dataset = dovetail.Dataset(self.path("data"))
        damage_record(dataset.shard_paths[0], records[2900])
        with self.assertRaisesRegex(OSError, dataset.shard_paths[0]):
            stream_values(dataset)


@unittest.skipUnless(DUCKDB, "there is no libduckdb.so; DOVETAIL_DUCKDB may name one")
class DuckdbTest(ExamplesTest):
    def query(self, capsule, text):
        """All cells of the answer as texts, row by row."""
        duckdb = ctypes.CDLL(DUCKDB)
        duckdb.duckdb_value_varchar.restype = ctypes.c_void_p
        database, connection = ctypes.c_void_p(), ctypes.c_void_p()
        self.assertEqual(duckdb.duckdb_open(None, ctypes.byref(database)), 0)
        self.assertEqual(duckdb.duckdb_connect(database, ctypes.byref(connection)), 0)
        stream = ctypes.byref(structure(capsule, b"arrow_array_stream", Stream))
        self.assertEqual(duckdb.duckdb_arrow_scan(connection, b"data", stream), 0)
        result = (ctypes.c_uint64 * 16)()
        failed = duckdb.duckdb_query(connection, text.encode(), ctypes.byref(result))
        duckdb.duckdb_result_error.restype = ctypes.c_char_p
        self.assertEqual(failed, 0, duckdb.duckdb_result_error(ctypes.byref(result)))
        duckdb.duckdb_row_count.restype = duckdb.duckdb_column_count.restype = ctypes.c_uint64
        rows = []
        for row in range(duckdb.duckdb_row_count(ctypes.byref(result))):
            rows.append([])
            for column in range(duckdb.duckdb_column_count(ctypes.byref(result))):
                cell = duckdb.duckdb_value_varchar(ctypes.byref(result), ctypes.c_uint64(column), ctypes.c_uint64(row))
                rows[-1].append(ctypes.string_at(cell).decode())
        duckdb.duckdb_destroy_result(ctypes.byref(result))
        duckdb.duckdb_disconnect(ctypes.byref(connection))
        duckdb.duckdb_close(ctypes.byref(database))
        return rows

    def test_duckdb_reads_a_dataset(self):
        dataset = self.make_examples(40, "without half", SCHEMA.replace(", half:f16", ""))  # which it does not know
        rows = self.query(dataset.__arrow_c_stream__(),
                          "SELECT label, image::VARCHAR, tokens::VARCHAR, pairs::VARCHAR, decode(name), tags::VARCHAR "
                          "FROM data")
        self.assertEqual([row[0] for row in rows], [str(i % 3) for i in range(40)])
        self.assertEqual([row[1] for row in rows], [str(expected(i)["image"]) for i in range(40)])
        self.assertEqual([row[2] for row in rows], [str(expected(i)["tokens"]) for i in range(40)])
        self.assertEqual([row[3] for row in rows], [str(expected(i)["pairs"]) for i in range(40)])
        self.assertEqual([row[4] for row in rows], [f"n{i}" for i in range(40)])
        self.assertEqual([row[5] for row in rows], [str(["a"] * (1 + i % 2)).replace("'", "") for i in range(40)])

    def test_duckdb_counts_records(self):
        raw = dovetail.Dataset(self.make_dataset(3000))
        rows = self.query(raw.__arrow_c_stream__(), "SELECT count(*), sum(octet_length(record)) FROM data")
        self.assertEqual(rows, [["3000", str(raw.raw_bytes)]])


if __name__ == "__main__":
    main()
