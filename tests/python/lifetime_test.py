#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is left when readers, batches and interpreters end: no thread, descriptor, mapping or core dump. And Ctrl-C."""

import os
import shutil
import signal
import subprocess
import textwrap
import time
import unittest

from fixtures import ModuleTest, main, write_file

# What the programs below begin with.
PRELUDE = """
import gc, os, signal, sys, threading
import dovetail
dataset = sys.argv[1]

def open_reader(**options):
    options = {"batch": 16, "rank": 0, "world": 1, "io_threads": 2, "decode_threads": 1, **options}
    return dovetail.Reader(dataset, **options)

def settled():
    '''Threads, descriptors and mappings of this process.'''
    gc.collect()
    threads = len(os.listdir("/proc/self/task"))
    files = sorted(os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd")
                   if os.path.exists(f"/proc/self/fd/{n}"))
    with open("/proc/self/maps") as lines:
        mapped = sum(1 for line in lines if "rw-s" in line or "dvt" in line or "io_uring" in line)
    return threads, files, mapped

def resident():
    with open("/proc/self/statm") as numbers:
        return int(numbers.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
"""


# Reads that do not come back while a file is there.
HANGING_READS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>
static void hang(void) {
  const char* file = getenv("HANG");
  while (file && access(file, F_OK) == 0) usleep(10000);
}
ssize_t pread(int fd, void* to, size_t bytes, off_t at) {
  hang();
  return ((ssize_t (*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, "pread"))(fd, to, bytes, at);
}
ssize_t pread64(int fd, void* to, size_t bytes, off_t at) { return pread(fd, to, bytes, at); }
ssize_t preadv(int fd, const struct iovec* to, int count, off_t at) {
  hang();
  return ((ssize_t (*)(int, const struct iovec*, int, off_t))dlsym(RTLD_NEXT, "preadv"))(fd, to, count, at);
}
ssize_t preadv64(int fd, const struct iovec* to, int count, off_t at) { return preadv(fd, to, count, at); }
ssize_t preadv2(int fd, const struct iovec* to, int count, off_t at, int flags) {
  if (flags & 8) {  // RWF_NOWAIT: such reads are refused where they would wait
    errno = EAGAIN;
    return -1;
  }
  hang();
  ssize_t (*const real)(int, const struct iovec*, int, off_t, int) = dlsym(RTLD_NEXT, "preadv2");
  return real(fd, to, count, at, flags);
}
ssize_t preadv64v2(int fd, const struct iovec* to, int count, off_t at, int flags) {
  return preadv2(fd, to, count, at, flags);
}
"""


class ProgramTest(ModuleTest):
    def setUp(self):
        super().setUp()
        self.dataset = self.make_dataset(2000)

    def run_program(self, text, *arguments, **options):
        return super().run_program(PRELUDE + textwrap.dedent(text), self.dataset, *arguments, **options)

    def start_program(self, text, *arguments, **options):
        text = text if text.startswith(PRELUDE) else PRELUDE + textwrap.dedent(text)
        arguments = arguments if arguments[:1] == (self.dataset,) else (self.dataset, *arguments)
        return super().start_program(text, *arguments, **options)


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
        "converting": """
            while True:
                dovetail.convert([dataset], f"{dataset}/to-{threading.get_ident()}", overwrite=True, jobs=1,
                                 progress=lambda *at: None)
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


class ForkTest(ProgramTest):
    def test_what_the_parent_opened_is_closed_in_a_child(self):
        self.run_program("""
            reader = open_reader()
            batch = reader.next()
            state = reader.state_dict()
            iterator = iter(reader)
            next(iterator)
            writer = dovetail.Writer(dataset + "/one.dvt")
            writer.append(b"first")
            many = dovetail.DatasetWriter(dataset + "/many")
            many.append(b"first")
            plan = reader.plan
            records = dovetail.open(dataset)
            fifth = records[5]
            child = os.fork()
            if child == 0:
                uses = {
                    "next": reader.next, "iterator": lambda: next(iterator), "state": reader.state_dict,
                    "stats": reader.stats, "len": lambda: len(reader), "epoch": lambda: reader.epoch,
                    "seek": lambda: reader.seek(1), "set_epoch": lambda: reader.set_epoch(1),
                    "load": lambda: reader.load_state_dict(state), "values": lambda: batch.values,
                    "rows": batch.rows, "ids": lambda: batch.ids, "tensor": batch.tensor,
                    "append": lambda: writer.append(b"x"), "extend": lambda: writer.extend([b"x"]),
                    "finish": writer.finish, "many": lambda: many.append(b"x"), "next_shard": many.next_shard,
                    "many finish": many.finish,
                }
                for name, use in uses.items():
                    try:
                        use()
                    except dovetail.ClosedError as error:
                        assert error.code == dovetail.ErrorCode.closed, name
                        assert "forked" in str(error), (name, str(error))
                    except BaseException as error:
                        raise AssertionError(name) from error
                    else:
                        raise AssertionError(f"{name} works in a child")
                # What is pure or has no thread works, and so do readers of the child's own.
                assert plan.rows(0, 1)[0].size == 16
                assert records[5] == fifth
                own = open_reader()
                assert own.next().rows()
                own.close()
                writer.abandon()
                reader.close()
                batch.release()
                del own, reader, batch, iterator, writer, many
                gc.collect()
                sys.exit(0)  # with all that an interpreter does at its end
            assert os.waitpid(child, 0)[1] == 0
            # The parent is unharmed.
            batch.rows()
            for batch in reader:
                pass
            writer.append(b"second")
            assert writer.finish().records == 2
            many.append(b"second")
            many.finish()
            assert list(dovetail.open(dataset + "/one.dvt")) == [b"first", b"second"]
            assert list(dovetail.open(dataset + "/many")) == [b"first", b"second"]
        """)

    def test_a_child_that_leaves_with_all_alive(self):
        self.run_program("""
            reader = open_reader()
            batch = reader.next()
            writer = dovetail.Writer(dataset + "/one.dvt")
            many = dovetail.DatasetWriter(dataset + "/many")
            many.append(b"x")
            child = os.fork()
            if child == 0:
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
            writer.append(b"x")
            writer.finish()
            many.finish()
            assert reader.next().rows()
        """)

    def test_a_fork_while_threads_are_at_work(self):
        self.run_program("""
            writer = dovetail.Writer(dataset + "/one.dvt")
            stop = threading.Event()
            def write():
                while not stop.is_set():
                    writer.append(b"x" * 1000)
            def read():
                while not stop.is_set():
                    reader.next()
            reader = open_reader()
            threads = [threading.Thread(target=work) for work in (write, read)]
            for thread in threads:
                thread.start()
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    for use in (lambda: writer.append(b"x"), reader.next):
                        try:
                            use()
                        except dovetail.ClosedError:
                            continue
                        os._exit(3)
                    os._exit(0)
                assert os.waitpid(child, 0)[1] == 0
            stop.set()
            for thread in threads:
                thread.join()
        """)


class InterruptTest(ProgramTest):
    """Ctrl-C is a KeyboardInterrupt, soon, and the reader can go on."""

    def interrupt(self, program, *arguments, wait=0.3, **options):
        """Starts a program that prints a line when it is about to wait, and interrupts it then."""
        process = self.start_program(program, *arguments, **options)
        self.assertEqual(process.stdout.readline(), "waiting\n", process.poll() and process.stderr.read())
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(errors, "")
        return out

    @unittest.skipUnless(shutil.which("cc"), "there is no C compiler")
    def test_in_next_while_storage_does_not_answer(self):
        source = write_file(self.path("hang.c"), HANGING_READS.encode())
        library = self.path("hang.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
        hang = self.path("hang")
        self.interrupt("""
            reader = open_reader(storage="pread", memory_bytes=16 << 20, batch=500)
            def hold(on):
                if on:
                    open(sys.argv[2], "w").close()
                else:
                    os.unlink(sys.argv[2])
            hold(True)
            print("waiting", flush=True)
            try:
                while True:
                    batch = reader.next()
            except KeyboardInterrupt:
                step = reader.epoch, reader.step
            hold(False)
            batch = None
            for batch in reader:
                assert (batch.epoch, batch.step) == step
                break
        """, hang, env=dict(os.environ, LD_PRELOAD=library, HANG=hang))

    def test_in_verify_and_convert(self):
        lines = self.path("lines.jsonl")
        with open(lines, "w", encoding="ascii") as file:
            for i in range(400_000):
                file.write('{"x": %d, "text": "%s"}\n' % (i, "abc" * (i % 40)))
        out = self.interrupt("""
            import time
            print("waiting", flush=True)
            try:
                while True:
                    dovetail.convert([sys.argv[2]], sys.argv[3], jobs=1, overwrite=True)
            except KeyboardInterrupt:
                pass
            left = dovetail.convert([sys.argv[2]], sys.argv[3], jobs=2, overwrite=True)
            print(left.records)
        """, lines, self.path("converted"))
        self.assertEqual(out, "400000\n")
        self.interrupt("""
            print("waiting", flush=True)
            try:
                while True:
                    dovetail.verify(sys.argv[2], threads=1)
            except KeyboardInterrupt:
                pass
            assert dovetail.verify(sys.argv[2]).ok
        """, self.path("converted"))

    def test_in_the_loop_no_batch_is_lost(self):
        out = self.interrupt("""
            import itertools
            reader = open_reader(batch=8, epochs=0)
            taken = None
            print("waiting", flush=True)
            try:
                for epoch in itertools.count():
                    for batch in reader:
                        taken = batch.epoch, batch.step
            except KeyboardInterrupt:
                pass
            at = reader.epoch, reader.step
            # The signal may come between the call and the name for what it gave.
            after = reader.plan.total_steps(taken[0]) + taken[1] + 1
            assert reader.plan.total_steps(at[0]) + at[1] - after in (0, 1), (at, taken)
            batch = None
            for batch in reader:
                break
            assert batch is None or (batch.epoch, batch.step) == at
        """)

    def test_a_handler_of_another_signal_is_called_in_a_wait(self):
        self.run_program("""
            got = []
            signal.signal(signal.SIGALRM, lambda *_: got.append(1))
            signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
            reader = open_reader(batch=4)
            while len(got) < 3:
                for batch in reader:
                    pass
                dovetail.verify(dataset, threads=1)
        """)


if __name__ == "__main__":
    main()
