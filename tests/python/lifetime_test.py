#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is left when readers, batches and interpreters end: no thread, descriptor, mapping or core dump."""

import os
import textwrap

from fixtures import main
from programs import ProgramTest


class ReaderLifetimeTest(ProgramTest):
    def test_a_deleted_reader_leaves_nothing(self):
        for storage in ("pread", "automatic"):
            with self.subTest(storage=storage):
                self.run_program("""
                    storage = sys.argv[2]
                    with open_reader(storage=storage) as reader:  # what the first of all makes may stay
                        reader.next()
                    before = settled()

                    def closed(reader):
                        reader.close()
                    def in_mid_epoch(reader):
                        reader.next()
                    def after_an_epoch(reader):
                        for batch in reader:
                            pass
                    def by_an_exception(reader):
                        try:
                            for batch in reader:
                                raise KeyError
                        except KeyError:
                            pass
                    def in_a_cycle(reader):
                        loop = [reader]
                        loop.append(loop)
                    def an_iterator_outlives_it(reader):
                        iterator = iter(reader)
                        next(iterator)
                        del reader
                        next(iterator)
                    def a_batch_outlives_it(reader):
                        batch = reader.next()
                        reader.close()
                        assert settled()[0] == before[0], "threads while batches live"
                        assert batch.rows()
                    def sought(reader):
                        for epoch in (3, 1, 2):
                            reader.seek(epoch, 5)
                            reader.next()
                    def restored(reader):
                        state = reader.state_dict()
                        reader.next()
                        reader.load_state_dict(state)
                    def a_mistake(reader):
                        try:
                            reader.load_state_dict("junk")
                        except dovetail.DovetailError:
                            pass
                    def never_opened(reader):
                        for wrong in (dict(memory_bytes=1000), dict(pool=0), dict(columns="x:i64"), dict(batch=10**6)):
                            try:
                                open_reader(**wrong).next()
                            except dovetail.DovetailError:
                                pass

                    for use in (closed, in_mid_epoch, after_an_epoch, by_an_exception, in_a_cycle,
                                an_iterator_outlives_it, a_batch_outlives_it, sought, restored, a_mistake,
                                never_opened):
                        use(open_reader(storage=storage))
                        assert settled() == before, (use.__name__, before, settled())
                """, storage)

    def test_memory_is_flat_over_100_epochs(self):
        out = self.run_program("""
            reader = open_reader(batch=64, memory_bytes=64 << 20)
            seen = []
            for epoch in range(100):
                for batch in reader:
                    batch.values, batch.ids, batch.rows(), batch.tensor("values").__dlpack__(), reader.state_dict()
                del batch
                seen.append(resident())
            assert reader.epoch == 100
            print(seen[10], seen[-1])
        """)
        early, late = map(int, out.split())
        print(f"{early >> 20} MiB after 11 epochs, {late >> 20} MiB after 100")
        self.assertLess(late, early + (8 << 20))

    def test_memory_is_flat_over_many_readers(self):
        out = self.run_program("""
            seen = []
            for i in range(60):
                reader = open_reader(memory_bytes=64 << 20)
                reader.next()
                reader.seek(1, 1)
                seen.append(resident())
            print(seen[20], seen[-1])
        """)
        early, late = map(int, out.split())
        print(f"{early >> 20} MiB with 21 readers, {late >> 20} MiB with 60")
        self.assertLess(late, early + (8 << 20))

    def test_a_reader_that_could_not_be_moved_keeps_the_place_it_was_to_go_to(self):
        # Not by a limit of memory: glibc ends a process in which a thread that has just begun finds none.
        self.run_program("""
            import logging
            logging.getLogger("dovetail").addHandler(logging.NullHandler())
            def fails(kind, *calls):
                raised = set()
                for call in calls:
                    try:
                        call()
                    except kind as error:
                        raised.add(str(error))
                    else:
                        raise AssertionError("it did not fail")
                assert len(raised) == 1, raised
            def place():
                return reader.state_dict(), reader.epoch, reader.step, reader.plan.plan_id, len(reader)

            options = dict(batch=16, assign="files", lanes=4)
            with open_reader(world=2, **options) as other:
                for _ in range(5):
                    other.next()
                elsewhere = other.state_dict()
            with open_reader(state=elsewhere, **options) as reader:
                wanted, ids = place(), reader.next().ids.tolist()

            folder = sys.argv[2]
            os.mkdir(folder)
            reader = open_reader(metrics=folder + "/reader.prom", **options)
            reader.next()
            os.rename(folder, folder + ".away")
            fails(dovetail.MissingFileError, lambda: reader.seek(2, 3), reader.next, reader.stats)
            assert (reader.epoch, reader.step) == (2, 3) and not reader.closed
            saved = reader.state_dict()
            fails(dovetail.MissingFileError, lambda: reader.load_state_dict(elsewhere), reader.next,
                  lambda: reader.seek(reader.epoch, reader.step))
            assert place() == wanted, (place(), wanted)
            os.rename(folder + ".away", folder)
            fails(dovetail.MissingFileError, reader.next)
            reader.seek(reader.epoch, reader.step)
            assert place() == wanted and reader.next().ids.tolist() == ids
            reader.load_state_dict(saved)
            batch = reader.next()
            assert (batch.epoch, batch.step) == (2, 3)
        """, self.path("metrics"))

    def test_values_that_a_thread_keeps_may_take_the_lock_when_they_go(self):
        self.run_program("""
            import contextvars, ctypes, itertools
            takes_lock = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: x)
            class Takes:
                gone = itertools.count()
                def __del__(self, gone=gone):
                    takes_lock(1)
                    next(gone)
            local, variable = threading.local(), contextvars.ContextVar("variable")
            def keep():
                if not hasattr(local, "kept"):
                    local.kept = Takes()
                    variable.set(Takes())
            def one(record):
                keep()
                return {"x": 1}
            def many(records):
                keep()
                return {"x": [1] * len(records)}
            for form in dict(map=one), dict(map_batch=many):
                for _ in range(10):
                    with open_reader(batch=16, columns="x:i64", **form) as reader:
                        reader.next()
            dovetail.convert([dataset], sys.argv[2], jobs=1, progress=lambda *at: keep())
            assert next(Takes.gone) >= 2 * (10 + 10), Takes.gone
        """, self.path("converted"))

    def test_the_import_is_light(self):
        self.run_program("""
            heavy = {"numpy", "torch", "asyncio", "multiprocessing", "logging", "google.protobuf"} & set(sys.modules)
            assert not heavy, heavy
            assert len(os.listdir("/proc/self/task")) == 1
        """)


class ExitTest(ProgramTest):
    """Interpreters that end with status 0 and without a word, whatever is still alive."""

    ENDS = {
        "readers in globals": "reader = open_reader(); batch = reader.next(); values = batch.values",
        "an iterator in globals": "iterator = iter(open_reader()); batch = next(iterator)",
        "a tensor in globals": "tensor = open_reader().next().tensor('values'); capsule = tensor.__dlpack__()",
        "a cycle": "reader = open_reader(); loop = [reader, reader.next()]; loop.append(loop)",
        "a writer in globals": "writer = dovetail.Writer(dataset + '/more.dvt'); writer.append(b'x')",
        "a writer of many in globals": "writer = dovetail.DatasetWriter(dataset + '/m'); writer.extend([b'x'] * 100)",
        "records in globals": "records = dovetail.open(dataset); iterator = iter(records); next(iterator); records[5]",
        "a reader made by an exit handler": """
            import atexit
            def late():
                global kept
                kept = open_reader()
                kept.next()
            atexit.register(late)
        """,
        "a reader used by an exit handler": """
            import atexit
            @atexit.register
            def late():
                try:
                    reader.next()
                except (dovetail.ClosedError, dovetail.CancelledError):
                    pass
            reader = open_reader()
        """,
        # Its threads wait for the interpreter lock at the end. They hold the globals of its function, so these are not
        # those of the program, which are destroyed.
        "a reader with a map that is used while modules go": """
            import atexit, types
            class Late:
                def __del__(self, failure=dovetail.ClosedError):
                    for use in (self.reader.next, lambda: self.reader.seek(3), self.reader.state_dict):
                        try:
                            use()
                        except failure:
                            continue
                        raise AssertionError("it can be used")
            late = Late()
            def last():
                late.reader = open_reader(batch=4, columns="x:i64", map=maps.slow, prefetch=64)
                late.reader.next()
            maps = sys.modules["maps"] = types.ModuleType("maps")
            exec("import time\\ndef slow(record):\\n    time.sleep(0.002)\\n    return {'x': 1}", vars(maps))
            atexit._clear()
            atexit.register(last)  # so it is called after the module has closed all readers
            atexit.register(dovetail._dovetail.close_all_readers)
        """,
        "a reader that is used while modules go": """
            class Late:
                def __del__(self, keep=(open_reader(),)):
                    try:
                        keep[0].next()
                    except Exception:
                        pass
            late = Late()
        """,
        "sys.exit in the loop": "for batch in open_reader(): sys.exit()",
    }
    # Threads that the interpreter does not wait for, at whatever they are when it ends.
    DAEMONS = {
        "reading": """
            reader = open_reader()
            while True:
                try:
                    reader.next()
                except dovetail.DovetailError:
                    pass
        """,
        "a reader each": """
            while True:
                try:
                    for batch in open_reader():
                        batch.ids
                except dovetail.DovetailError:
                    pass
        """,
        "stats": """
            reader = open_reader()
            while True:
                reader.stats()
        """,
        "dropping objects": """
            class Slow:
                def __del__(self, sleep=time.sleep):
                    sleep(0.05)
            while True:
                try:
                    reader = dovetail.Reader(dataset, batch=4, map=lambda record: Slow(), outputs="objects", prefetch=2)
                    batch = reader.next()
                    batch = None
                    reader.seek(0, 1)
                    reader.close()
                except dovetail.DovetailError:
                    pass
        """,
        "dropping what map returned": """
            class Slow(dict):
                def __del__(self, sleep=time.sleep):
                    sleep(0.01)
            while True:
                try:
                    reader = open_reader(batch=4, columns="x:i64", map=lambda record: Slow(x=1), prefetch=8)
                    reader.next()
                    reader.seek(0, 3)
                    reader.next()
                except dovetail.DovetailError:
                    pass
        """,
        "dropping what map and map_batch worked with": """
            import itertools, logging, numpy
            # CPython aborts if it ends while a daemon thread writes to standard error, as `logging` does by default.
            logging.getLogger("dovetail").addHandler(logging.NullHandler())
            class Slow(list):
                def __del__(self, sleep=time.sleep):
                    sleep(0.01)
            class SlowArray(numpy.ndarray):
                __del__ = Slow.__del__
            here = threading.local()
            def one(record):
                here.kept = record.kept = Slow()
                if record.id % 3 == 0:
                    raise KeyError(Slow())
                return {"x": numpy.ones(2, "f4").view(SlowArray) if record.id % 3 == 1 else Slow([1.0, 2.0])}
            def many(records):
                records[0].kept = Slow()
                if records[0].id % 3 == 0:
                    raise KeyError(Slow())
                return {"x": Slow([Slow([1, 2]) for _ in records])}
            functions = itertools.cycle([dict(map=one), dict(map_batch=many)])
            while True:
                try:
                    reader = open_reader(batch=4, columns="x:f32[2]", prefetch=8, on_damage="empty",
                                         **next(functions))
                    reader.next()
                    reader.next()
                except dovetail.DovetailError:
                    pass
        """,
        "records": """
            records = dovetail.open(dataset)
            while True:
                records[len(records) // 2]
        """,
        "writing": """
            with dovetail.DatasetWriter(f"{dataset}/out-{threading.get_ident()}", shard_bytes=1 << 20) as writer:
                while True:
                    writer.extend([b"x" * 100] * 50)
        """,
        "writing what the iterator drops": """
            import numpy
            class Slow(numpy.ndarray):
                def __del__(self, sleep=time.sleep):
                    sleep(0.01)
            with dovetail.DatasetWriter(f"{dataset}/slow-{threading.get_ident()}", shard_bytes=1 << 20) as writer:
                while True:
                    writer.append(numpy.zeros(100).view(Slow))
                    writer.extend(numpy.zeros(100).view(Slow) for _ in range(50))
        """,
        "converting": """
            class Slow:
                def __del__(self, sleep=time.sleep):
                    sleep(0.01)
            here = threading.local()
            def progress(*at):
                here.kept = Slow()
                return Slow()
            while True:
                dovetail.convert([dataset], f"{dataset}-{threading.get_ident()}", overwrite=True, jobs=1,
                                 progress=progress)
        """,
        "verifying": """
            while True:
                dovetail.verify(dataset, threads=1)
        """,
    }

    def test_whatever_is_alive(self):
        for name, program in self.ENDS.items():
            with self.subTest(alive=name):
                self.run_program(program)

    def test_files_of_unfinished_writers_are_removed(self):
        self.run_program(self.ENDS["a writer in globals"])
        self.assertEqual([name for name in os.listdir(self.dataset) if "more" in name], [])

    def test_daemon_threads(self):
        for name, body in self.DAEMONS.items():
            with self.subTest(threads=name):
                for wait in (0.02, 0.2):
                    program = ("import time\ndef work():\n" + textwrap.indent(textwrap.dedent(body), "    ")
                               + "\nfor _ in range(3):\n    threading.Thread(target=work, daemon=True).start()\n"
                               + f"time.sleep({wait})\n")
                    process = self.start_program(program)
                    out, errors = process.communicate(timeout=60)
                    self.assertEqual(process.returncode, 0, errors)
                    self.assertNotIn("Traceback", errors)  # the threads did not end before

    def test_a_daemon_thread_that_makes_the_first_array(self):
        # The module then imports parts of NumPy. Each time the interpreter ends during another of these imports.
        program = """
            import builtins, time, numpy
            last = int(sys.argv[2])
            imports, reached = [], threading.Event()
            def watched(name, *rest, plain=builtins.__import__, **named):
                imports.append(name)
                if len(imports) == last:
                    reached.set()
                    while True:
                        time.sleep(0.001)
                return plain(name, *rest, **named)
            def work():
                batch.ids
                reached.set()
            batch = open_reader().next()
            builtins.__import__ = watched
            threading.Thread(target=work, daemon=True).start()
            reached.wait()
            print(len(imports))
        """
        imports = int(self.run_program(program, 0))
        self.assertGreater(imports, 0)
        for last in range(1, imports + 1):
            with self.subTest(last=last):
                self.assertEqual(int(self.run_program(program, last)), last)

    def test_threads_that_are_waited_for(self):
        self.run_program("""
            def work():
                for batch in open_reader():
                    seen.append(len(batch))
            seen = []
            threads = [threading.Thread(target=work) for _ in range(3)]
            for thread in threads:
                thread.start()
            import atexit
            atexit.register(lambda: print(len(seen)))
        """)

    def test_an_exception_in_the_loop_is_all_that_is_said(self):
        process = self.start_program("""
            reader = open_reader()
            for batch in reader:
                raise KeyError("mine")
        """)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 1)
        self.assertTrue(errors.endswith("KeyError: 'mine'\n"), errors)
        self.assertEqual(errors.count("Traceback"), 1)

    def test_an_exit_handler_of_the_caller_can_wait_for_a_thread(self):
        self.run_program("""
            import atexit
            stop = threading.Event()
            def work():
                while not stop.is_set():
                    try:
                        reader.next()
                    except dovetail.DovetailError:
                        pass
            reader = open_reader()
            thread = threading.Thread(target=work, daemon=True)
            atexit._clear()  # then this one is called after the module's own
            @atexit.register
            def wait():
                stop.set()
                thread.join()
            atexit.register(dovetail._dovetail.close_all_readers)
            thread.start()
        """)

    def test_a_handler_of_logging_that_raises_ends_nothing(self):
        # A reader says what it could not have; a handler may raise in any call, the end of the reader among them.
        self.run_program("""
            import logging
            class Bad(logging.Handler):
                def emit(self, record):
                    raise KeyError(record.getMessage())
            path = dovetail.Dataset(dataset).shard_paths[0]
            with open(path, "r+b") as file:
                file.seek(300)
                file.write(bytes(200))
            sys.unraisablehook = lambda raised: raisings.append(raised.exc_value)
            raisings = []
            logging.getLogger("dovetail").addHandler(Bad())
            for take in range(30):
                reader = open_reader(on_damage="empty", seed=take)
                ids = []
                while len(ids) < take * 16:
                    try:
                        batch = reader.next()
                    except KeyError:
                        continue
                    ids.extend(batch.ids.tolist())
                wanted = [i for step in range(take) for i in reader.plan.rows(0, step)[0].tolist()]
                assert ids == wanted, "a batch was lost"
                del reader
        """)


    def test_what_a_reader_has_to_say_at_the_end_is_said(self):
        process = self.start_program("""
            path = dovetail.Dataset(dataset).shard_paths[0]
            with open(path, "r+b") as file:
                file.seek(300)
                file.write(bytes(2000))
            reader = open_reader(on_damage="empty", order="sequential", batch=500)
            reader.next()
            reader = open_reader(on_damage="empty", order="sequential", prefetch=8)
            batch = reader.next()
            import time
            time.sleep(0.3)  # it reads ahead
        """)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        self.assertIn("are lost", errors)
        for word in ("Traceback", "Exception", "halted"):
            self.assertNotIn(word, errors)

    def test_a_subinterpreter_is_refused_and_closes_nothing(self):
        self.run_program("""
            try:
                import _xxsubinterpreters as subinterpreters
            except ImportError:
                sys.exit()
            reader = open_reader()
            reader.next()
            other = subinterpreters.create()
            try:
                subinterpreters.run_string(other, f"import sys; sys.path[:] = {sys.path!r}; import dovetail")
            except subinterpreters.RunFailedError as error:
                assert "ImportError" in str(error) and "subinterpreter" in str(error), error
            else:
                raise AssertionError("it was imported")
            subinterpreters.destroy(other)
            assert reader.next().step == 1
        """)


if __name__ == "__main__":
    main()
