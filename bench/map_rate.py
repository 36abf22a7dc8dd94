#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares ways to run a function of Python on every record, or on every batch.

    PYTHONPATH=build/release/python/package python3 bench/map_rate.py [--images 2000] [--rounds 7]

JPEGs are decoded, resized and flipped by PIL. All do the same work on two threads or processes, and give batches of 32
shuffled images:

    pool      a thread pool over records in memory, a task for each batch: no order to keep, no reading, no checks
    reader    dovetail.Reader(map=..., decode_threads=2)
    loader    a DataLoader of PyTorch with num_workers=2 over a folder of files

`bytes` does nothing but return the length of the record: what a call costs. `nothing` and `scale` compare `map` with
`map_batch`, on records of 64 float32: a function that returns an empty dict, and one that scales them with NumPy.
"""

import argparse
import concurrent.futures
import io
import os
import statistics
import tempfile
import time

import numpy
from PIL import Image, ImageOps

import dovetail

BATCH = 32
COLUMNS = "image:u8[160,160,3], label:i64"


def make_images(folder, count):
    """Writes JPEGs of 256x256 with smooth and rough parts, in ten classes."""
    random = numpy.random.default_rng(1)
    for i in range(count):
        rough = random.integers(0, 256, (32, 32, 3), numpy.uint8)
        path = os.path.join(folder, str(i % 10))
        os.makedirs(path, exist_ok=True)
        Image.fromarray(rough).resize((256, 256), Image.BICUBIC).save(os.path.join(path, f"{i}.jpg"), quality=90)


def decode(data, random):
    image = Image.open(io.BytesIO(data)).convert("RGB").resize((160, 160), Image.BILINEAR)
    return numpy.asarray(ImageOps.mirror(image) if random < 0.5 else image)


def by_record(record):
    example = dovetail.parse_example(record)
    return {"image": decode(example["data"][0], record.id % 7 / 7), "label": example["label"][0]}


def length(record):
    return {"n": len(record)}


def scale(record):
    values = numpy.frombuffer(record, numpy.float32)
    return {"values": (values - values.mean()) / values.std()}


def scale_batch(records):
    values = numpy.frombuffer(b"".join(records), numpy.float32).reshape(len(records), -1)
    return {"values": (values - values.mean(1, keepdims=True)) / values.std(1, keepdims=True)}


class Pool:
    def __init__(self, records, function, columns):
        self.records, self.function, self.columns = records, function, columns

    def run(self):
        def batch(ids):
            rows = []
            for i in ids:
                record = dovetail.Record(self.records[i])
                record.id = int(i)
                rows.append(self.function(record))
            return {name: numpy.stack([row[name] for row in rows]) for name in self.columns}

        order = numpy.random.default_rng(1).permutation(len(self.records))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            batches = [order[i:i + BATCH] for i in range(0, len(order) - BATCH + 1, BATCH)]
            return sum(len(next(iter(made.values()))) for made in pool.map(batch, batches))


class Reader:
    def __init__(self, dataset, columns, **function):
        self.reader = dovetail.Reader(dataset, batch=BATCH, rank=0, world=1, columns=columns, decode_threads=2,
                                      **function)

    def run(self):
        return sum(len(batch) for batch in self.reader)


class Loader:
    def __init__(self, folder):
        import torch
        from torch.utils.data import DataLoader, Dataset

        files = sorted(os.path.join(parent, name) for parent, _, names in os.walk(folder) for name in names)

        class Images(Dataset):
            def __len__(self):
                return len(files)

            def __getitem__(self, i):
                with open(files[i], "rb") as file:
                    image = decode(file.read(), i % 7 / 7)
                return torch.from_numpy(image.copy()), int(os.path.basename(os.path.dirname(files[i])))

        self.loader = DataLoader(Images(), batch_size=BATCH, shuffle=True, num_workers=2, drop_last=True,
                                 persistent_workers=True)

    def run(self):
        return sum(len(labels) for _, labels in self.loader)


def compare(contestants, rounds):
    """Runs them in turn; prints the median of their rates, and of the ratios to the first one."""
    rates = {name: [] for name in contestants}
    for _ in range(rounds + 1):  # the first one warms up
        for name, contestant in contestants.items():
            began = time.perf_counter()
            rows = contestant.run()
            rates[name].append(rows / (time.perf_counter() - began))
    first = next(iter(contestants))
    for name, found in rates.items():
        ratio = statistics.median(mine / yours for mine, yours in zip(found[1:], rates[first][1:]))
        print(f"  {name:<8} {statistics.median(found[1:]):10,.0f} records/s   {ratio:.2f} of {first}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=7)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        images, packed = os.path.join(folder, "images"), os.path.join(folder, "packed")
        make_images(images, given.images)
        dovetail.convert([images], packed, labels=True)
        records = list(dovetail.open(packed))
        print("images")
        contestants = {"pool": Pool(records, by_record, ("image", "label")),
                       "reader": Reader(packed, COLUMNS, map=by_record)}
        try:
            contestants["loader"] = Loader(images)
        except ImportError:
            print("  PyTorch is not installed")
        compare(contestants, given.rounds)
        print("bytes")
        compare({"pool": Pool(records, length, ("n",)), "reader": Reader(packed, "n:i64", map=length)},
                given.rounds)
        numbers = os.path.join(folder, "numbers")
        with dovetail.DatasetWriter(numbers, shards=1, expected_records=50_000) as writer:
            writer.extend(row.tobytes() for row in numpy.random.default_rng(1).random((50_000, 64), numpy.float32))
        for name, columns, function, of_batch in (("nothing", "n:i64=0", lambda record: {}, lambda records: {}),
                                                  ("scale", "values:f32[64]", scale, scale_batch)):
            print(name)
            compare({"map": Reader(numbers, columns, map=function),
                     "batch": Reader(numbers, columns, map_batch=of_batch)}, given.rounds)


if __name__ == "__main__":
    main()
