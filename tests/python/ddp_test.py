#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training by DistributedDataParallel with examples/python/ddp_digits.py, in processes that talk by gloo."""

import collections
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import torch
    import torch.distributed
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)  # what ctest takes for "skipped"
if not getattr(torch.distributed, "is_gloo_available", torch.distributed.is_available)():
    print("skipped: this PyTorch has no gloo")
    sys.exit(77)

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python", "ddp_digits.py")
RECORDS = 2000  # no multiple of the batch: the last step of an epoch has rows without a record
GLOBAL_BATCH = 64
STEPS = -(-RECORDS // GLOBAL_BATCH)
EPOCHS = 4
CHECKPOINT_EVERY = 10  # never at the end of an epoch
WORLD = 4
PATIENCE = 240  # seconds that a job may take before it is taken for hanging
REFUSED = 3


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class Job:
    """The script in some processes. What they print is collected in files of `folder`."""

    def __init__(self, folder, world, *arguments, torchrun=False):
        self.folder = tempfile.mkdtemp(dir=folder)
        self.ids = os.path.join(self.folder, "ids")
        os.mkdir(self.ids)
        arguments = [SCRIPT, *map(str, arguments), "--ids", self.ids]
        # A PyTorch without libuv, as Debian 13's, takes it for granted unless it is told. What torchrun itself listens
        # with cannot be told: its processes meet by a file, and make a store of their own.
        variables = {"GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1", "USE_LIBUV": "0",
                     "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}
        self.processes = []
        if torchrun:
            # Its own way to print (--tee 0) fails for PyTorch 1.13 under Python 3.11.
            launcher = ["-m", "torch.distributed.run", "--nproc_per_node", str(world), "--redirects", "1", "--tee", "1",
                        "--rdzv_backend", "c10d", "--rdzv_conf", "store_type=file",
                        "--rdzv_endpoint", os.path.join(self.folder, "rendezvous")]
            self.start([*launcher, *arguments], variables)
            return
        variables.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()), WORLD_SIZE=str(world),
                         LOCAL_WORLD_SIZE=str(world))
        for rank in range(world):
            self.start(arguments, {**variables, "RANK": str(rank), "LOCAL_RANK": str(rank)})

    def start(self, arguments, variables):
        with open(self.output_path(len(self.processes)), "wb") as output:
            self.processes.append(subprocess.Popen(
                [sys.executable, *arguments], stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **variables},
                cwd=self.folder, start_new_session=True))

    def output_path(self, process):
        return os.path.join(self.folder, f"output{process}.txt")

    def output(self, process=0):
        with open(self.output_path(process), encoding="utf-8", errors="replace") as file:
            return file.read()

    def kill(self):
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()

    def wait(self):
        """The exit codes of all processes."""
        deadline = time.monotonic() + PATIENCE
        try:
            return [process.wait(max(0.1, deadline - time.monotonic())) for process in self.processes]
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the job hangs: {self.outputs()}") from None
        finally:
            self.kill()

    def outputs(self):
        return "\n".join(f"--- {i}\n{self.output(i)}" for i in range(len(self.processes)))

    def run(self):
        codes = self.wait()
        if any(codes):
            raise AssertionError(f"exit codes {codes}: {self.outputs()}")
        return self

    def noted(self):
        """{(epoch, step): ids} of each rank."""
        ranks = []
        for name in sorted(os.listdir(self.ids)):
            with open(os.path.join(self.ids, name), encoding="ascii") as lines:
                numbers = [[int(word) for word in line.split()] for line in lines if line.endswith("\n")]
            ranks.append({(epoch, step): ids for epoch, step, *ids in numbers})
        return ranks

    def losses(self):
        return [float(loss) for loss in re.findall(r"epoch \d+: \d+ steps, loss ([\d.]+)", self.output())]

    def metric(self):
        """The loss on the test set with all its bits, and the accuracy."""
        loss, accuracy = re.search(r"test loss \S+ \((\S+)\), accuracy ([\d.]+)", self.output()).groups()
        return loss, float(accuracy)


def global_batches(ranks):
    """{(epoch, step): ids of all ranks, sorted}."""
    batches = collections.defaultdict(list)
    for noted in ranks:
        for place, ids in noted.items():
            batches[place] += ids
    return {place: sorted(ids) for place, ids in batches.items()}


class DdpTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="dovetail-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        cls.one_file, cls.four_file = cls.path("one.pt"), cls.path("four.pt")
        cls.one = cls.start(1, "--epochs", EPOCHS, "--checkpoint", cls.one_file).run()
        cls.four = cls.start(WORLD, "--epochs", EPOCHS, "--checkpoint", cls.four_file).run()

    @classmethod
    def path(cls, *names):
        return os.path.join(cls.folder, *names)

    @classmethod
    def start(cls, world, *arguments, **options):
        job = Job(cls.folder, world, cls.path("digits"), "--train-records", RECORDS, "--test-records", 500,
                  "--global-batch", GLOBAL_BATCH, "--checkpoint-every", CHECKPOINT_EVERY, *arguments, **options)
        cls.addClassCleanup(job.kill)
        return job

    def test_all_ranks_make_the_same_steps_on_every_record_once(self):
        ranks = self.four.noted()
        self.assertEqual(len(ranks), WORLD)
        for noted in ranks:
            self.assertEqual(list(noted), [(epoch, step) for epoch in range(EPOCHS) for step in range(STEPS)])
        for epoch in range(EPOCHS):
            ids = [i for noted in ranks for step in range(STEPS) for i in noted[epoch, step]]
            self.assertEqual(sorted(ids), list(range(RECORDS)))

    def test_four_processes_learn_what_one_learns(self):
        self.assertEqual(global_batches(self.four.noted()), global_batches(self.one.noted()))
        for job in (self.one, self.four):
            losses = job.losses()
            self.assertEqual(len(losses), EPOCHS)
            self.assertLess(losses[-1], losses[0] / 2, "the loss falls")
        for ours, theirs in zip(self.four.losses(), self.one.losses()):
            self.assertAlmostEqual(ours, theirs, delta=0.02)  # sums of other orders
        accuracy = self.one.metric()[1]
        self.assertGreater(accuracy, 0.7)
        self.assertAlmostEqual(self.four.metric()[1], accuracy, delta=0.01)

    def test_the_metric_has_the_same_bits_for_any_world(self):
        arguments = ["--epochs", EPOCHS, "--checkpoint", self.four_file]  # nothing is left to train
        one = self.start(1, *arguments).run()
        self.assertEqual(one.losses(), [])
        self.assertEqual(one.metric(), self.four.metric())
        two = self.start(2, *arguments, torchrun=True).run()
        self.assertEqual(two.metric(), self.four.metric())

    def test_killed_in_mid_epoch_and_resumed_in_two_worlds(self):
        checkpoint = self.path("killed.pt")
        killed = self.start(WORLD, "--epochs", 100000, "--checkpoint", checkpoint)
        deadline = time.monotonic() + PATIENCE
        while len(killed.noted()) < WORLD or len(killed.noted()[0]) < STEPS + 15:
            self.assertTrue(all(process.poll() is None for process in killed.processes), killed.outputs())
            self.assertLess(time.monotonic(), deadline, killed.outputs())
            time.sleep(0.05)
        killed.kill()
        self.assertEqual([process.returncode for process in killed.processes], [-signal.SIGKILL] * WORLD)

        at = torch.load(checkpoint)["data"]
        epoch, step = at["epoch"], at["step"]
        self.assertTrue(0 < step < STEPS, at)
        before = [{place: ids for place, ids in noted.items() if place[0] == epoch and place[1] < step}
                  for noted in killed.noted()]
        for noted in before:
            self.assertEqual(len(noted), step)
        rest = []
        for world in (WORLD, 2):
            copy = shutil.copy(checkpoint, self.path(f"resumed{world}.pt"))
            resumed = self.start(world, "--epochs", epoch + 1, "--checkpoint", copy).run()
            self.assertIn(f"goes on at epoch {epoch}, step {step}", resumed.output())
            after = resumed.noted()
            self.assertEqual(len(after), world)
            for noted in after:
                self.assertEqual(list(noted), [(epoch, i) for i in range(step, STEPS)])
            ids = [i for noted in before + after for of_step in noted.values() for i in of_step]
            self.assertEqual(sorted(ids), list(range(RECORDS)))
            self.assertEqual(torch.load(copy)["data"]["epoch"], epoch + 1)
            rest.append(global_batches(after))
        self.assertEqual(rest[0], rest[1])

    def test_a_split_by_files_is_refused(self):
        job = self.start(WORLD, "--split", "files")
        self.assertEqual(job.wait(), [REFUSED] * WORLD, job.outputs())
        counts = re.search(r"refused: the ranks would make \[([\d, ]+)\] steps", job.output())
        self.assertGreater(len(set(counts.group(1).split(", "))), 1)

    def test_a_split_by_files_hangs_where_nothing_refuses_it(self):
        job = self.start(WORLD, "--split", "files", "--unchecked", "--timeout", 10)
        self.assertNotIn(0, job.wait(), job.outputs())
        done = re.findall(r"rank \d has made its \d+ steps", job.outputs())
        self.assertTrue(0 < len(done) < WORLD, job.outputs())
        self.assertIn("Timed out", job.outputs())

    def test_a_batch_that_the_processes_cannot_share_is_refused(self):
        job = self.start(2, "--global-batch", 63)
        self.assertEqual(job.wait(), [REFUSED] * 2, job.outputs())


if __name__ == "__main__":
    unittest.main(verbosity=2)
