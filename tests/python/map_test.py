# SPDX-License-Identifier: Apache-2.0
"""Functions of Python between decoding and delivery: `Reader(map=...)`."""

import contextlib
import gc
import itertools
import threading
import time
import unittest
import weakref

import numpy as np
from fixtures import ModuleTest, main

import dovetail

COLUMNS = "id:i64, draw:f32[2], ends:u8[2], body:u8[*], pairs:i16[*,2], name:bytes, words:bytes[*], none:f64=1.5"


def columns_of(record):
    """The columns of a record, told by its bytes, id, seed and epoch alone."""
    values = np.frombuffer(record, np.uint8)
    return {"id": record.id, "draw": record.rng().random(2, np.float32), "ends": [len(record) % 256, 7],
            "body": values[::2], "pairs": [[n, -n] for n in range(record.id % 3)],
            "name": f"record {record.id}", "words": [b"a", "é"] * (record.id % 3)}


def in_batches(function):
    """The same work in one call for a batch."""
    def of_batch(records):
        rows = [function(record) for record in records]
        return {name: [row[name] for row in rows] for name in rows[0]}
    return of_batch


def with_a_tool_for_each_thread(once_made=lambda: None):
    """A function of a record that keeps an object in its thread, and references to all of them."""
    kept, made = threading.local(), []

    class Tool:
        pass

    def uses(record):
        if not hasattr(kept, "tool"):
            kept.tool = Tool()
            made.append(weakref.ref(kept.tool))
            once_made()
        return {"id": record.id}

    return uses, made


FORMS = {"map": lambda function: function, "map_batch": in_batches}
# The option of a program whose function of a record is `slow`.
PROGRAM_FORMS = ("map=slow", "map_batch=lambda records: {'id': [slow(record)['id'] for record in records]}")


class MapTest(ModuleTest):
    def read(self, *, columns=COLUMNS, map=columns_of, batch=16, form="map", **options):
        options[form] = FORMS[form](map) if callable(map) else map
        return self.open_reader(self.path("dataset"), batch=batch, columns=columns, **options)

    def test_rows_are_what_the_function_returns(self):
        self.make_dataset()
        for options in ({}, {"order": "sequential", "tail": "pad"},
                        {"order": "global", "decode_threads": 3, "seed": 5}):
            with self.subTest(**options):
                reader = self.read(epochs=2, **options)
                seen = []
                for epoch in range(2):
                    for batch in reader:
                        for row, id in enumerate(batch.ids):
                            if batch.status[row] == dovetail.EMPTY:
                                self.assertEqual(batch["name"][row], b"")
                                continue
                            record = dovetail.Record(self.records[id])
                            record.id, record.epoch, record.seed = int(id), epoch, options.get("seed", 0)
                            expected = columns_of(record)
                            self.assertEqual(batch["id"][row], id)
                            np.testing.assert_array_equal(batch["draw"][row], expected["draw"])
                            np.testing.assert_array_equal(batch["ends"][row], expected["ends"])
                            np.testing.assert_array_equal(batch["body"][row], expected["body"])
                            np.testing.assert_array_equal(batch["pairs"][row],
                                                          np.reshape(expected["pairs"], (-1, 2)))
                            self.assertEqual(bytes(batch["name"][row]).decode(), expected["name"])
                            self.assertEqual([bytes(word).decode() for word in batch["words"][row]],
                                             ["a", "é"] * (int(id) % 3))
                            self.assertEqual(batch["none"][row], 1.5)
                            seen.append((epoch, int(id)))
                self.assertGreaterEqual(len(seen), 2 * 384)
                self.assertEqual(len(set(seen)), len(seen))

    def test_random_changes_repeat_after_a_resume_in_another_world(self):
        self.make_dataset()

        def draws(reader):
            return {int(id): draw for batch in reader for id, draw in zip(batch.ids, batch["draw"])}

        for form in FORMS:
            with self.subTest(form=form):
                options = {"columns": "draw:f64", "map": lambda record: {"draw": record.rng().random()}, "seed": 3,
                           "form": form}
                whole = draws(self.read(**options))
                reader = self.read(**options)
                before = reader.next()
                parts = dict(zip(map(int, before.ids), before["draw"]))
                for rank in (0, 1):
                    parts.update(draws(self.read(**options, batch=8, rank=rank, world=2, state=reader.state_dict())))
                self.assertEqual(parts, whole)

    def test_values_that_do_not_fit_are_refused_by_name(self):
        self.make_dataset(count=20)
        cases = [("u8", 256, "ValueError: column \"x\": 256 is out of range for u8"),
                 ("u8", -1, "-1 is out of range"),
                 ("i64", 1.5, "TypeError: column \"x\" has rows of i64, not float64"),
                 ("f32", "text", "has rows of f32, not <U4"),
                 ("f32", None, "has rows of f32, not NoneType"),
                 ("f32", 1e39, 'ValueError: column "x": a number is out of range for f32'),
                 ("f16[2]", [70000, 1], "a number is out of range for f16"),
                 ("u8[2]", b"abc", "rows of shape [2], not [3]"),
                 ("f32[3]", [1, 2], "rows of shape [3], not [2]"),
                 ("f32[3]", 1.0, "rows of shape [3], not []"),
                 ("i32[*,2]", [1, 2], "rows of shape [*, 2], not [2]"),
                 ("i32[*]", 5, "rows of shape [*], not []"),
                 ("bytes", 5, "must be bytes or str, not int"),
                 ("bytes", "\ud800", "UnicodeEncodeError"),
                 ("bytes[*]", b"abc", "must be a list of bytes or str, not bytes"),
                 ("bytes[*]", [b"abc", None], "must be a list of bytes or str, not NoneType")]
        for dtype, value, message in cases:
            with self.subTest(dtype=dtype, value=value):
                reader = self.read(columns=f"x:{dtype}", map=lambda record, value=value: {"x": value}, batch=4)
                with self.assertRaises(dovetail.UsageError) as raised:
                    reader.next()
                self.assertIn(message, str(raised.exception))
                self.assertRegex(str(raised.exception),
                                 r"; record \d+ of the shard \(id \d+\), needed by rank 0 at step 0 of epoch 0")

        class Odd:
            def __hash__(self):
                return hash("x")

            def __eq__(self, other):
                raise RuntimeError("no comparison")

        for result, message in ((None, "must return a dict of columns, not NoneType"), ({}, 'column "x" is not set'),
                                ({Odd(): 1}, "RuntimeError: no comparison"),
                                ({"x": 1, "y": 2}, "'y', which is not one of the columns: x")):
            with self.subTest(result=result):
                reader = self.read(columns="x:i64", map=lambda record, result=result: result, batch=4)
                with self.assertRaisesRegex(dovetail.UsageError, message):
                    reader.next()

    def test_numbers_are_converted_where_that_keeps_them(self):
        self.make_dataset(count=20)
        cases = [("u8", True, 1), ("u8", np.True_, 1), ("i64[2]", [np.True_, np.False_], [1, 0]),
                 ("u8", np.int64(200), 200), ("f32", 3, 3.0), ("f16", np.float64(0.5), 0.5),
                 ("f32", float("inf"), np.inf), ("f16[2]", [np.inf, np.nan], [np.inf, np.nan]),
                 ("i64[2]", np.array([1, 2], ">i2"), [1, 2]),
                 ("u8[4]", np.arange(8, dtype=np.uint8)[::2], [0, 2, 4, 6]),
                 ("f64[2]", memoryview(np.array([1.0, 2.0])), [1, 2]), ("i32[*]", [], []), ("i32[*,2]", [], [])]
        for dtype, value, expected in cases:
            with self.subTest(dtype=dtype, value=value):
                batch = self.read(columns=f"x:{dtype}", map=lambda record, value=value: {"x": value}, batch=4).next()
                np.testing.assert_array_equal(batch["x"][0], np.reshape(expected, np.shape(batch["x"][0])))

    def test_an_exception_is_the_cause_of_the_readers(self):
        self.make_dataset()

        def fails(record):
            if record.id == 77:
                raise LookupError("no label")
            return {"id": record.id}

        def fails_often(record):
            if record.id % 50 == 7:
                raise LookupError("no label")
            return {"id": record.id}

        many = self.read(columns="id:i64", map=fails_often, batch=8, prefetch=8, decode_threads=2, order="sequential")
        for step, id in ((0, 7), (1, 57)):
            many.seek(0, step)
            with self.assertRaises(dovetail.UsageError) as raised:
                for _ in range(1000):
                    many.next()
            self.assertEqual(raised.exception.__cause__.__traceback__.tb_frame.f_locals["record"].id, id)
        reader = self.read(columns="id:i64", map=fails, decode_threads=2)
        for attempt in range(2):
            with self.assertRaises(dovetail.UsageError) as raised:
                for _ in range(1000):
                    reader.next()
            self.assertEqual(raised.exception.code, dovetail.ErrorCode.rejected_record)
            self.assertIn("LookupError: no label", str(raised.exception))
            cause = raised.exception.__cause__
            self.assertIsInstance(cause, LookupError)
            self.assertEqual(cause.__traceback__.tb_frame.f_code.co_name, "fails")
        empty = self.read(columns="id:i64", map=fails, on_damage="empty", order="sequential")
        with self.assertLogs("dovetail", "WARNING") as logs:
            statuses = np.concatenate([batch.status.copy() for batch in empty])
            empty.stats()
        self.assertEqual(np.flatnonzero(statuses == dovetail.DAMAGED).tolist(), [77])
        self.assertIn("LookupError: no label", logs.output[0])

    def test_an_error_names_the_key_of_an_example(self):
        key = "cat/a\n.jpg"
        with dovetail.DatasetWriter(self.path("dataset")) as writer:
            for of in ({"__key__": key}, {"__key__": ["a", "b"]}, {"__key__": 5}, {"x": 1}):
                writer.append(dovetail.example(**of))

        def fails(record):
            raise LookupError("no label")

        for form, of_batch in (("map", ""), ("map_batch", ", for all 1 records of the batch")):
            options = {"columns": "id:i64", "map": fails, "form": form, "batch": 1, "order": "sequential"}
            for step, named in ((0, '; key "cat/a\\n.jpg"'), (1, ""), (2, ""), (3, "")):
                with self.subTest(form=form, step=step):
                    reader = self.read(**options)
                    reader.seek(0, step)
                    with self.assertRaises(dovetail.UsageError) as raised:
                        reader.next()
                    self.assertIn(f"LookupError: no label{of_batch}{named}; record {step} of", str(raised.exception))
                    self.assertIsInstance(raised.exception.__cause__, LookupError)
        with self.assertRaisesRegex(dovetail.UsageError, r'; key "cat/a\\n.jpg"; record 0 of .*not fit the columns'):
            self.read(map=None, columns="label:i64", batch=1, order="sequential").next()

    def test_lack_of_memory_and_the_end_of_the_program_are_no_property_of_a_record(self):
        self.make_dataset()
        for form, on_damage, error in itertools.product(
                FORMS, ("fail", "substitute", "empty"),
                (MemoryError("no memory"), KeyboardInterrupt(), SystemExit(3), GeneratorExit())):
            with self.subTest(form=form, on_damage=on_damage, error=error):
                raises = True

                def ends(record, error=error):
                    if raises and record.id == 77:
                        raise error
                    return {"id": record.id}

                reader = self.read(columns="id:i64", map=ends, form=form, on_damage=on_damage, order="sequential",
                                   tail="pad", epochs=1)
                for attempt in range(2):
                    with self.assertRaises(type(error)) as raised:
                        for _ in range(1000):
                            reader.next()
                    self.assertIs(raised.exception, error)
                self.assertEqual(reader.stats()["unfit_records"], 0)
                raises = False
                reader.seek(0, reader.step)
                self.assertIn(77, np.concatenate([batch["id"].copy() for batch in reader]))

    def test_lack_of_memory_between_two_calls_is_no_property_of_a_record(self):
        try:
            import _testcapi
        except ImportError:
            self.skipTest("this Python has no module to let allocations fail")
        self.make_dataset()
        for fails in range(10):
            with self.subTest(allocation=fails):
                calls = itertools.count()

                def one(record, fails=fails, calls=calls):
                    call = next(calls)
                    if call == 386:
                        time.sleep(0.2)  # until the trainer waits, and makes no objects
                    elif call == 390:  # Python keeps objects for the numbers up to 256
                        _testcapi.set_nomemory(fails, fails + 1)
                    elif call > 390:
                        _testcapi.remove_mem_hooks()
                    return {"id": 1}

                reader = self.read(columns="id:i64", map=one, on_damage="empty", decode_threads=1, prefetch=1,
                                   order="sequential", epochs=1)
                try:
                    with contextlib.suppress(MemoryError):
                        for _ in reader:
                            pass
                finally:
                    _testcapi.remove_mem_hooks()
                self.assertEqual(reader.stats()["unfit_records"], 0)

    def test_functions_run_at_the_same_time_where_they_release_the_lock(self):
        self.make_dataset()
        for form in FORMS:
            meeting = threading.Barrier(2, timeout=30)  # which two calls have to reach
            threads = set()

            def meets(record, meeting=meeting, threads=threads):
                if threading.get_ident() not in threads:
                    threads.add(threading.get_ident())
                    meeting.wait()
                return {"id": record.id}

            for _ in self.read(columns="id:i64", map=meets, form=form, decode_threads=2):
                pass
            self.assertEqual(len(threads), 2)
            self.assertNotIn(threading.get_ident(), threads)

    def test_a_reader_closes_while_the_function_runs(self):
        self.make_dataset()
        for form in FORMS:
            with self.subTest(form=form):
                inside, go = threading.Event(), threading.Event()

                def waits(record, inside=inside, go=go):
                    inside.set()
                    go.wait(30)
                    return {"id": record.id}

                reader = self.read(columns="id:i64", map=waits, form=form)
                self.assertTrue(inside.wait(30))
                threading.Timer(0.02, go.set).start()
                reader.close()
                with self.assertRaises(dovetail.ClosedError):
                    reader.next()

    def test_what_a_thread_keeps_lasts_from_batch_to_batch_and_goes_with_the_reader(self):
        self.make_dataset()
        uses, made = with_a_tool_for_each_thread()
        reader = self.read(columns="id:i64", map=uses, batch=8, decode_threads=2)
        self.assertGreater(len(list(batch.step for batch in reader)), 20)
        self.assertLessEqual(len(made), 2)
        reader.close()
        self.assertEqual([tool() for tool in made], [None] * len(made))

    def test_what_a_thread_keeps_outlasts_a_pause_of_the_trainer(self):
        self.make_dataset()
        meeting = threading.Barrier(2, timeout=30)
        uses, made = with_a_tool_for_each_thread(meeting.wait)  # so that there are two threads
        reader = self.read(columns="id:i64", map=uses, batch=8, decode_threads=2)
        reader.next()
        time.sleep(1.5)  # longer than threads of other pools stay idle
        self.assertEqual([tool() is None for tool in made], [False, False])
        self.assertGreater(len(list(batch.step for batch in reader)), 20)
        self.assertEqual(len(made), 2)

    def test_a_reader_and_its_function_that_know_each_other_are_collected(self):
        class Trainer:
            def __init__(self, test, iterates, form):
                self.reader = test.read(columns="id:i64", map=self.columns, form=form)
                self.batches = iter(self.reader) if iterates else None
                self.reader.next()

            def columns(self, record):
                return {"id": record.id}

        for iterates, form in itertools.product((False, True), FORMS):
            with self.subTest(iterates=iterates, form=form):
                self.doCleanups()  # forgets what would close it
                self.setUp()
                self.make_dataset()
                trainer = Trainer(self, iterates, form)
                known = weakref.ref(trainer)
                self._cleanups.pop()  # of the reader
                del trainer
                gc.collect()
                self.assertIsNone(known())

    def test_a_sequence_that_makes_its_items_is_copied_before_they_go(self):
        self.make_dataset()

        class Words(list):
            def __iter__(self):
                return (b"%d" % i * 50 for i in range(len(self)))

        batch = self.read(columns="words:bytes[*]", map=lambda record: {"words": Words([b""] * 5)}).next()
        self.assertEqual(list(batch["words"]), [[b"%d" % i * 50 for i in range(5)]] * len(batch))

    def test_a_function_that_is_collected_rejects_no_record(self):
        self.make_dataset()
        for form in ("map=function", "map_batch=lambda records: {'id': [function(each)['id'] for each in records]}"):
            with self.subTest(form=form):
                self.run_program(f"""
                    import gc, logging, sys
                    import dovetail

                    class Keeper(logging.Handler):
                        def emit(self, record):
                            lines.append(record.getMessage())

                    def open_reader():
                        def function(record):
                            return {{"id": record.id}}
                        reader = function.reader = dovetail.Reader(
                            sys.argv[1], batch=4, rank=0, world=1, columns="id:i64", prefetch=3, decode_threads=2,
                            on_damage="empty", {form})
                        reader.next()

                    lines = []
                    logging.getLogger("dovetail").addHandler(Keeper())
                    for take in range(100):
                        open_reader()
                        gc.collect()
                    assert not lines, lines
                    """, self.path("dataset"))

    def test_an_iterator_keeps_what_the_function_needs(self):
        self.make_dataset()

        class Batches:
            def __init__(self, test):
                self.offset = 5
                self.reader = dovetail.Reader(test.path("dataset"), batch=8, rank=0, world=1, columns="id:i64",
                                              map=self.columns)

            def columns(self, record):
                return {"id": record.id + self.offset}

            def __iter__(self):
                return iter(self.reader)

        for batch in Batches(self):
            gc.collect()
            np.testing.assert_array_equal(batch["id"], batch.ids + 5)

    def test_the_function_that_drops_or_uses_its_reader_does_not_hang(self):
        self.make_dataset()
        self.run_program("""
            import gc, sys, threading
            import dovetail

            class Trainer:
                def __init__(self):
                    self.errors, self.dropped = [], threading.Event()
                    self.reader = dovetail.Reader(sys.argv[1], batch=8, rank=0, world=1, columns="id:i64", map=self.map)

                def map(self, record):
                    try:
                        self.reader.next()
                    except dovetail.BusyError as error:
                        self.errors.append(str(error))
                    except (AttributeError, dovetail.ClosedError):
                        pass  # it has not been assigned yet, or is closed
                    if len(self.errors) > 3 and not self.dropped.is_set():
                        self.reader.close()
                        self.dropped.set()
                    return {"id": record.id}

            trainer = Trainer()
            try:
                while trainer.reader.next():
                    pass
            except (dovetail.ClosedError, dovetail.CancelledError):
                pass
            assert trainer.dropped.wait(30)
            assert "wait for itself" in trainer.errors[0], trainer.errors
            """, self.path("dataset"))

    def test_opening_fails_while_functions_run(self):
        self.make_dataset()
        self.run_program("""
            import logging, sys, time
            import dovetail

            def slow(record):
                time.sleep(0.01)
                return {"id": record.id}

            def refuses(line):
                time.sleep(0.05)
                raise LookupError(line.getMessage())

            options = dict(batch=8, rank=0, assign="files", columns="id:i64", map=slow, decode_threads=2)
            with dovetail.Reader(sys.argv[1], world=1, **options) as reader:
                reader.next()
                state = reader.state_dict()
            logging.getLogger("dovetail").setLevel(logging.INFO)
            logging.getLogger("dovetail").addFilter(refuses)
            try:
                dovetail.Reader(sys.argv[1], world=2, state=state, **options)
            except LookupError as error:
                assert "the world has changed" in str(error)
            else:
                raise AssertionError("it is logged")
            """, self.path("dataset"))

    def test_the_interpreter_ends_while_functions_run(self):
        self.make_dataset()
        endings = ("pass", "sys.exit(0)", "reader.next(); del reader")
        for ending, form in itertools.product(endings, PROGRAM_FORMS):
            with self.subTest(ending=ending, form=form):
                self.run_program(f"""
                    import sys, time
                    import dovetail

                    def slow(record):
                        time.sleep(0.001)
                        return {{"id": record.id}}

                    reader = dovetail.Reader(sys.argv[1], batch=8, rank=0, world=1, columns="id:i64",
                                             decode_threads=2, prefetch=4, {form})
                    {ending}
                    """, self.path("dataset"))

    def test_ctrl_c_is_for_the_trainer(self):
        self.make_dataset()
        for form in PROGRAM_FORMS:
            with self.subTest(form=form):
                self.run_program(f"""
                    import os, signal, sys, threading, time
                    import dovetail

                    def slow(record):
                        time.sleep(0.005)
                        return {{"id": record.id}}

                    reader = dovetail.Reader(sys.argv[1], batch=100, rank=0, world=1, columns="id:i64", {form})
                    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
                    try:
                        reader.next()
                    except KeyboardInterrupt:
                        print("interrupted")
                    assert reader.next() is not None, "nothing is lost"
                    """, self.path("dataset"))

    def test_misuse_is_refused(self):
        self.make_dataset()
        with self.assertRaisesRegex(dovetail.UsageError, "map needs columns.*or give outputs=.objects"):
            self.read(columns=None)
        with self.assertRaisesRegex(TypeError, "map must be a function of a record, not int"):
            self.read(map=5)
        with self.assertRaisesRegex(TypeError, "map"):
            self.read(transform=columns_of)


if __name__ == "__main__":
    main()
