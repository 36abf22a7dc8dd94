#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a forked child can do with what its parent opened, and that the parent is unharmed."""

import textwrap

from fixtures import main
from programs import ProgramTest


# From 3.12 on Python warns of every fork of a process that has threads, as every process with a reader has. What
# becomes of such a child is what is tested here; all else that is said on standard error is a failure, as elsewhere.
FORKS_WITH_THREADS = """
import warnings
warnings.filterwarnings("ignore", "This process .* is multi-threaded, use of fork", DeprecationWarning)
"""


class ForkTest(ProgramTest):
    def run_program(self, text, *arguments, **options):
        return super().run_program(FORKS_WITH_THREADS + textwrap.dedent(text), *arguments, **options)

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
            in_order = iter(records)
            first = next(in_order)
            tensor = batch.tensor()
            child = os.fork()
            if child == 0:
                uses = {
                    "next": reader.next, "iterator": lambda: next(iterator), "state": reader.state_dict,
                    "stats": reader.stats, "len": lambda: len(reader), "epoch": lambda: reader.epoch,
                    "seek": lambda: reader.seek(1), "set_epoch": lambda: reader.set_epoch(1),
                    "load": lambda: reader.load_state_dict(state), "values": lambda: batch.values,
                    "rows": batch.rows, "ids": lambda: batch.ids, "tensor": batch.tensor,
                    "capsule": tensor.__dlpack__, "records": lambda: next(in_order),
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
                assert next(iter(records)) == first
                own = open_reader()
                assert own.next().rows()
                own.close()
                writer.abandon()
                reader.close()
                batch.release()
                del own, reader, batch, iterator, writer, many, in_order, tensor
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

    def test_a_child_says_nothing_for_the_readers_of_its_parent(self):
        self.run_program("""
            import logging, time
            parent = os.getpid()
            class Handler(logging.Handler):
                def emit(self, record):
                    if os.getpid() != parent:
                        os._exit(3)
                    seen.append(record.getMessage())
            seen = []
            logging.getLogger("dovetail").addHandler(Handler())
            path = dovetail.Dataset(dataset).shard_paths[0]
            with open(path, "r+b") as file:
                file.seek(300)
                file.write(bytes(2000))
            readers = [open_reader(on_damage="empty", order="sequential", prefetch=8) for _ in range(2)]
            reader = readers[0]
            batches = [each.next() for each in readers]
            time.sleep(0.3)  # they read ahead
            child = os.fork()
            if child == 0:
                for call in (reader.stats, reader.close):
                    try:
                        call()
                    except dovetail.ClosedError:
                        pass
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
            reader.stats()
            assert seen
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


    def test_records_can_be_read_in_a_child_though_threads_read_them_at_the_fork(self):
        # As in the worker processes of a DataLoader.
        self.run_program("""
            import time
            large = dataset + "/large"
            with dovetail.DatasetWriter(large, block_bytes=1 << 20, run_records=65536) as writer:
                writer.extend(b"record %d" % i * (i % 5 + 1) for i in range(100_000))
            records = dovetail.open(large)
            in_order = iter(records)
            wanted = records[3]
            stop = threading.Event()
            def work(i):
                while not stop.is_set():
                    records[i]
            threads = [threading.Thread(target=work, args=(i,)) for i in (7, 90_000)]
            for thread in threads:
                thread.start()
            for _ in range(20):
                child = os.fork()
                if child == 0:
                    good = records[3] == wanted and records[90_000:90_002] and next(iter(records))
                    del records, in_order
                    gc.collect()
                    os._exit(0 if good else 3)
                end = time.monotonic() + 20
                while True:
                    done, status = os.waitpid(child, os.WNOHANG)
                    if done:
                        break
                    if time.monotonic() > end:
                        os.kill(child, signal.SIGKILL)
                        os.waitpid(child, 0)
                        stop.set()
                        raise AssertionError("a child hangs")
                    time.sleep(0.005)
                if status != 0:
                    stop.set()
                    raise AssertionError(status)
            stop.set()
            for thread in threads:
                thread.join()
        """)


if __name__ == "__main__":
    main()
