# SPDX-License-Identifier: Apache-2.0
"""What the tests of loaders in trainers share. Needs PyTorch."""

from dovetail.torch import BatchDataset
from dovetail.trainers import Loader
from fixtures import ErrorTest

RECORDS = 101
BATCH = 4
STEPS = RECORDS // BATCH


class TrainersTest(ErrorTest):
    def setUp(self):
        super().setUp()
        self.path_of_data = self.make_dataset(RECORDS, longest=20)

    def open(self, rank=0, world=1, **options):
        options = {"batch": BATCH, "io_threads": 1, "decode_threads": 1, "registration": "off", "max_held": 12,
                   "prefetch": 1, "lanes": 2, **options}
        dataset = BatchDataset(self.path_of_data, rank=rank, world=world, **options)
        self.addCleanup(dataset.close)
        return dataset

    def loader(self, **options):
        return Loader(self.open(**options))

    def expected(self, epochs=1):
        """The ids of all batches."""
        dataset = self.open()
        return [batch["ids"].tolist() for _ in range(epochs) for batch in dataset]


def take(batches, count):
    return [next(batches) for _ in range(count)]


def ids_of(batches):
    return [batch["ids"].tolist() for batch in batches]
