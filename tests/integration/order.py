#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the ids that a rank reads in an epoch, from docs/order.md alone: every list is written out, nothing is clever.

Prints `step row shard record status` for each row, or with --explain the lists that lead there.
"""
import argparse
import math
import sys

MASK32 = 2**32 - 1
MASK64 = 2**64 - 1
MASK128 = 2**128 - 1
SHARDS, RUNS, POOL, DRAIN = 1, 2, 3, 4
EMPTY, FIRST, REPEATED = 0, 1, 2


def philox(counter, key):
    """Philox4x32-10 of four and two 32-bit numbers."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0 = 0xD2511F53 * c0
        p1 = 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK32, (p0 >> 32) ^ c3 ^ k1, p0 & MASK32
        k0 = (k0 + 0x9E3779B9) & MASK32
        k1 = (k1 + 0xBB67AE85) & MASK32
    return c0, c1, c2, c3


def word(seed, purpose, epoch, lane, index):
    """The 64-bit word of one draw."""
    block, half = index >> 1, index & 1
    counter = (block & MASK32, (purpose << 24) | (block >> 32), lane, epoch)
    out = philox(counter, (seed & MASK32, seed >> 32))
    return out[2 * half] | out[2 * half + 1] << 32


def below(value, n):
    """A number below n from a 64-bit word."""
    return (value * n) >> 64


def mix(z):
    z ^= z >> 30
    z = z * 0xBF58476D1CE4E5B9 & MASK64
    z ^= z >> 27
    z = z * 0x94D049BB133111EB & MASK64
    return z ^ z >> 31


class Permutation:
    """A keyed bijection of [0, n): call it with a position to get the number there."""

    def __init__(self, n, seed, purpose, epoch, lane):
        self.n = n
        if n < 2:
            return
        self.a = math.isqrt(n - 1) + 1
        self.b = -(-n // self.a)
        self.keys = [word(seed, purpose, epoch, lane, i) for i in range(24 if n < 256 else 8)]

    def __call__(self, x):
        if self.n < 2:
            return x
        while True:
            left, right = divmod(x, self.b)
            for i, key in enumerate(self.keys):
                if i % 2 == 0:
                    left = (left + below(mix(right ^ key), self.a)) % self.a
                else:
                    right = (right + below(mix(left ^ key), self.b)) % self.b
            x = left * self.b + right
            if x < self.n:
                return x

    def all(self):
        return [self(x) for x in range(self.n)]


def odd_hash(value, part):
    out = philox((value & MASK32, value >> 32, 0, 0), (0x44564454, part))
    return out[0] | out[1] << 32 | out[2] << 64 | out[3] << 96 | 1


def record_digest(number):
    return odd_hash(number >> 16, 1) * odd_hash(number & 65535, 2) & MASK128


def hash_words(words):
    low, high = len(words), 0
    for i, w in enumerate(words):
        mixed = low ^ w
        out = philox((mixed & MASK32, mixed >> 32, high & MASK32, high >> 32), (0x44564448, i & MASK32))
        low, high = out[0] | out[1] << 32, out[2] | out[3] << 32
    return high << 64 | low


class Epoch:
    """One epoch of a plan; `lanes` holds the outputs of every lane as (shard, record) pairs."""

    def __init__(self, options):
        self.o = options
        if options.world % options.replicate:
            sys.exit("--replicate must divide --world")
        self.readers = options.world // options.replicate
        self.lane_count = options.lanes or self.readers
        self.records = sum(records for records, _ in options.shards)
        rows = self.readers * options.batch
        if self.lane_count % self.readers or rows % self.lane_count:
            sys.exit("--lanes must be a multiple of the readers and divide their rows")
        self.rows_per_lane = rows // self.lane_count
        self.dealt = self.deal()
        self.details = []
        self.lanes = [self.lane(v, pieces) for v, pieces in enumerate(self.dealt)]
        self.steps = self.count_steps()

    def deal(self):
        """The pieces (shard, first, last) of each lane; record `last` is not in the piece."""
        o = self.o
        order = list(range(len(o.shards)))
        if o.order == "shuffle":
            order = Permutation(len(o.shards), o.seed, SHARDS, o.epoch, 0).all()
        self.shard_order = order
        lanes = [[] for _ in range(self.lane_count)]
        if o.assign == "files":
            for position, shard in enumerate(order):
                lanes[position % self.lane_count].append((shard, 0, o.shards[shard][0]))
            return lanes
        for v, pieces in enumerate(lanes):
            first = v * self.records // self.lane_count
            last = (v + 1) * self.records // self.lane_count
            start = 0
            for shard in order:
                end = start + o.shards[shard][0]
                if max(first, start) < min(last, end):
                    pieces.append((shard, max(first, start) - start, min(last, end) - start))
                start = end
        return lanes

    def lane(self, v, pieces):
        o = self.o
        runs = []
        for shard, first, last in pieces:
            run_records = o.shards[shard][1]
            for record in range(first, last):
                if record == first or record % run_records == 0:
                    runs.append([])
                runs[-1].append((shard, record))
        if o.order == "sequential":
            outputs = [record for run in runs for record in run]
            self.details.append((runs, [], outputs, [], []))
            return outputs
        runs = [runs[number] for number in Permutation(len(runs), o.seed, RUNS, o.epoch, v).all()]
        groups = self.group(runs)
        inputs = [record for group in groups for record in self.interleave(group)]
        outputs, slots, drain = self.pool(v, inputs)
        self.details.append((runs, groups, inputs, slots, drain))
        return outputs

    def group(self, runs):
        count = -(-len(runs) // self.o.open_runs)
        return [runs[g * len(runs) // count : (g + 1) * len(runs) // count] for g in range(count)]

    @staticmethod
    def interleave(group):
        for turn in range(max(len(run) for run in group)):
            for run in group:
                if turn < len(run):
                    yield run[turn]

    def pool(self, v, inputs):
        o = self.o
        size = min(o.pool, len(inputs))
        pool, outputs, slots = inputs[:size], [], []
        for t in range(len(inputs) - size):
            slot = below(word(o.seed, POOL, o.epoch, v, t), size)
            slots.append(slot)
            outputs.append(pool[slot])
            pool[slot] = inputs[size + t]
        drain = Permutation(size, o.seed, DRAIN, o.epoch, v).all()
        return outputs + [pool[slot] for slot in drain], slots, drain

    def count_steps(self):
        sizes = [len(lane) for lane in self.lanes]
        if self.o.tail == "drop":
            steps = min(sizes) // self.rows_per_lane
        else:
            steps = -(-max(sizes) // self.rows_per_lane)
        if steps == 0 or (self.o.tail == "wrap" and min(sizes) == 0):
            sys.exit("this plan has no steps")
        return steps

    def output(self, v, t):
        """Output t of lane v: (shard, record, status)."""
        lane = self.lanes[v]
        if t < len(lane):
            return *lane[t], FIRST
        if self.o.tail == "wrap":
            return *lane[t % len(lane)], REPEATED
        return -1, -1, EMPTY

    def rows(self, rank):
        """The rank's rows: (step, row, shard, record, status)."""
        each = self.lane_count // self.readers
        first = rank // self.o.replicate * each
        for step in range(self.steps):
            for row in range(each * self.rows_per_lane):
                lane, place = divmod(row, self.rows_per_lane)
                yield step, row, *self.output(first + lane, step * self.rows_per_lane + place)

    def delivered(self):
        """The ids that all readers deliver, once each."""
        first_id = [sum(records for records, _ in self.o.shards[:shard]) for shard in range(len(self.o.shards))]
        for lane in self.lanes:
            for shard, record in lane[: self.steps * self.rows_per_lane]:
                yield first_id[shard] + record

    def explain(self):
        name = lambda record: f"{record[0]}.{record[1]}"
        names = lambda records: " ".join(map(name, records))
        rows = self.steps * self.rows_per_lane * self.lane_count
        delivered = list(self.delivered())
        digest = sum(map(record_digest, delivered)) & MASK128
        yield f"shard order: {' '.join(map(str, self.shard_order))}"
        for v, (runs, groups, inputs, slots, drain) in enumerate(self.details):
            yield f"lane {v} pieces: " + " ".join(f"{s}[{x},{y})" for s, x, y in self.dealt[v])
            yield f"lane {v} runs as opened: " + " | ".join(map(names, runs))
            if self.o.order == "shuffle":
                yield f"lane {v} runs per group: {' '.join(str(len(group)) for group in groups)}"
                yield f"lane {v} inputs: {names(inputs)}"
                yield f"lane {v} slots drawn: {' '.join(map(str, slots))}"
                yield f"lane {v} slots at the end: {' '.join(map(str, drain))}"
            yield f"lane {v} outputs: {names(self.lanes[v])}"
        yield f"steps {self.steps}, rows {rows}, delivered {len(delivered)}"
        yield f"digest {digest:032x}"


def parse(arguments):
    def shards(text):
        return [tuple(map(int, shard.split(":"))) for shard in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shards", type=shards, required=True, metavar="RECORDS:RUN_RECORDS,...")
    parser.add_argument("--world", type=int, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--replicate", type=int, default=1)
    parser.add_argument("--lanes", type=int, default=0)
    parser.add_argument("--order", choices=["shuffle", "sequential"], default="shuffle")
    parser.add_argument("--assign", choices=["even", "files"], default="even")
    parser.add_argument("--tail", choices=["drop", "pad", "wrap"], default="drop")
    parser.add_argument("--open-runs", type=int, default=32)
    parser.add_argument("--pool", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epoch", type=int, default=0)
    parser.add_argument("--explain", action="store_true")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    epoch = Epoch(options)
    if options.explain:
        print(*epoch.explain(), sep="\n")
        return
    for row in epoch.rows(options.rank):
        print(*row)


if __name__ == "__main__":
    main(sys.argv[1:])
