#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input of every kind: the exception has the fitting type, and says what, where and in which file."""

import errno
import os
import pathlib
import re
import tarfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import dovetail
from dovetail import _errors
from fixtures import (ErrorTest, ModuleTest, damage_record, main, make_records, np, read_file, write_dataset,
                      write_file)

ROOT = pathlib.Path(__file__).resolve().parents[2]

TEXT, NUMBER, SWITCH = "a text", "a number", "a switch"
BIG = 2**64
# Of each option: what it takes, and values of the right type that it does not take.
PLAN_OPTIONS = {
    "batch": (NUMBER, [0, -1, 2**32, 10**9]), "world": (NUMBER, [0, -1, 2**32]), "order": (TEXT, ["", "random"]),
    "tail": (TEXT, ["cut"]), "seed": (NUMBER, [-1, BIG]), "assign": (TEXT, ["odd"]), "replicate": (NUMBER, [-1, 3]),
    "lanes": (NUMBER, [-1, 3, 2**32]), "open_runs": (NUMBER, [0, -1, 2**32]), "pool": (NUMBER, [0, -1, 2**32]),
    "sticky": (SWITCH, []), "mix": (None, [[1, 2], [0], [-1], [2**32], [(0, [1, 2])], [(5, [1])], [(-1, [1])]]),
    "mix_stop": (None, ["never", -1]),
}
READER_OPTIONS = {
    "rank": (NUMBER, [2, -1, 2**32]), "local_rank": (NUMBER, [-1, 2**32]), "local_world": (NUMBER, [-1, 2**32]),
    "columns": (TEXT, [True, "x", "x:q", "x:u8[0]", ":u8", "x:u8,x:u8"]), "epochs": (NUMBER, [-1, 2**32]),
    "on_damage": (TEXT, ["ignore"]), "on_hung_read": (TEXT, ["panic"]),
    "hung_after": (None, [-1.0, float("nan"), float("inf"), 1e12]), "oversize": (TEXT, ["cut"]),
    "prefetch": (NUMBER, [-1, 2**32]), "max_held": (NUMBER, [-1, 2**32]), "memory_bytes": (NUMBER, [-1, 1, BIG]),
    "storage": (TEXT, ["tape"]), "io_threads": (NUMBER, [-1, 2**32]), "decode_threads": (NUMBER, [-1, 2**32]),
    "registration": (TEXT, ["maybe"]), "device": (NUMBER, [2**40]), "huge_pages": (TEXT, ["some"]),
    "metrics": (None, []),
}
WRITER_OPTIONS = {
    "codec": (TEXT, ["zip"]), "block_bytes": (NUMBER, [-1, 0, 2**40, BIG]), "run_bytes": (NUMBER, [-1, BIG]),
    "run_records": (NUMBER, [-1, BIG]), "dataset_id": (TEXT, ["", "xyz", "0" * 31]), "record_type": (TEXT, []),
    "schema": (TEXT, ["x:q"]), "metadata": (None, []), "max_record_bytes": (NUMBER, [-1, BIG]),
    "overwrite": (SWITCH, []),
}
WRONG = {TEXT: [1, [], 2.5], NUMBER: ["1", 1.5, [], b"1"], SWITCH: [1, "yes", []]}


class CodeTest(ModuleTest):
    def test_codes_are_those_of_the_library(self):
        text = (ROOT / "include" / "dovetail" / "error.h").read_text()
        body = re.search(r"enum class Errc \{(.*?)\n\};", text, re.S).group(1)
        known = {name: int(number) for name, number in re.findall(r"^\s*(\w+) = (\d+),", body, re.M)}
        self.assertGreater(len(known), 30)
        self.assertEqual({code.name: code.value for code in dovetail.ErrorCode}, known)

    def test_kinds_are_those_of_the_library(self):
        text = (ROOT / "include" / "dovetail" / "error.h").read_text()
        body = re.search(r"enum class ErrorKind \{(.*?)\n\};", text, re.S).group(1)
        kinds = {"damaged": dovetail.DamagedError, "usage": dovetail.UsageError, "io": dovetail.StorageError,
                 "cancelled": dovetail.CancelledError}
        names = re.findall(r"^\s*(\w+),", body, re.M)
        self.assertEqual(_errors.BY_KIND, tuple(kinds[name] for name in names))

    def test_exceptions_are_also_what_python_calls_them(self):
        for kind, base in ((dovetail.UsageError, ValueError), (dovetail.StateMismatchError, ValueError),
                           (dovetail.StorageError, OSError), (dovetail.MissingFileError, FileNotFoundError),
                           (dovetail.ClosedError, RuntimeError), (dovetail.BusyError, RuntimeError),
                           (dovetail.SlotsHeldError, RuntimeError), (dovetail.DeviceError, RuntimeError)):
            self.assertTrue(issubclass(kind, base) and issubclass(kind, dovetail.DovetailError))


class FileTest(ErrorTest):
    def test_what_is_not_there(self):
        path = self.path("nothing")
        for call in (dovetail.Dataset, dovetail.open, dovetail.verify, dovetail.describe,
                     lambda path: dovetail.Reader(path, batch=1), lambda path: dovetail.Plan(path, batch=1),
                     lambda path: dovetail.convert([path], self.path("to"))):
            error = self.check(dovetail.MissingFileError, call, path, path=path)
            self.assertEqual((error.errno, error.filename, error.strerror),
                             (errno.ENOENT, path, os.strerror(errno.ENOENT)))

    def test_addresses_are_told_as_they_were_given(self):
        for path in ("s3://bucket/key", "https://host/*.dvt"):
            for call in (dovetail.Dataset, dovetail.open, dovetail.verify, lambda path: dovetail.Reader(path, batch=1),
                         lambda path: dovetail.Plan(path, batch=1)):
                self.check(dovetail.UsageError, call, path, path=path, code=dovetail.ErrorCode.unknown_format,
                           says="address")

    def test_what_cannot_be_written(self):
        path = write_file(self.path("file"), b"")
        error = self.check(dovetail.StorageError, dovetail.DatasetWriter, os.path.join(path, "below"),
                           path=os.path.join(path, "below"))
        self.assertEqual(error.errno, errno.ENOTDIR)
        self.check(dovetail.UsageError, dovetail.Writer, path, path=path, code=dovetail.ErrorCode.already_exists)

    def test_damage(self):
        dataset = self.make_dataset(codec="none")
        shard = dovetail.Dataset(dataset).shard_paths[1]
        first = 100
        damaged = next(i for i in range(first, first + 16) if len(self.records[i]) > 40)
        damage_record(shard, self.records[damaged])
        error = self.check(dovetail.DamagedError, lambda: dovetail.open(dataset)[damaged], path=shard,
                           code=dovetail.ErrorCode.payload_checksum)
        self.assertIsInstance(error.offset, int)
        self.assertEqual(error.offset % 64, 0)
        reader = self.open_reader(dataset, order="sequential")
        for _ in range(damaged // 16):
            reader.next()
        for _ in range(2):  # the same again
            self.check(dovetail.DamagedError, reader.next, path=shard, offset=error.offset, code=error.code)
        self.check(dovetail.DamagedError, lambda: list(dovetail.open(dataset)), path=shard, offset=error.offset,
                   code=error.code)
        report = dovetail.verify(dataset)
        self.assertEqual([(place.file, place.offset) for place in report.damaged], [(shard, error.offset)])
        self.assertIn(damaged - first, report.damaged[0].records)
        self.assertFalse(report.ok)

    def test_cut_and_foreign_files(self):
        dataset = self.make_dataset(shards=1)
        shard = dovetail.Dataset(dataset).shard_paths[0]
        data = read_file(shard)
        for name, bytes_, code in (("cut", data[:-100], "unfinished"), ("foreign", b"hello " * 100, None),
                                   ("empty", b"", None)):
            path = write_file(self.path(name + ".dvt"), bytes_)
            with self.subTest(file=name):
                with self.assertRaises(dovetail.DovetailError) as caught:
                    dovetail.Dataset(path)
                self.assertIsInstance(caught.exception, (dovetail.DamagedError, dovetail.UsageError))
                self.assertEqual(caught.exception.path, path)
                if code:
                    self.assertEqual(caught.exception.code, dovetail.ErrorCode[code])

    def test_files_of_another_kind_are_not_damaged(self):
        tar = self.path("a.tar")
        with tarfile.open(tar, "w") as file:
            file.add(write_file(self.path("n.txt"), b"text\n"), "n.txt")
        for path in (tar, self.path("n.txt"), write_file(self.path("x.bin"), b"\0\1" * 500)):
            for call in (dovetail.describe, dovetail.Dataset, dovetail.open, dovetail.verify,
                         lambda path: dovetail.Reader(path, batch=1)):
                self.check(dovetail.UsageError, call, path, path=path, code=dovetail.ErrorCode.foreign_file,
                           says="dovetail convert")

    def test_names_that_are_not_utf8(self):
        raw = os.fsencode(self.path("")) + b"\xff\xfe"
        path = os.fsdecode(raw)
        self.check(dovetail.MissingFileError, dovetail.Dataset, path, path=path)
        records = make_records(40, 3)
        write_dataset(raw, records, codec="none", shards=1)
        for form in (raw, path, pathlib.Path(path)):
            opened = dovetail.Dataset(form)
            self.assertEqual(opened.path, path)
            self.assertEqual(opened.shards[0].name, "shard-000000.dvt")
            self.assertTrue(os.path.exists(opened.shard_paths[0]))
            self.assertIn("40 records", repr(opened))
            self.assertEqual(list(dovetail.open(form)), records)
            self.assertEqual(self.open_reader(form, batch=8).next().rows()[0],
                             records[dovetail.Plan(form, batch=8).rows(0, 0)[0][0]])
            self.assertTrue(dovetail.verify(form).ok)
            self.assertEqual(dovetail.describe(opened.shard_paths[0])["info"].records, 40)
        damage_record(opened.shard_paths[0], max(records, key=len))
        self.check(dovetail.DamagedError, lambda: list(opened and dovetail.open(opened)), path=opened.shard_paths[0],
                   code=dovetail.ErrorCode.payload_checksum)
        self.assertEqual(dovetail.verify(raw).damaged[0].file, opened.shard_paths[0])
        reader = self.open_reader(path, batch=8, on_damage="empty")
        for _ in reader:
            pass
        self.assertEqual([os.path.basename(place["file"]) for place in reader.stats()["damaged"]], ["shard-000000.dvt"])
        self.check(dovetail.UsageError, dovetail.DatasetWriter, raw, path=os.fsdecode(raw),
                   code=dovetail.ErrorCode.already_exists)

    def test_paths_of_all_kinds_and_of_none(self):
        dataset = self.make_dataset()
        for form in (dataset, pathlib.Path(dataset), os.fsencode(dataset)):
            self.assertEqual(len(dovetail.Dataset(form)), 400)
            self.assertEqual(len(self.open_reader(form)), 25)
        for wrong in (None, 3, [], object(), "with\0null"):
            for call in (dovetail.Dataset, dovetail.open, dovetail.Writer, dovetail.DatasetWriter, dovetail.verify,
                         dovetail.describe, dovetail.merge, lambda path: dovetail.Reader(path, batch=1)):
                self.assertRaisesRegex(TypeError, "must be a str, bytes or os.PathLike", call, wrong)

    def test_what_a_source_holds_is_told_although_it_is_not_utf8(self):
        path = write_file(self.path("lines.jsonl"), b'{"a": 1}\n{"a": "\xff\xfe"}\n')
        with self.assertRaises(dovetail.DamagedError) as caught:
            dovetail.convert([path], self.path("to"))
        self.assertEqual(caught.exception.path, path)
        str(caught.exception).encode()


class OptionTest(ErrorTest):
    def check_options(self, make, options, refusals=(dovetail.DovetailError,)):
        for name, (kind, beyond) in options.items():
            for wrong in WRONG.get(kind, []) + [object()]:
                with self.subTest(option=name, wrong=wrong), self.assertRaises(TypeError):
                    make(**{name: wrong})
            for value in beyond:
                with self.subTest(option=name, value=value):
                    with self.assertRaises(refusals) as caught:
                        make(**{name: value})
                    self.assertIsInstance(caught.exception, ValueError)
                    said = str(caught.exception)
                    self.assertTrue(name.split("_")[0] in said or "schema" in said or "column" in said, said)

    def test_options_of_plans(self):
        dataset = dovetail.Dataset(self.make_dataset())
        self.check_options(lambda **named: dovetail.Plan(dataset, **{"batch": 8, "world": 2, **named}), PLAN_OPTIONS)

    def test_options_of_readers(self):
        dataset = dovetail.Dataset(self.make_dataset())
        options = {"batch": 8, "rank": 0, "world": 2, "registration": "off"}
        self.check_options(lambda **named: dovetail.Reader(dataset, **{**options, **named}),
                           {**PLAN_OPTIONS, **READER_OPTIONS})
        for half in (dict(rank=0), dict(world=2)):
            with self.assertRaisesRegex(dovetail.UsageError, "rank and world together"):
                dovetail.Reader(dataset, batch=8, **half)
        self.assertRaises(TypeError, dovetail.Reader, dataset)
        self.assertRaises(TypeError, dovetail.Reader, dataset, 8)

    def test_options_of_writers(self):
        self.check_options(lambda **named: dovetail.Writer(self.path("a.dvt"), **named), WRITER_OPTIONS)
        more = {"shard_bytes": (NUMBER, [-1, BIG]), "shards": (NUMBER, [-1, 2**32, 10**6 + 1]),
                "expected_records": (NUMBER, [-1, BIG]), "encode_threads": (NUMBER, [-1, 2**32])}
        self.check_options(lambda **named: dovetail.DatasetWriter(self.path("a"), **{"expected_records": 10, **named}),
                           {**WRITER_OPTIONS, **more})
        for call in (dovetail.Writer, dovetail.DatasetWriter):
            self.assertRaises(TypeError, call, self.path("b"), metadata={1: 2})
        self.assertEqual(os.listdir(self.folder), [])

    def test_options_of_conversions(self):
        source = write_file(self.path("lines"), b"a\nb\n")
        options = {"format": (TEXT, ["docx"]), "records": (TEXT, ["odd"]), "on_error": (TEXT, ["shrug"]),
                   "labels": (SWITCH, []), "classes": (None, [["a"], ["a", "a"]]),
                   "shards": (NUMBER, [-1, 2**32, 10**6 + 1]), "shuffle_seed": (NUMBER, [-1, BIG]),
                   "split": (TEXT, ["a=2", "a=b"]), "split_seed": (NUMBER, [-1, BIG]),
                   "part": (None, [(2, 2), (0, 0), (-1, 2)]),
                   "jobs": (NUMBER, [-1, 2**32]),
                   "memory_bytes": (NUMBER, [-1, BIG]), "resume": (SWITCH, []),
                   "codec": (TEXT, ["zip"])}
        given = {"format": "lines", "shards": 2}
        self.check_options(lambda **named: dovetail.convert([source], self.path("to"), **{**given, **named}), options)
        self.check(dovetail.UsageError, dovetail.convert, [], self.path("to"), code=dovetail.ErrorCode.empty_input)

    def test_places_in_the_order(self):
        reader = self.open_reader(self.make_dataset())
        plan = reader.plan
        for call in (reader.seek, reader.set_epoch, plan.steps, plan.epoch, plan.total_steps, plan.state_dict,
                     lambda epoch: plan.rows(epoch, 0)):
            for wrong in (-1, 2**32):
                self.assertRaisesRegex(dovetail.UsageError, "epoch", call, wrong)
            for wrong in ("1", 1.5, None):
                self.assertRaisesRegex(TypeError, "^epochs? must be a whole number, not " + type(wrong).__name__, call,
                                       wrong)
        for wrong in (-1, 25, 2**64):
            self.assertRaisesRegex(dovetail.UsageError, "step", plan.rows, 0, wrong)
        self.assertRaisesRegex(dovetail.UsageError, "the steps of epoch 0 are range.0, 25.$", plan.rows, 0, 25)
        for wrong in (-1, 26, 2**64):
            self.assertRaisesRegex(ValueError, "step", reader.seek, 0, wrong)
            self.assertRaisesRegex(ValueError, "step", plan.state_dict, 0, wrong)
        for wrong in (-1, 1, 2**32):
            self.assertRaisesRegex(dovetail.UsageError, "rank", plan.rows, 0, 0, wrong)
        self.assertEqual((reader.epoch, reader.step), (0, 0))
        self.assertEqual(reader.next().step, 0)

    def test_a_plan_without_steps_names_what_works(self):
        dataset = self.make_dataset()
        for call in (dovetail.Plan, self.open_reader):
            self.check(dovetail.UsageError, call, dataset, batch=401, world=1, code=dovetail.ErrorCode.no_steps,
                       says="400")

    def test_digests_take_whole_numbers(self):
        self.assertEqual(dovetail.digest([1, 2], [1, 1]), dovetail.digest(np.array([2, 1]), np.array([1, 1], "u1")))
        for wrong in ([1.5], ["a"], [None], object()):
            self.assertRaises(TypeError, dovetail.digest, wrong, [1])
            self.assertRaises(TypeError, dovetail.digest, [1], wrong)
            self.assertRaises(TypeError, dovetail.gathered_rows, 1, wrong, [1])
        for call in (dovetail.digest, lambda ids, status: dovetail.gathered_rows(1, ids, status)):
            for ids, status in (([1, 2], [1]), ([0], [257]), ([0], [-1]), ([0], np.array([7], "u1")), ([-2], [1]),
                                (np.zeros((2, 2), int), np.ones((2, 2), int)), (0, 1)):
                self.check(dovetail.UsageError, call, ids, status, code=dovetail.ErrorCode.invalid_option)
        signed = np.array([5, -1])  # as in tensors
        self.assertEqual(dovetail.digest(signed, [1, 0]), dovetail.digest(signed.view("u8"), [1, 0]))
        for wrong in (-1, 2**64):
            self.check(dovetail.UsageError, dovetail.gathered_rows, wrong, [0], [1],
                       code=dovetail.ErrorCode.invalid_option, says="records")
        self.check(dovetail.UsageError, dovetail.gathered_rows, 3, [0, 1], [1, 1],
                   code=dovetail.ErrorCode.invalid_option, says="record 2")
        self.assertRaises(dovetail.DovetailError, dovetail.add_digests, ["xyz"])

    def test_numbers_that_are_beyond_all(self):
        dataset = dovetail.Dataset(self.make_dataset())
        records, batch = dovetail.open(dataset), self.open_reader(dataset).next()
        for call, wrongs in ((records.__getitem__, (2**70, -2**70)), (batch.row, (2**70, -2**70)),
                             (dataset.locate, (-1, 2**64, 2**70, -2**70))):
            for wrong in wrongs:
                self.assertRaises(IndexError, call, wrong)
            for wrong in ("1", 1.5, None):
                self.assertRaises(TypeError, call, wrong)
        for call in (lambda threads: dovetail.verify(dataset.path, threads=threads), batch.release,
                     lambda threads: dovetail.Dataset(dataset.path, threads=threads)):
            for wrong in (-1, 2**64):
                self.check(dovetail.UsageError, call, wrong, code=dovetail.ErrorCode.invalid_option)
            for wrong in ("1", 1.5):
                self.assertRaises(TypeError, call, wrong)
        self.assertEqual(len(batch), 16)

    def test_texts_that_utf8_cannot_hold(self):
        dataset = dovetail.Dataset(self.make_dataset(longest=0))
        batch = self.open_reader(dataset, columns="x:i64=1").next()
        bad = "\udcff"
        for call in (lambda: dovetail.Plan(dataset, batch=4, order=bad), lambda: self.open_reader(dataset, columns=bad),
                     lambda: self.open_reader(dataset, state=bad), lambda: dovetail.example(**{bad: 1}),
                     lambda: dovetail.example(x=bad), lambda: dovetail.example(x=["a", bad]), lambda: batch[bad],
                     lambda: batch.tensor(bad), lambda: batch.tensor(column=bad), lambda: dovetail.add_digests([bad]),
                     lambda: dovetail.Writer(self.path("a.dvt"), record_type=bad),
                     lambda: dovetail.Writer(self.path("a.dvt"), dataset_id=bad),
                     lambda: dovetail.Writer(self.path("a.dvt"), metadata={bad: "x"}),
                     lambda: dovetail.Writer(self.path("a.dvt"), metadata={"x": bad})):
            error = self.check(dovetail.UsageError, call, code=dovetail.ErrorCode.invalid_option, says="is not UTF-8")
            str(error).encode()
        for call in (lambda: dovetail.Writer(self.path("a.dvt"), **{bad: 1}),
                     lambda: dovetail.Plan(dataset, batch=4, **{bad: 1}),
                     lambda: dovetail.Writer(self.path("a.dvt"), record_type=b"x"),
                     lambda: dovetail.Writer(self.path("a.dvt"), metadata={b"x": "x"}),
                     lambda: dovetail.Writer(self.path("a.dvt"), metadata={"x": b"x"}), lambda: batch[b"x"]):
            self.assertRaises(TypeError, call)
        self.assertEqual(os.listdir(self.folder), ["dataset"])


class TimeTest(ErrorTest):
    """The wrong moment: closed, released, taken by another."""

    def test_a_closed_reader(self):
        reader = self.open_reader(self.make_dataset())
        iterator = iter(reader)
        batch = next(iterator)
        state = reader.state_dict()
        reader.close()
        reader.close()
        self.assertTrue(reader.closed)
        for call in (reader.next, lambda: next(iterator), lambda: next(iter(reader)), reader.state_dict, reader.stats,
                     reader.plan_checksum, lambda: reader.plan, lambda: len(reader), lambda: reader.epoch,
                     lambda: reader.step, lambda: reader.registered, lambda: reader.seek(1),
                     lambda: reader.set_epoch(1), lambda: reader.load_state_dict(state)):
            self.check(dovetail.ClosedError, call, code=dovetail.ErrorCode.closed, says="closed")
        self.assertEqual(len(batch.rows()), 16)
        self.assertTrue(reader)
        with self.open_reader(self.path("dataset")) as again:
            again.next()
        self.assertTrue(again.closed)

    def test_a_released_batch(self):
        batch = self.open_reader(self.make_dataset()).next()
        batch.release()
        for call in (lambda: batch.values, lambda: batch.offsets, lambda: batch.ids, lambda: batch.status,
                     lambda: batch.epoch, lambda: batch.step, lambda: batch.valid, lambda: len(batch), batch.rows,
                     lambda: batch.row(0), lambda: batch["x"], batch.tensor, batch.state, lambda: batch.columns,
                     lambda: batch.registered):
            self.check(dovetail.ClosedError, call, code=dovetail.ErrorCode.closed, says="released")

    def test_arrays_forbid_a_release_in_a_stream(self):
        batch = self.open_reader(self.make_dataset()).next()
        kept = batch.ids
        self.check(dovetail.BusyError, batch.release, 0, code=dovetail.ErrorCode.busy, says="arrays or tensors")
        self.assertEqual(len(batch), kept.size)

    def test_too_many_batches(self):
        reader = self.open_reader(self.make_dataset(), max_held=2)
        held = [reader.next(), reader.next()]
        self.check(dovetail.SlotsHeldError, reader.next, code=dovetail.ErrorCode.slots_held, says="2")
        held.clear()
        reader.next()

    def test_a_finished_writer(self):
        writer = dovetail.Writer(self.path("a.dvt"))
        many = dovetail.DatasetWriter(self.path("many"))
        for each in (writer, many):
            each.append(b"x")
            each.finish()
            for call in (lambda: each.append(b"x"), lambda: each.extend([b"x"]), each.finish):
                with self.assertRaises(dovetail.ClosedError) as caught:
                    call()
                self.assertEqual(caught.exception.code, dovetail.ErrorCode.closed)
        self.assertRaises(dovetail.ClosedError, many.next_shard)

    def test_close_wakes_a_thread_that_waits(self):
        dataset = self.make_dataset()
        for _ in range(20):
            reader = self.open_reader(dataset, max_held=1)
            got = []

            def work():
                try:
                    while True:
                        reader.next()
                except dovetail.DovetailError as error:
                    got.append(error)

            thread = threading.Thread(target=work)
            thread.start()
            reader.close()
            thread.join()
            self.assertIsInstance(got[0], (dovetail.CancelledError, dovetail.ClosedError), got)

    def test_a_closed_reader_stays_closed_though_another_thread_moves_it(self):
        dataset = self.make_dataset()
        for take in range(20):
            reader = self.open_reader(dataset)
            errors = []

            def move():
                try:
                    while True:
                        reader.seek(3)
                        reader.seek(1, 5)
                except dovetail.DovetailError as error:
                    errors.append(error)

            thread = threading.Thread(target=move)
            thread.start()
            time.sleep(take * 0.0005)
            reader.close()
            self.assertTrue(reader.closed)
            thread.join()
            self.assertTrue(reader.closed)
            self.assertIsInstance(errors[0], dovetail.ClosedError)
            self.assertRaises(dovetail.ClosedError, reader.next)

    def test_a_reader_that_is_moved_is_busy_and_not_closed(self):
        reader = self.open_reader(self.make_dataset(), max_held=4)
        seen, stop = set(), threading.Event()

        def read():
            while not stop.is_set():
                try:
                    reader.next()
                except Exception as error:
                    seen.add(type(error))

        thread = threading.Thread(target=read)
        thread.start()
        for take in range(40):
            reader.seek(take % 3 + 1, take % 5)
        stop.set()
        thread.join()
        self.assertLessEqual(seen, {dovetail.BusyError})
        self.assertEqual(reader.next().epoch, reader.epoch)

    def test_threads_share_an_iterator_that_alone_keeps_its_reader(self):
        dataset = self.make_dataset(64)
        for _ in range(100):
            iterator = iter(dovetail.Reader(dataset, batch=16, rank=0, world=1, max_held=8, io_threads=1,
                                            decode_threads=1, registration="off"))
            taken, errors = [], []

            def work():
                while True:
                    try:
                        taken.append(next(iterator).step)
                    except StopIteration:
                        return
                    except dovetail.BusyError:
                        continue
                    except Exception as error:
                        errors.append(error)
                        return

            with ThreadPoolExecutor(4) as pool:
                for done in [pool.submit(work) for _ in range(4)]:
                    done.result()
            self.assertEqual((errors, sorted(taken)), ([], [0, 1, 2, 3]))

    def test_two_threads_share_a_reader(self):
        reader = self.open_reader(self.make_dataset(), epochs=1, max_held=8)
        ids, errors = [], []

        def work():
            while reader.epoch == 0:
                try:
                    batch = reader.next()
                except dovetail.BusyError:
                    continue
                except Exception as error:
                    errors.append(error)
                    return
                if batch is not None:
                    ids.extend(batch.ids.tolist())

        with ThreadPoolExecutor(3) as pool:
            for done in [pool.submit(work) for _ in range(3)]:
                done.result()
        self.assertEqual(errors, [])
        self.assertEqual(sorted(ids), list(range(400)))


class StateTest(ErrorTest):
    def test_a_state_of_something_else(self):
        dataset = self.make_dataset()
        other = self.make_dataset(name="other", seed=2)
        reader = self.open_reader(dataset)
        reader.next()
        foreign = self.open_reader(other).state_dict()
        seeded = self.open_reader(dataset, seed=5).state_dict()
        ordered = dovetail.Plan(dataset, batch=16, order="sequential").state_dict(0)
        for state, says in ((foreign, "dataset"), (seeded, "seed"), (ordered, "order")):
            for load in (reader.load_state_dict, lambda state: self.open_reader(dataset, state=state),
                         lambda state: dovetail.Plan.resume(dataset, state, batch=16, order="shuffle", seed=0)):
                self.check(dovetail.StateMismatchError, load, state, code=dovetail.ErrorCode.state_mismatch, says=says)
        self.assertEqual(reader.next().step, 1)  # it stayed where it was

    def test_what_is_no_state(self):
        reader = self.open_reader(self.make_dataset())
        good = reader.state_dict()["state"]
        middle = len(good) // 2
        flipped = good[:middle] + ("A" if good[middle] != "A" else "B") + good[middle + 1:]
        for junk in ("", "junk", good[:-1], good + "A", flipped, "dvt:", "dvt:\u00e9", good.upper()):
            for load in (reader.load_state_dict, lambda state: self.open_reader(self.path("dataset"), state=state)):
                self.check(dovetail.DamagedError, load, junk, code=dovetail.ErrorCode.bad_state)
        for wrong in (3, [], {}, {"state": 3}, {"model": 1}):
            for load in (reader.load_state_dict, lambda state: self.open_reader(self.path("dataset"), state=state)):
                self.assertRaises(TypeError, load, wrong)
        self.assertRaises(TypeError, reader.load_state_dict, None)


class ThreadTest(ErrorTest):
    def test_arrays_may_be_made_first_by_many_threads_at_once(self):
        # The first array imports NumPy, and whoever comes meanwhile waits for that and not for ever.
        for use in ("batches[i].ids", "batches[i].values", "plan.rows(0, i)", "dovetail.digest([1], [1])",
                    "dovetail.example(x=1)", "batches[i]['x']"):
            self.run_program("""
                import sys, threading
                import dovetail
                with dovetail.DatasetWriter(sys.argv[1], overwrite=True) as writer:
                    writer.extend([b""] * 64)
                plan = dovetail.Plan(sys.argv[1], batch=8)
                reader = dovetail.Reader(sys.argv[1], batch=8, rank=0, world=1, max_held=8, columns="x:i64=1")
                batches = [reader.next() for i in range(8)]
                assert "numpy" not in sys.modules
                start = threading.Barrier(8)
                def work(i):
                    start.wait()
                    USE
                threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(8)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            """.replace("USE", use), self.path("dataset"))


if __name__ == "__main__":
    main()
