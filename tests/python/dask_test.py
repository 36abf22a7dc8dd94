#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example for Dask: parts on four processes, one of them killed, every record once."""

import collections
import logging
import os
import random
import signal
import sys
import threading
import time
import warnings

try:
    import distributed
except ImportError:
    distributed = None

import dovetail
from fixtures import ModuleTest, main, skip_all, write_file

if distributed is None:
    skip_all("Dask distributed is not installed")
EXAMPLES = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python"))
sys.path.append(EXAMPLES)
import dask_convert  # noqa: E402

ID = "0123456789abcdef" * 2
WORKERS, PARTS, SHARDS = 4, 8, 64


class DaskTest(ModuleTest):
    def setUp(self):
        super().setUp()
        # Workers are processes of their own, which find module and example by this.
        paths = os.pathsep.join([EXAMPLES, *filter(None, [os.environ.get("PYTHONPATH")])])
        before = os.environ.get("PYTHONPATH", "")
        self.addCleanup(os.environ.__setitem__, "PYTHONPATH", before)
        os.environ["PYTHONPATH"] = paths
        warnings.simplefilter("ignore")
        logging.disable(logging.ERROR)
        self.cluster = distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=1, processes=True,
                                                dashboard_address=None, local_directory=self.path("dask"))
        self.addCleanup(self.cluster.close)
        self.client = distributed.Client(self.cluster)
        self.addCleanup(self.client.close)
        self.sources = []
        self.lines = collections.Counter()
        for i in range(6):
            lines = [b"%d of %d %s" % (n, i, b"x" * (n % 90)) for n in range(20_000 + i)]
            self.lines.update(lines)
            self.sources.append(write_file(self.path(f"{i}.txt"), b"\n".join(lines) + b"\n"))
        self.options = {"format": "lines", "shards": SHARDS, "dataset_id": ID, "block_bytes": 4096}

    def check_dataset(self, folder):
        """Every record is there once, and the files are those of one process."""
        self.assertEqual(collections.Counter(dovetail.open(folder)), self.lines)
        self.assertTrue(dovetail.verify(folder).ok)
        dovetail.convert(self.sources, self.path("alone"), overwrite=True, **self.options)
        self.assertEqual([shard.fingerprint for shard in dovetail.Dataset(folder).shards],
                         [shard.fingerprint for shard in dovetail.Dataset(self.path("alone")).shards])

    def test_parts_become_one_dataset(self):
        pids = set(self.client.run(os.getpid).values())
        self.assertEqual(len(pids), WORKERS)
        self.assertNotIn(os.getpid(), pids)
        report = dask_convert.convert_all(self.client, self.sources, self.path("to"), PARTS, **self.options)
        self.assertEqual((report.records, report.shards), (sum(self.lines.values()), SHARDS))
        self.check_dataset(self.path("to"))

    def test_a_killed_worker_costs_nothing(self):
        pids = list(self.client.run(os.getpid).values())
        seed = random.SystemRandom().randrange(1 << 32)
        print(f"seed {seed}")
        victim = random.Random(seed).choice(pids)
        killed = []

        def kill_soon():
            folder = self.path("to.partial")
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                finished = sum(name.startswith("shard") for _, _, names in os.walk(folder) for name in names)
                if finished >= 3:
                    os.kill(victim, signal.SIGKILL)
                    killed.append(finished)
                    return
                time.sleep(0.001)

        killer = threading.Thread(target=kill_soon)
        killer.start()
        report = dask_convert.convert_all(self.client, self.sources, self.path("to"), PARTS, **self.options)
        killer.join()
        print(f"killed when {killed} of {SHARDS} shards were finished; {report.kept_shards} kept")
        self.assertTrue(killed)
        self.assertLess(killed[0], SHARDS)
        self.assertNotIn(victim, self.client.run(os.getpid).values())
        self.assertEqual(report.records, sum(self.lines.values()))
        self.check_dataset(self.path("to"))

    def test_two_attempts_at_one_part_do_no_harm(self):
        arguments = [(self.sources, self.path("to"), number, 2, self.options) for number in (0, 0, 1, 1)]
        tasks = [self.client.submit(dask_convert.convert_part, *each, pure=False) for each in arguments]
        reports = self.client.gather(tasks)
        self.assertEqual([report.shards for report in reports], [SHARDS // 2] * 4)
        dovetail.merge(self.path("to"))
        self.check_dataset(self.path("to"))


if __name__ == "__main__":
    main()
