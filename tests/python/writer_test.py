#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writers: what a record may be, what an exception leaves, and what options do."""

import array
import ctypes
import os
import shutil
import subprocess
import unittest
import unittest.mock
import warnings
from concurrent.futures import ThreadPoolExecutor

import dovetail
from fixtures import ModuleTest, main, make_records, np, write_file


COMMAND = os.path.join(os.path.dirname(os.path.abspath(dovetail.__file__)), "..", "..", "..", "tools", "dovetail")


class WriterTest(ModuleTest):
    def written(self, name="a.dvt"):
        return list(dovetail.open(self.path(name)))

    def test_records_are_whatever_has_bytes(self):
        matrix = np.arange(12, dtype="<i4").reshape(3, 4)
        given = [b"bytes", bytearray(b"array"), memoryview(b"view"), memoryview(b"abcdef")[1:4], b"", matrix,
                 np.float32(1.5), array.array("d", [1, 2]), np.zeros((0, 4))]
        wanted = [b"bytes", b"array", b"view", b"bcd", b"", matrix.tobytes(), np.float32(1.5).tobytes(),
                  array.array("d", [1, 2]).tobytes(), b""]
        with dovetail.Writer(self.path("a.dvt")) as writer:
            for record in given:
                writer.append(record)
            writer.extend(given)
            self.assertEqual(writer.records, 18)
        self.assertEqual(self.written(), wanted * 2)

    def test_what_has_no_bytes_in_one_piece_is_refused(self):
        writer = dovetail.Writer(self.path("a.dvt"))
        for wrong in ("text", 3, None, [b"a"], {"a": 1}, 1.5):
            self.assertRaisesRegex(TypeError, "bytes or bytes-like, not " + type(wrong).__name__, writer.append, wrong)
            self.assertRaises(TypeError, writer.extend, [wrong])
        self.assertRaisesRegex(TypeError, r"not dict; dovetail\.example\(\*\*record\)", writer.append, {"a": 1})
        self.assertRaisesRegex(TypeError, r"not str; text\.encode\(\)", writer.append, "text")
        for scattered in (np.zeros((4, 4))[:, 1], memoryview(b"abcdef")[::2], np.zeros((2, 3), order="F")):
            self.assertRaises((ValueError, BufferError), writer.append, scattered)
        for wrong in (3, None):
            self.assertRaises(TypeError, writer.extend, wrong)
        self.assertRaisesRegex(TypeError, "not str", writer.extend, "text")
        self.assertRaisesRegex(TypeError, "not int", writer.extend, b"bytes")
        self.assertEqual(writer.records, 0)

    def test_a_writer_that_is_dropped_without_its_end_warns_of_the_loss(self):
        for kind in (dovetail.Writer, dovetail.DatasetWriter):
            writer = kind(self.path("lost"))
            writer.extend([b"a", b"b"])
            says = rf'^unfinished <{kind.__name__} ".*lost": 2 records> is removed: call finish\(\)'
            with self.assertWarnsRegex(ResourceWarning, says) as told:
                del writer
            self.assertEqual(told.filename, __file__)
            self.assertEqual(os.listdir(self.folder), [])

    def test_a_writer_that_was_asked_to_end_warns_of_nothing(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # which would be printed, as of any destructor
            for kind in (dovetail.Writer, dovetail.DatasetWriter):
                with unittest.mock.patch("sys.unraisablehook") as printed:
                    for name, end in (("finished", kind.finish), ("abandoned", kind.abandon)):
                        writer = kind(self.path(name + kind.__name__))
                        end(writer)
                        del writer
                    with self.assertRaises(KeyError), kind(self.path("raised")):
                        raise KeyError
                    with kind(self.path("left" + kind.__name__)):
                        pass
                    self.assertEqual(printed.mock_calls, [])
                    kind(self.path("lost"))
                    self.assertIs(printed.mock_calls[0].args[0].exc_type, ResourceWarning)

    def test_addresses_of_objects_are_no_record(self):
        objects, dated = np.array(["a", "b"], object), [("when", "M8[s]"), ("what", "O")]
        writer = dovetail.Writer(self.path("a.dvt"))
        for wrong in (objects, memoryview(objects), np.zeros(2, [("n", "i4"), ("what", "O")]), np.zeros(2, dated),
                      np.zeros(1, [("n", "i4"), ("in", [("what", "O", 2)])]), (ctypes.py_object * 2)(1, 2)):
            for call in (writer.append, lambda wrong: writer.extend([wrong])):
                self.assertRaisesRegex(TypeError, "not an array of Python objects", call, wrong)
        self.assertEqual(writer.records, 0)
        for given in (np.zeros(2, "M8[s]"), np.zeros(2, dated[:1]), np.zeros(2, [("Of", "i4"), ("O", "V3")])):
            writer.append(given)
            writer.extend([given, given[:0]])
        writer.finish()
        self.assertEqual([len(record) for record in self.written()], [16, 16, 0, 16, 16, 0, 14, 14, 0])

    def test_a_record_is_copied_when_it_is_given(self):
        def one_after_the_other(buffer):
            for i in range(600):
                buffer[:] = np.frombuffer(i.to_bytes(8, "big"), "u1") if isinstance(buffer, np.ndarray) \
                    else i.to_bytes(8, "big")
                yield buffer

        for name, buffer in (("bytearray", bytearray(8)), ("array", np.zeros(8, "u1")),
                             ("view", memoryview(bytearray(8)))):
            with self.subTest(buffer=name):
                with dovetail.Writer(self.path("a.dvt"), overwrite=True) as writer:
                    writer.extend(one_after_the_other(buffer))
                self.assertEqual(self.written(), [i.to_bytes(8, "big") for i in range(600)])
        growing = bytearray()

        def grow():
            for _ in range(10):
                growing.append(7)  # would fail while its bytes are lent out
                yield growing

        with dovetail.Writer(self.path("a.dvt"), overwrite=True) as writer:
            writer.extend(grow())
        self.assertEqual(self.written(), [b"\7" * i for i in range(1, 11)])

    def test_a_generator_that_raises_has_given_what_came_before(self):
        def failing(count):
            for i in range(count):
                yield b"%d" % i
            raise KeyError("mine")

        for count in (0, 1, 255, 256, 300, 1000):
            with dovetail.Writer(self.path("a.dvt"), overwrite=True) as writer:
                self.assertRaisesRegex(KeyError, "mine", writer.extend, failing(count))
                self.assertRaises(TypeError, writer.extend, [b"a", b"b", "text", b"c"])
                self.assertEqual(writer.records, count + 2)
            self.assertEqual(self.written(), [b"%d" % i for i in range(count)] + [b"a", b"b"])

    def test_a_generator_may_use_the_writer(self):
        with dovetail.Writer(self.path("a.dvt")) as writer:
            def generate():
                for i in range(5):
                    writer.append(b"inner")
                    yield b"outer"
            writer.extend(generate())
        self.assertEqual(sorted(self.written()), [b"inner"] * 5 + [b"outer"] * 5)

    def test_what_is_finished_or_abandoned_in_a_with_is_done(self):
        for make, name in ((dovetail.Writer, "a.dvt"), (dovetail.DatasetWriter, "many")):
            with make(self.path(name)) as writer:
                writer.append(b"x")
                finished = writer.finish()
            self.assertTrue(finished)
            self.assertEqual(self.written(name), [b"x"])
            with self.assertRaises(KeyError), make(self.path(name), overwrite=True) as writer:
                writer.append(b"y")
                writer.finish()
                raise KeyError
            self.assertEqual(self.written(name), [b"y"])
            with make(self.path("other"), overwrite=True) as writer:
                writer.append(b"x")
                writer.abandon()
            self.assertEqual([found for found, _, files in os.walk(self.path("other")) if files], [])
        with self.assertRaises(dovetail.StorageError), dovetail.DatasetWriter(self.path("gone")) as writer:
            writer.append(b"x")
            shutil.rmtree(self.path("gone.partial"))
            self.assertRaises(dovetail.StorageError, writer.finish)

    @unittest.skipUnless(os.path.exists(COMMAND), "there is no command `dovetail` beside the module")
    def test_texts_of_other_writers_are_described_although_they_are_not_utf8(self):
        source = write_file(self.path("lines"), b"x\n")
        made = subprocess.run([COMMAND, "convert", source, "--to", self.path("to"), "--from", "lines", "--record-type",
                               b"\xff\xfe", "--meta", b"na\xffme=\xc3\xa9\xff"], capture_output=True)
        self.assertEqual(made.returncode, 0, made.stderr)
        about = dovetail.describe(dovetail.Dataset(self.path("to")).shard_paths[0])
        self.assertEqual(about["record_type"], r"\xff\xfe")
        self.assertEqual(about["metadata"].get(r"na\xffme"), "\u00e9" r"\xff")

    def test_an_exception_leaves_no_file(self):
        for make, name in ((dovetail.Writer, "a.dvt"), (dovetail.DatasetWriter, "many")):
            for error in (KeyError, KeyboardInterrupt, SystemExit):
                with self.assertRaises(error), make(self.path(name)) as writer:
                    writer.extend([b"x" * 1000] * 5000)
                    raise error
                self.assertEqual([f for _, _, files in os.walk(self.folder) for f in files], [])
        writer = dovetail.Writer(self.path("a.dvt"))
        writer.append(b"x")
        writer.abandon()
        writer.abandon()
        self.assertRaises(dovetail.ClosedError, writer.append, b"x")
        writer = dovetail.Writer(self.path("a.dvt"))
        del writer
        self.assertFalse(os.path.exists(self.path("a.dvt")))

    def test_options_are_obeyed(self):
        identity = "0123456789abcdef" * 2
        records = make_records(500, 2)
        with dovetail.Writer(self.path("a.dvt"), codec="none", run_records=32, block_bytes=2048, dataset_id=identity,
                             shard_number=7, record_type="thing", metadata={"who": "me", "\u00e9": "\u00fc"},
                             max_record_bytes=300, schema="x:i64", check_schema=False) as writer:
            writer.extend(records)
            with self.assertRaises(dovetail.UsageError) as caught:
                writer.append(bytes(301))
            self.assertEqual(caught.exception.code, dovetail.ErrorCode.record_too_large)
        about = dovetail.describe(self.path("a.dvt"))
        self.assertEqual({name: about[name] for name in ("dataset_id", "shard_number", "record_type", "schema")},
                         {"dataset_id": identity, "shard_number": 7, "record_type": "thing", "schema": "x:i64"})
        self.assertEqual({name: about["metadata"].get(name) for name in ("who", "\u00e9")},
                         {"who": "me", "\u00e9": "\u00fc"})
        self.assertEqual((about["info"].records, about["info"].run_records), (500, 32))
        self.assertEqual(self.written(), records)

    def test_the_first_record_must_fit_the_schema(self):
        with dovetail.DatasetWriter(self.path("many"), schema="x:i64, y:f32=0") as writer:
            refused = 'schema = x:i64, y:f32=0: record 0, column "x": float_list'
            with self.assertRaisesRegex(dovetail.UsageError, refused):
                writer.append(dovetail.example(x=1.5))
            writer.extend([dovetail.example(x=1), b"unchecked"])
        self.assertEqual(self.written("many"), [dovetail.example(x=1), b"unchecked"])

    def test_codecs(self):
        records = [b"%d of many " % i * 40 for i in range(500)]
        sizes = {}
        for codec, level in (("none", None), ("snappy", None), ("zstd", None), ("zstd", 19)):
            with dovetail.Writer(self.path("a.dvt"), codec=codec, codec_level=level, overwrite=True) as writer:
                writer.extend(records)
            self.assertEqual(self.written(), records)
            about = dovetail.describe(self.path("a.dvt"))
            self.assertEqual(dovetail.Dataset(self.path("a.dvt")).describe().codecs, {codec: about["info"].blocks})
            sizes[codec, level] = about["info"].stored_bytes
        self.assertGreater(sizes["none", None], sizes["snappy", None])
        self.assertGreater(sizes["snappy", None], sizes["zstd", None])
        self.assertGreaterEqual(sizes["zstd", None], sizes["zstd", 19])
        for level in (0, 20):
            with self.assertRaisesRegex(dovetail.UsageError, f"codec_level = {level}: it must be 1 to 19"):
                dovetail.Writer(self.path("b.dvt"), codec="zstd", codec_level=level)

    def test_shards_of_a_dataset(self):
        records = make_records(100, 2)
        writer = dovetail.DatasetWriter(self.path("many"), shards=3, expected_records=100)
        writer.extend(records)
        shards = writer.finish()
        self.assertEqual([shard.records for shard in shards], [33, 33, 34])
        self.assertEqual([shard.name for shard in shards], [f"shard-{i:06}.dvt" for i in range(3)])
        self.assertEqual(self.written("many"), records)
        with dovetail.DatasetWriter(self.path("cut"), shard_bytes=0) as writer:
            for i in range(4):
                writer.extend(records[:i])
                if i < 3:
                    writer.next_shard()
        self.assertEqual([shard.records for shard in dovetail.Dataset(self.path("cut")).shards], [0, 1, 2, 3])
        with self.assertRaises(dovetail.UsageError) as caught:
            dovetail.DatasetWriter(self.path("cut"))
        self.assertEqual(caught.exception.code, dovetail.ErrorCode.already_exists)

    def test_threads_share_a_writer(self):
        with dovetail.DatasetWriter(self.path("many"), encode_threads=2) as writer:
            def work(name):
                for i in range(200):
                    writer.append(b"%s %d" % (name, i))
                writer.extend(b"%s %d" % (name, i) for i in range(200, 400))

            with ThreadPoolExecutor(3) as pool:
                list(pool.map(work, (b"a", b"b", b"c")))
        found = self.written("many")
        for name in (b"a", b"b", b"c"):
            self.assertEqual([r for r in found if r.startswith(name)], [b"%s %d" % (name, i) for i in range(400)])


if __name__ == "__main__":
    main()
