#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small net on images of digits by DistributedDataParallel, on CPUs and any number of processes.

    python3 ddp_digits.py digits                                          one process
    torchrun --nproc_per_node 4 ddp_digits.py digits                      four; also python3 -m torch.distributed.run,
                                                                          or RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT
    torchrun --nproc_per_node 4 ddp_digits.py digits --checkpoint c.pt    goes on from c.pt where it is there already,
    torchrun --nproc_per_node 2 ddp_digits.py digits --checkpoint c.pt    also with another number of processes
    torchrun --nproc_per_node 4 ddp_digits.py digits --split files        what goes wrong where ranks read files

The folder gets a training and a test set, unless they are there: 28x28 grey digits with labels, as tf.train.Example.

The global batch and the lanes are given, not those of a rank, so that any number of processes that divides them makes
the same steps on the same global batches. For the same weights, the test metric is the same to the last bit: the
results are put back in dataset order before they are added up, and every process runs the net on batches of one shape.
(The weights themselves differ in their last bits, as an all-reduce adds gradients in another order.)
"""

import argparse
import contextlib
import datetime
import gc
import os
import sys

import numpy
import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, IterableDataset

import dovetail
import dovetail.torch

PIXELS = 28 * 28
SCHEMA = f"image:u8[{PIXELS}], label:i64"
LANES = 8  # processes that work: 1, 2, 4, 8
EVALUATION_ROWS = 64

# A digit is drawn as on a pocket calculator: rows and columns of its seven lines, and which of them it has.
LINES = {"a": (slice(4, 7), slice(8, 20)), "b": (slice(4, 16), slice(17, 20)), "c": (slice(13, 25), slice(17, 20)),
         "d": (slice(22, 25), slice(8, 20)), "e": (slice(13, 25), slice(8, 11)), "f": (slice(4, 16), slice(8, 11)),
         "g": (slice(13, 16), slice(8, 20))}
DIGITS = ("abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg")


def draw(digit, random):
    """uint8 [28, 28]: the digit somewhere near the middle, more or less bright, in noise."""
    image = numpy.zeros((28, 28))
    for line in DIGITS[digit]:
        image[LINES[line]] = random.uniform(100, 255)
    image = numpy.roll(image, random.integers(-3, 4, size=2), axis=(0, 1))
    return (image + random.normal(0, 50, image.shape)).clip(0, 255).astype(numpy.uint8)


def make_digits(folder, records, seed, shards=6):
    """Writes a dataset whose files differ in size, as files do."""
    random = numpy.random.default_rng(seed)
    labels = random.integers(0, 10, records)
    shares = numpy.arange(1, shards + 1) / sum(range(1, shards + 1))
    ends = (records * numpy.cumsum(shares)).round().astype(int)[:-1]
    with dovetail.DatasetWriter(folder, schema=SCHEMA) as writer:
        for shard, of_shard in enumerate(numpy.split(labels, ends)):
            if shard > 0:
                writer.next_shard()
            writer.extend(dovetail.example(image=draw(label, random), label=label) for label in of_shard)


class PerFileDataset(IterableDataset):
    """The plain way: every rank reads whole files of its own, one after the other. Their sizes decide its steps."""

    def __init__(self, dataset, batch):
        super().__init__()
        files = dovetail.Dataset(dataset).shard_paths[dist.get_rank()::dist.get_world_size()]
        self.readers = [dovetail.Reader(file, batch=batch, rank=0, world=1, columns=SCHEMA) for file in files]

    def __len__(self):
        return sum(map(len, self.readers))

    def __iter__(self):
        for reader in self.readers:
            yield from map(dovetail.torch.tensors, reader)

    def close(self):
        for reader in self.readers:
            reader.close()


def join_job(timeout):
    """A launcher gives the variables that say who is who; without them this is a job of one process."""
    alone = {} if "RANK" in os.environ else {"store": dist.HashStore(), "rank": 0, "world_size": 1}
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=timeout), **alone)


def say(text):
    if dist.get_rank() == 0:
        print(text, flush=True)


class Refused(Exception):
    """The job would not come to its end; raised on all ranks."""


def refuse_unequal(steps, check=None):
    """One small collective before the first batch: would all ranks make the same steps?

    `plan_checksum` is equal on all ranks whose readers were opened alike.
    """
    of_ranks = [None] * dist.get_world_size()
    dist.all_gather_object(of_ranks, (steps, check))
    counts = [steps for steps, _ in of_ranks]
    if min(counts) < max(counts):
        raise Refused(f"the ranks would make {counts} steps, and after {min(counts)} of them some would wait for the "
                      "others for ever")
    if of_ranks.count(of_ranks[0]) < len(of_ranks):
        raise Refused("the ranks were not started with the same data and options")


def save(path, model, optimizer, data):
    """Rank 0 writes, whole or not at all. The state of the data is the same on all ranks."""
    if dist.get_rank() > 0:
        return
    state = {"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "data": data.state_dict()}
    with open(path + ".partial", "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".partial", path)


def load(path, model, optimizer, data):
    state = torch.load(path)
    model.module.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    data.load_state_dict(state["data"])


def mean_loss(model, batch):
    """The mean over the rows of the batch, where rows without a record count as zeros. All ranks divide by the same
    number, so that the mean of their gradients is that of the global batch."""
    losses = cross_entropy(model(batch["image"] / 255), batch["label"], reduction="none")
    return (losses * (batch["status"] != dovetail.EMPTY)).mean()


def make_steps(model, optimizer, batches, after_step):
    """Trains on the rest of an epoch. Returns its steps and the sum of their losses, on this rank."""
    steps, total = 0, torch.zeros(())
    for batch in batches:
        optimizer.zero_grad()
        loss = mean_loss(model, batch)
        loss.backward()  # where the ranks wait for each other
        optimizer.step()
        steps, total = steps + 1, total + loss.detach()
        after_step()
    return steps, total


def train(args, model, optimizer, data, ids_file):
    """Goes through what is left of the epochs."""
    loader = DataLoader(data, batch_size=None, num_workers=0)
    refuse_unequal(len(loader), data.reader.plan_checksum())

    def note(batch):
        if ids_file:  # before the step: where rank 0 has made it, all have noted it
            ids = [i for i in batch["ids"].tolist() if i >= 0]
            print(data.reader.epoch, data.reader.step - 1, *ids, file=ids_file, flush=True)
        return batch

    def after_step():
        if args.checkpoint and data.reader.step % args.checkpoint_every == 0:
            save(args.checkpoint, model, optimizer, data)

    while data.reader.epoch < args.epochs:
        epoch = data.reader.epoch
        steps, total = make_steps(model, optimizer, map(note, loader), after_step)
        dist.all_reduce(total)
        say(f"epoch {epoch}: {steps} steps, loss {float(total) / max(1, steps) / dist.get_world_size():.4f}")
    if args.checkpoint:
        save(args.checkpoint, model, optimizer, data)


def train_per_file(args, model, optimizer, data):
    loader = DataLoader(data, batch_size=None, num_workers=0)
    if not args.unchecked:
        refuse_unequal(len(loader))
    for _ in range(args.epochs):
        steps, _ = make_steps(model, optimizer, loader, lambda: None)
        print(f"rank {dist.get_rank()} has made its {steps} steps", flush=True)
        dist.barrier()


def gather(tensor):
    """The tensors of all ranks, which have the same shape, one behind the other."""
    parts = [torch.empty_like(tensor) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, tensor)
    return torch.cat(parts).numpy()


def evaluate(net, folder):
    """Mean loss and accuracy over all records of the test set."""
    dataset = dovetail.Dataset(folder)
    data = dovetail.torch.BatchDataset(dataset, batch=EVALUATION_ROWS, columns=True, order="sequential", tail="pad",
                                       epochs=1)
    results = []
    with torch.no_grad(), contextlib.closing(data):
        for batch in data:
            answers = net(batch["image"] / 255)
            losses = cross_entropy(answers, batch["label"], reduction="none")
            hits = answers.argmax(1) == batch["label"]
            # Clones, because tensors of a batch keep its slot.
            results.append((batch["ids"].clone(), batch["status"].clone(), losses, hits.to(torch.uint8)))
    ids, status, losses, hits = (gather(torch.cat(parts)) for parts in zip(*results))
    rows, _ = dovetail.gathered_rows(len(dataset), ids.view(numpy.uint64), status)
    return float(losses[rows].sum(dtype=numpy.float64)) / len(rows), int(hits[rows].sum()) / len(rows)


def parse():
    parser = argparse.ArgumentParser(description="Trains a small net on digits, on any number of processes.")
    parser.add_argument("data", help="folder of the datasets; made where they are missing")
    parser.add_argument("--train-records", type=int, default=4096)
    parser.add_argument("--test-records", type=int, default=1000)
    parser.add_argument("--epochs", type=int, default=4, help="in all, those before a checkpoint among them")
    parser.add_argument("--global-batch", type=int, default=64, help="rows per step of all processes together")
    parser.add_argument("--tail", choices=("drop", "pad", "wrap"), default="pad")
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0, help="of the order and the net")
    parser.add_argument("--checkpoint", metavar="FILE", help="gone on from where it is there")
    parser.add_argument("--checkpoint-every", type=int, default=10, metavar="STEPS")
    parser.add_argument("--ids", metavar="FOLDER", help="each rank notes there its epochs, steps and ids")
    parser.add_argument("--split", choices=("dovetail", "files"), default="dovetail")
    parser.add_argument("--unchecked", action="store_true", help="with --split files: look what happens")
    parser.add_argument("--timeout", type=float, default=300, help="seconds that a rank waits for the others")
    return parser.parse_args()


def run(args):
    rank, world = dist.get_rank(), dist.get_world_size()
    if args.global_batch % world != 0:
        raise Refused(f"a global batch of {args.global_batch} rows cannot be shared by {world} processes")
    train_set, test_set = os.path.join(args.data, "train"), os.path.join(args.data, "test")
    if rank == 0:
        for folder, records, seed in ((train_set, args.train_records, 1), (test_set, args.test_records, 2)):
            if not os.path.exists(os.path.join(folder, "manifest.dvt")):
                make_digits(folder, records, seed)
    dist.barrier()

    net = torch.nn.Sequential(torch.nn.Linear(PIXELS, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    batch = args.global_batch // world
    if args.split == "files":
        with contextlib.closing(PerFileDataset(train_set, batch)) as data:
            train_per_file(args, model, optimizer, data)
    else:
        data = dovetail.torch.BatchDataset(train_set, batch=batch, columns=True, tail=args.tail, lanes=LANES,
                                           seed=args.seed)
        if args.checkpoint and os.path.exists(args.checkpoint):
            load(args.checkpoint, model, optimizer, data)
            say(f"goes on at epoch {data.reader.epoch}, step {data.reader.step}")
        notes = open(os.path.join(args.ids, f"rank{rank}.txt"), "w") if args.ids else contextlib.nullcontext()
        with contextlib.closing(data), notes as ids_file:
            train(args, model, optimizer, data, ids_file)
    loss, accuracy = evaluate(net, test_set)
    say(f"test loss {loss:.6f} ({loss.hex()}), accuracy {accuracy:.4f}")


def main():
    args = parse()
    torch.set_num_threads(1)  # as many processes as cores
    torch.manual_seed(args.seed)
    join_job(args.timeout)
    try:
        run(args)
        code = 0
    except Refused as refusal:
        say(f"refused: {refusal}")
        code = 3
    # Where the model is the last to hold the process group, it joins gloo's threads under the interpreter lock, which
    # these may be waiting for: PyTorch 1.13 was seen to stop there for ever. So all models go first.
    gc.collect()
    dist.barrier()
    dist.destroy_process_group()
    return code


if __name__ == "__main__":
    sys.exit(main())
