#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and other signals, in whatever the module waits for."""

import os
import shutil
import signal
import subprocess
import textwrap
import time
import unittest

from fixtures import main, write_file
from programs import ProgramTest

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

    def test_in_verify_inspect_and_convert(self):
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
        for path in (self.path("converted"), lines):
            self.interrupt("""
                print("waiting", flush=True)
                try:
                    while True:
                        dovetail.inspect(sys.argv[2], full=True, features=True)
                except KeyboardInterrupt:
                    pass
                assert dovetail.inspect(sys.argv[2])["records"] == 400000
            """, path)

    def test_while_inspect_opens_a_source(self):
        import gzip

        path = self.path("long.csv.gz")  # all rows are read before the first record, for the types
        with open(path, "wb") as file:
            file.write(gzip.compress(b"a,b\n"))
            file.write(gzip.compress(b"1,2\n" * 2**20) * 4096)
        self.interrupt("""
            print("waiting", flush=True)
            try:
                dovetail.inspect(sys.argv[2])
            except KeyboardInterrupt:
                sys.exit()
            raise AssertionError("it came to an end")
        """, path)

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

    # Whoever iterates in C never looks for signals.
    LOOPS_OF_C = {
        "extend": """
            import itertools
            writer = dovetail.Writer(dataset + "/endless.dvt")
            use = lambda: writer.extend(itertools.repeat(b"x" * 1000))
        """,
        "records": """
            records = dovetail.open(dataset)
            use = lambda: collections.deque(itertools.chain.from_iterable(itertools.repeat(records)), 0)
        """,
        "a reader": """
            reader = open_reader(batch=1)
            use = lambda: collections.deque(itertools.chain.from_iterable(itertools.repeat(reader)), 0)
        """,
    }

    def test_in_loops_of_c(self):
        for name, program in self.LOOPS_OF_C.items():
            with self.subTest(loop=name):
                began = time.monotonic()
                self.interrupt("import collections, itertools\n" + textwrap.dedent(program) + textwrap.dedent("""
                    print("waiting", flush=True)
                    try:
                        use()
                    except KeyboardInterrupt:
                        sys.exit()
                    raise AssertionError("it came to an end")
                """))
                self.assertLess(time.monotonic() - began, 20)

    def test_long_calls_let_other_threads_run(self):
        self.run_program("""
            import time
            plan = dovetail.Plan(dataset, batch=1, assign="files", world=3)
            longest = 0
            def watch():
                global longest
                last = time.monotonic()
                while not done:
                    time.sleep(0.001)
                    longest, last = max(longest, time.monotonic() - last), time.monotonic()
            done = False
            thread = threading.Thread(target=watch)
            thread.start()
            began = time.monotonic()
            plan.total_steps(400_000)
            took = time.monotonic() - began
            done = True
            thread.join()
            assert longest < max(0.3, took / 2), (longest, took)
        """)

    def test_a_handler_that_moves_or_closes_the_reader_ends_the_wait(self):
        for use, kind, says in (("seek(0, 3)", "BusyError", "by another thread or a signal handler"),
                                ("close()", "ClosedError", "the reader was closed")):
            with self.subTest(use=use):
                self.run_program(f"""
                    import collections, itertools
                    waits = threading.Lock()
                    def interrupts(record):
                        if waits.acquire():
                            os.kill(os.getpid(), signal.SIGALRM)
                            waits.release()
                        return {{"x": 1}}
                    def handler(*_):
                        global called
                        if not called:
                            called = True
                            reader.{use}
                    called = False
                    signal.signal(signal.SIGALRM, handler)
                    waits.acquire()
                    reader = open_reader(columns="x:i64", map=interrupts)
                    try:  # a loop in C, so that only `next` looks for signals
                        collections.deque(itertools.chain(iter(waits.release, None), iter(reader)), 0)
                    except dovetail.{kind} as error:
                        assert {says!r} in str(error), error
                    else:
                        raise AssertionError("it went on")
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
            signal.setitimer(signal.ITIMER_REAL, 0)  # or it strikes at the end, when there are no handlers
        """)


if __name__ == "__main__":
    main()
