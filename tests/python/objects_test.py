#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Batches with Python objects: `Reader(map=..., outputs="objects")`."""

import contextlib
import errno
import gc
import itertools
import signal
import threading
import time
import weakref

import dovetail
from fixtures import ModuleTest, main


class Thing:
    """An object of no other type than its own."""

    def __init__(self, record):
        self.id, self.epoch, self.record = record.id, record.epoch, bytes(record)


class ObjectsTest(ModuleTest):
    def setUp(self):
        super().setUp()
        self.dataset = self.make_dataset(200)

    def read(self, function=Thing, form="map", **options):
        if form == "map_batch":
            options[form] = lambda records: [function(record) for record in records]
        else:
            options[form] = function
        return self.open_reader(self.dataset, outputs="objects", **options)

    def test_each_row_has_the_object_that_the_function_returned_for_it(self):
        for form in ("map", "map_batch"):
            for options in ({}, {"tail": "pad", "decode_threads": 3, "prefetch": 4}, {"order": "global"}):
                with self.subTest(form=form, **options):
                    seen = set()
                    for batch in self.read(form=form, epochs=2, **options):
                        self.assertEqual(len(batch.objects), len(batch))
                        for id, status, thing in zip(batch.ids, batch.status, batch.objects):
                            if status == dovetail.EMPTY:
                                self.assertIsNone(thing)
                                continue
                            self.assertEqual((thing.id, thing.epoch, thing.record),
                                             (id, batch.epoch, self.records[id]))
                            seen.add(thing)
                    self.assertIn(len(seen), (192, 200))

    def test_a_moved_reader_computes_them_again(self):
        reader = self.read(seed=3, order="shuffle")
        first = [[thing.id for thing in reader.next().objects] for _ in range(6)]
        reader.seek(0, 2)
        self.assertEqual([thing.id for thing in reader.next().objects], first[2])
        state = reader.state_dict()
        self.assertEqual([thing.id for thing in self.read(seed=3, state=state).next().objects], first[3])
        reader.load_state_dict(state)
        self.assertEqual([thing.id for thing in next(iter(reader)).objects], first[3])

    def test_rejected_records_have_none_or_that_of_another_row(self):
        def fails(record):
            if record.id == 77:
                raise LookupError("no label")
            return [record.id]

        options = {"order": "sequential", "epochs": 1, "tail": "pad"}
        for on_damage in ("empty", "substitute"):
            with self.assertLogs("dovetail", "WARNING"):
                reader = self.read(fails, on_damage=on_damage, **options)
                batches = [(batch.status.copy(), batch.objects) for batch in reader]
                reader.stats()
            things = [thing for _, objects in batches for thing in objects]
            self.assertEqual(things[:77] + things[78:200], [[id] for id in range(200) if id != 77])
            self.assertIn(things[77], [None] if on_damage == "empty" else [[id] for id in range(64, 80) if id != 77])
        with self.assertRaises(dovetail.UsageError) as raised:
            for _ in self.read(fails, **options):
                pass
        self.assertIsInstance(raised.exception.__cause__, LookupError)
        with self.assertRaisesRegex(dovetail.UsageError, "returned 15 objects for 16 records"):
            self.open_reader(self.dataset, outputs="objects", map_batch=lambda records: records[1:]).next()

    def test_what_is_not_delivered_is_freed(self):
        alive = weakref.WeakSet()

        def counted(record):
            thing = Thing(record)
            alive.add(thing)
            return thing

        reader = self.read(counted, prefetch=4)
        for epoch in range(20):
            reader.seek(epoch, 3)
            reader.next()
        most = 16 * (4 + 3 + 1)  # what all slots hold, and the batch that was dropped last
        self.assertLessEqual(len(alive), most)
        batch = reader.next()
        reader.close()
        self.assertEqual(len(alive), 16)
        batch.release()
        self.assertEqual([type(thing) for thing in batch.objects], [Thing] * 16)
        batch = None
        self.assertEqual(len(alive), 0)

    def test_an_object_that_refers_to_its_batch_is_collected(self):
        batch = self.read().next()
        thing = batch.objects[0]
        thing.batch = batch
        kept = weakref.ref(thing)
        batch = thing = None
        gc.collect()
        self.assertIsNone(kept())

    def test_a_reader_in_a_cycle_of_its_objects_is_collected(self):
        for _ in range(20):
            box = []
            reader = dovetail.Reader(self.dataset, batch=16, map=lambda record, box=box: box[0], outputs="objects",
                                     decode_threads=2, prefetch=4)
            box.append(reader)
            collected = weakref.ref(reader)
            del box, reader
            deadline = time.monotonic() + 60
            while collected() is not None and time.monotonic() < deadline:
                gc.collect()  # not while a thread is in the function
            self.assertIsNone(collected())

    def test_other_garbage_finds_the_reader_closed(self):
        saved, raised = [], []

        class Owner:
            def __init__(self, reader):
                self.reader = reader

            def __del__(self):
                saved.append(self.reader)
                try:
                    self.reader.next()
                except dovetail.ClosedError as error:
                    raised.append(error)

        class Function:
            def __call__(self, record):
                return record.id

        function = Function()
        reader = dovetail.Reader(self.dataset, batch=16, map=function, outputs="objects", decode_threads=2)
        reader.next()
        function.owner = Owner(reader)
        del reader, function
        deadline = time.monotonic() + 60
        while not saved and time.monotonic() < deadline:
            gc.collect()  # not while a thread is in the function
        self.assertEqual(len(raised), 1)
        self.assertRaises(dovetail.ClosedError, saved[0].next)

    def test_a_handler_of_a_signal_that_raises_loses_no_batch(self):
        steps, interrupts = [], 0
        raises = False

        def handler(*_):
            nonlocal interrupts, raises
            if raises:
                raises = False  # a second signal must not raise out of the `except` below
                interrupts += 1
                raise InterruptedError

        reader = self.read(lambda record: record.id, batch=2, epochs=20)
        before = signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.0013)
        try:
            while len(steps) < 20 * 100:
                try:
                    raises = True
                    for batch in reader:
                        steps.append((batch.epoch, batch.step))
                except InterruptedError:
                    pass
                raises = False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertEqual(sorted(set(steps)), [(epoch, step) for epoch in range(20) for step in range(100)])
        self.assertEqual(len(set(steps)), len(steps), f"{interrupts} interrupts")

    def test_a_seek_that_was_interrupted_can_be_repeated(self):
        began = threading.Event()

        def slow(record):
            began.set()
            time.sleep(0.01)
            return record.id

        reader = self.read(slow, decode_threads=1)
        self.assertTrue(began.wait(60))
        timer = threading.Timer(0.02, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT))
        timer.start()
        try:
            reader.seek(0, 3)
            timer.join()
            time.sleep(0.1)
        except KeyboardInterrupt:
            pass
        timer.join()
        reader.seek(0, 2)
        self.assertEqual(len(reader.next().objects), len(reader.next().objects))

    def test_a_batch_whose_objects_find_no_memory_can_be_taken_again(self):
        try:
            import _testcapi
        except ImportError:
            self.skipTest("this Python has no module to let allocations fail")
        reader = self.read(lambda record: record.id, batch=100, epochs=1, decode_threads=1)
        native = reader._native.next
        fails, lost = 0, 0
        batch = None
        while batch is None:
            before = reader.state_dict()
            try:
                _testcapi.set_nomemory(fails, fails + 1)  # on any thread: the function may be what fails
                try:
                    batch = native()
                finally:
                    _testcapi.remove_mem_hooks()
            except MemoryError:
                self.assertEqual(reader.state_dict(), before, f"allocation {fails} failed")
                with contextlib.suppress(MemoryError):
                    try:
                        self.assertEqual(reader.next().step, before["step"])
                    except dovetail.StorageError as error:
                        self.assertEqual(error.errno, errno.ENOMEM)
                        self.assertEqual(reader.state_dict(), before)
                        lost += 1
                reader.seek(before["epoch"], before["step"])
                taken = reader.next()
                self.assertEqual((taken.step, taken.objects), (before["step"], taken.ids.tolist()))
                fails += 1
                reader.seek(0, fails % 2)
        self.assertEqual((batch.step, batch.objects), (before["step"], batch.ids.tolist()))
        self.assertGreater(lost, 0)

    def test_misuse_is_refused(self):
        for options, error, says in (({"columns": "x:i64"}, dovetail.UsageError, "no columns"),
                                     ({"map": None}, dovetail.UsageError, "needs map or map_batch"),
                                     ({"map_batch": list}, dovetail.UsageError, "needs map or map_batch"),
                                     ({"map": 5}, TypeError, "must be a function, not int"),
                                     ({"outputs": "object"}, dovetail.UsageError, '"columns" or "objects"')):
            with self.subTest(**options), self.assertRaisesRegex(error, says):
                self.open_reader(self.dataset, **{"outputs": "objects", "map": Thing, **options})
        for result, says in ((b"x" * 16, "not bytes"), (bytearray(16), "not bytearray"),
                             ([1] * 15, "15 objects for 16"), (itertools.count(), "17 objects for 16")):
            reader = self.open_reader(self.dataset, batch=16, map=None, map_batch=lambda records, result=result: result,
                                      outputs="objects")
            with self.subTest(result=type(result).__name__), self.assertRaises(dovetail.UsageError) as caught:
                reader.next()
            self.assertIn(says, str(caught.exception.__cause__))
        with self.assertRaisesRegex(dovetail.UsageError, 'outputs="objects"'):
            self.open_reader(self.dataset).next().objects

    def test_the_column_is_the_list(self):
        batch = self.read(lambda record: {record.id}).next()
        things = [{int(id)} for id in batch.ids]  # the repr of a scalar of NumPy 2 has its type
        self.assertEqual((batch.objects, batch["object"], dict(batch), batch.copy()["object"]),
                         (things, things, {"object": things}, things))
        self.assertRegex(repr(batch), "16 rows, 16 valid, objects>$")
        self.assertIn(repr(things[0]), batch._repr_html_())
        self.assertRaisesRegex(dovetail.UsageError, "no tensor", batch.tensor, column="object")
        self.assertRaisesRegex(dovetail.UsageError, "Arrow has no type", batch.__arrow_c_array__)
        try:
            self.assertEqual(batch.to_pandas()["object"].tolist(), things)
        except ImportError:
            self.skipTest("pandas is not installed")

    def test_a_dataset_of_pytorch_gives_them(self):
        try:
            import dovetail.torch
        except ImportError:
            self.skipTest("PyTorch is not installed")
        options = {"batch": 16, "rank": 0, "world": 1, "map": Thing, "outputs": "objects", "epochs": 1}
        for data in (dovetail.torch.BatchDataset(self.dataset, **options),
                     dovetail.torch.BatchDataset(self.dataset, collate=dict, **options)):
            ids = [thing.id for batch in data for thing in batch["object"]]
            self.assertEqual(len(set(ids)), 192)
            data.close()


if __name__ == "__main__":
    main()
