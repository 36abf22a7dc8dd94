#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the ids that a rank reads in an epoch, from docs/order.md alone: every list is written out, nothing is clever.

Prints `step row shard record status` for each row of the last phase, or with --explain the lists that lead there, with
--state 1 the state and with --ids 1 the identities, --at steps after the last change. A refused plan exits with 2.
"""
import base64
import itertools
import math
import struct
import sys

from order_arguments import ASSIGNS, ORDERS, STOPS, TAILS, parse

MASK32 = 2**32 - 1
MASK64 = 2**64 - 1
MASK128 = 2**128 - 1
SHARDS, LANE_RUNS, POOL, DRAIN, GLOBAL, DATASET_RUNS, STRIDE, PAUSE = range(1, 9)
EMPTY, FIRST, REPEATED = 0, 1, 2
ORDER_TAG, MIX_TAG = 0x6F72646572, 0x6D6978
VERSION, PERIOD, MAX_CHANGES = 2, 65536, 8
ONE_RUN_LENGTH = "--assign runs needs runs of one length, in a mix within each source"


class Refused(Exception):
    """The page does not allow this plan."""


def require(condition, message):
    if not condition:
        raise Refused(message)


def philox(counter, key):
    """Philox4x32-10 of four and two 32-bit numbers."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK32, (p0 >> 32) ^ c3 ^ k1, p0 & MASK32
        k0, k1 = (k0 + 0x9E3779B9) & MASK32, (k1 + 0xBB67AE85) & MASK32
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


def stride(n, value):
    """A stride over n from a 64-bit word."""
    if n < 3:
        return n - 1
    low = 8 if n >= 32 else 1
    step = low + below(value, n - 2 * low + 1)
    while math.gcd(step, n) > 1:
        step = low if step == n - low else step + 1
    return step


def cycle(items, start, value):
    """The items from number `start` on, each time further by the stride from a word."""
    step = stride(len(items), value)
    return [items[(start + i * step) % len(items)] for i in range(len(items))]


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
        self.height = math.isqrt(n - 1) + 1
        self.width = -(-n // self.height)
        self.keys = [word(seed, purpose, epoch, lane, i) for i in range(24 if n < 256 else 8)]

    def __call__(self, x):
        if self.n < 2:
            return x
        while True:
            row, column = divmod(x, self.width)
            for i, key in enumerate(self.keys):
                if i % 2 == 0:
                    row = (row + below(mix(column ^ key), self.height)) % self.height
                else:
                    column = (column + below(mix(row ^ key), self.width)) % self.width
            x = row * self.width + column
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


def high_low(value):
    return value >> 64, value & MASK64


def cut(line, parts):
    """The line in parts that differ by at most one entry."""
    return [line[i * len(line) // parts : (i + 1) * len(line) // parts] for i in range(parts)]


def split(records, key):
    """The records in parts: a part ends where the next record has another key."""
    return [list(part) for _, part in itertools.groupby(records, key)]


def flat(parts):
    return list(itertools.chain.from_iterable(parts))


class PlainOrder:
    """The order of some shards in an epoch; `lanes` holds the outputs of every lane as (shard, record) pairs."""

    def __init__(self, options, shards, lane_count, seed, line_seed):
        self.o = options
        self.run_records = [run for _, run in shards]
        self.shards = [[(shard, record) for record in range(shape[0])] for shard, shape in enumerate(shards)]
        self.records = flat(self.shards)
        self.lane_count = lane_count
        self.seed = seed
        self.explained = []
        self.lanes = [self.outputs(v, lane) for v, lane in enumerate(self.cut_lanes(line_seed))]

    def explain(self, line):
        self.explained.append(line)

    def word(self, purpose, lane, index):
        return word(self.seed, purpose, self.o.epoch, lane, index)

    def permuted(self, items, purpose, lane):
        return [items[number] for number in Permutation(len(items), self.seed, purpose, self.o.epoch, lane).all()]

    def run_of(self, pair):
        """Tells runs apart."""
        shard, record = pair
        return shard, record // self.run_records[shard]

    def cut_lanes(self, line_seed):
        """The records of each lane: in line order, or with `global` as they come out."""
        if self.o.order == "global":
            return cut(self.permuted(self.records, GLOBAL, 0), self.lane_count)
        kind, purpose, parts = "shards", SHARDS, self.shards
        if self.o.assign == "runs":
            kind, purpose, parts = "runs", DATASET_RUNS, split(self.records, self.run_of)
        order = list(range(len(parts)))
        if self.o.order == "shuffle":
            order = Permutation(len(parts), line_seed, purpose, 0 if self.o.sticky else self.o.epoch, 0).all()
        self.explain(f"line of {kind}: {' '.join(map(str, order))}")
        line = [parts[number] for number in order]
        if self.o.assign == "files":
            return [flat(line[v :: self.lane_count]) for v in range(self.lane_count)]
        return cut(flat(line), self.lane_count)

    def outputs(self, v, lane):
        if self.o.order == "shuffle":
            lane = self.pool(v, self.inputs(v, lane))
        self.explain(f"lane {v} outputs: {names(lane)}")
        return lane

    def inputs(self, v, lane):
        runs = split(lane, self.run_of)
        self.explain(f"lane {v} runs: {' | '.join(map(names, runs))}")
        groups = max(1, len(runs) // self.o.open_runs) if runs else 0
        inputs, first = [], 0
        for g, group in enumerate(cut(self.permuted(runs, LANE_RUNS, v), groups)):
            dealt = [self.dealt(v, first + r, run) for r, run in enumerate(group)]
            self.explain(f"lane {v} group {g} runs: {' | '.join(map(names, dealt))}")
            turns = self.turns(v, first, dealt)
            self.explain(f"lane {v} group {g} turns: {' | '.join(map(names, turns))}")
            inputs += [record for record in flat(turns) if record]
            first += len(group)
        self.explain(f"lane {v} inputs: {names(inputs)}")
        return inputs

    def dealt(self, v, opened, run):
        """The records of a run, which is opened as this number, in the order in which it gives them."""
        start = below(self.word(STRIDE, v, 2 * opened), len(run))
        return cycle(run, start, self.word(STRIDE, v, 2 * opened + 1))

    def turns(self, v, first, runs):
        """A group's turns: what each run gives, None where it pauses. The runs are opened as numbers from `first`."""
        longest = max(map(len, runs))
        columns = []
        for r, run in enumerate(runs):
            d = below(self.word(PAUSE, v, first + r), longest)
            pause = [(d + i) % longest for i in range(longest - len(run))]
            records = iter(run)
            columns.append([None if turn in pause else next(records) for turn in range(longest)])
        return list(zip(*columns))

    def pool(self, v, inputs):
        size = min(self.o.pool, len(inputs))
        pool, outputs = inputs[:size], []
        slots = [below(self.word(POOL, v, t), size) for t in range(len(inputs) - size)]
        for slot, record in zip(slots, inputs[size:]):
            outputs.append(pool[slot])
            pool[slot] = record
        drain = Permutation(size, self.seed, DRAIN, self.o.epoch, v).all()
        self.explain(f"lane {v} slots drawn: {' '.join(map(str, slots))}")
        self.explain(f"lane {v} slots at the end: {' '.join(map(str, drain))}")
        return outputs + [pool[slot] for slot in drain]


def names(records):
    return " ".join(f"{pair[0]}.{pair[1]}" if pair else "-" for pair in records)


def one_run_length(shards):
    """Whether all shards that have records have runs of one length."""
    return len({run for records, run in shards if records > 0}) <= 1


def source_seed(seed, source, number):
    """The seed of pass `number` of a source."""
    return hash_words([MIX_TAG, seed, source, number]) & MASK64


def normalise(shares):
    """The shares as integers with the sum 65536."""
    total = sum(shares)
    require(total > 0, "--weights needs a weight above 0 in every entry")
    weights = [share * PERIOD // total for share in shares]
    by_remainder = sorted(range(len(shares)), key=lambda i: (-(shares[i] * PERIOD % total), i))
    for i in by_remainder[: PERIOD - sum(weights)]:
        weights[i] += 1
    require(all(w > 0 for g, w in zip(shares, weights) if g > 0), "a weight is too small beside the others")
    return weights


class Table:
    """Which source each row takes: of those that may have the row, the one whose deadline is the earliest."""

    def __init__(self, weights):
        self.weights = weights
        self.counts = [0] * len(weights)
        self.entries = []

    def __getitem__(self, t):
        for e in range(len(self.entries), t + 1):
            ready = [i for i, w in enumerate(self.weights) if w > 0 and self.counts[i] * PERIOD < (e + 1) * w]
            chosen = min(ready, key=lambda i: (-(-(self.counts[i] + 1) * PERIOD // self.weights[i]), i))
            self.counts[chosen] += 1
            self.entries.append(chosen)
        return self.entries[t]


class MixedOrder:
    """The order of a mix of sources in an epoch; `lanes` as those of a PlainOrder."""

    def __init__(self, options, lane_count, rows_per_lane):
        self.o = options
        self.lane_count = lane_count
        self.rows_per_lane = rows_per_lane
        self.first_shard = [sum(options.sources[:i]) for i in range(len(options.sources))]
        self.schedule = [(step * rows_per_lane, Table(weights)) for step, weights in options.weights]
        self.used = [i for i in range(len(options.sources)) if any(weights[i] > 0 for _, weights in options.weights)]
        self.shards = [options.shards[i : i + count] for i, count in zip(self.first_shard, options.sources)]
        self.sizes = [sum(records for records, *_ in shards) for shards in self.shards]
        require(all(self.sizes[i] >= lane_count for i in self.used), "a source has fewer records than there are lanes")
        require(options.assign != "runs" or all(one_run_length(self.shards[i]) for i in self.used), ONE_RUN_LENGTH)
        self.passes = {}
        self.explained = []
        self.lanes = [self.lane(v) for v in range(lane_count)]

    def source_pass(self, source, number):
        if (source, number) not in self.passes:
            seed = source_seed(self.o.seed, source, number)
            line_seed = source_seed(self.o.seed, source, 0) if self.o.sticky else seed
            self.passes[source, number] = PlainOrder(self.o, self.shards[source], self.lane_count, seed, line_seed)
        return self.passes[source, number]

    def source_of(self, row):
        first_row, table = [entry for entry in self.schedule if entry[0] <= row][-1]
        return table[(row - first_row) % PERIOD]

    def lane(self, v):
        sizes = [len(cut(range(size), self.lane_count)[v]) for size in self.sizes]
        counts = [0] * len(sizes)
        outputs, sources = [], []
        while not self.ends(len(outputs), counts, sizes):
            source = self.source_of(len(outputs))
            number, place = divmod(counts[source], sizes[source])
            shard, record = self.source_pass(source, number).lanes[v][place]
            outputs.append((self.first_shard[source] + shard, record))
            sources.append(source)
            counts[source] += 1
        more = " ..." if len(sources) > 16 else ""
        self.explained.append(f"lane {v} rows {len(sources)}, sources {' '.join(map(str, sources[:16]))}{more}")
        self.explained.append(f"lane {v} outputs: {names(outputs)}")
        return outputs

    def ends(self, row, counts, sizes):
        """Whether the lane has only the rows before this one."""
        if self.o.stop == "steps":
            return row == self.o.mix_steps * self.rows_per_lane
        if self.o.stop == "first":
            source = self.source_of(row)
            return counts[source] == sizes[source]
        short = [i for i in self.used if counts[i] < sizes[i]]
        first_row, table = self.schedule[-1]
        stuck = row >= first_row and any(table.weights[i] == 0 for i in short)
        require(not stuck, "--stop all never ends: a source has the weight 0 before all of it was read")
        return not short


class Phase:
    """Lanes of outputs, and what each step takes of them."""

    def __init__(self, lanes, rows_per_lane, tail, line=()):
        self.lanes = lanes
        self.rows_per_lane = rows_per_lane
        self.tail = tail
        self.line = line
        sizes = [len(lane) for lane in lanes]
        self.steps = min(sizes) // rows_per_lane if tail == "drop" else -(-max(sizes) // rows_per_lane)

    def output(self, v, t):
        """Output t of lane v: (shard, record, status)."""
        lane = self.lanes[v]
        if t < len(lane):
            return *lane[t], FIRST
        if self.tail != "wrap":
            return -1, -1, EMPTY
        record = lane[t % len(lane)] if lane else self.line[v * len(self.line) // len(self.lanes)]
        return *record, REPEATED

    def rest(self, steps):
        """What is left after so many steps, lane after lane."""
        if steps == self.steps:
            return []
        return [record for lane in self.lanes for record in lane[steps * self.rows_per_lane :]]

    def delivered(self, steps):
        return [record for lane in self.lanes for record in lane[: steps * self.rows_per_lane]]


class Epoch:
    """An epoch through its changes of world: the phases that are over, and the one that is at work."""

    def __init__(self, options):
        self.o = options
        self.past = []
        self.first_lanes()
        for steps, world, batch, lanes in options.changes:
            self.take(steps)
            self.change(world, batch, lanes)
        self.take(options.at)

    def first_lanes(self):
        """Plans the epoch from its beginning for the present world."""
        self.order, self.phase = self.begin()
        self.taken = 0
        require(self.works(self.phase), "this plan has no steps")

    def begin(self):
        o, (lane_count, rows_per_lane) = self.o, self.shape()
        order = (MixedOrder(o, lane_count, rows_per_lane) if o.weights
                 else PlainOrder(o, o.shards, lane_count, o.seed, o.seed))
        return order, Phase(order.lanes, rows_per_lane, o.tail)

    def works(self, phase):
        """Whether epochs with these lanes have steps, and with `wrap` records in every lane."""
        varies = self.o.assign == "files" and self.o.order == "shuffle" and not self.o.sticky
        if varies and self.o.tail != "pad":
            records = sorted(records for records, *_ in self.o.shards)
            fewest = sum(records[: len(records) // len(phase.lanes)])
            return fewest >= (phase.rows_per_lane if self.o.tail == "drop" else 1)
        return phase.steps > 0 and (self.o.tail != "wrap" or all(phase.lanes))

    def shape(self):
        """The lanes, and the rows of each in a step, of the world as it is given."""
        o = self.o
        require(o.world >= 1 and 1 <= o.batch <= MASK32, "--world or --batch is out of range")
        require(o.world % o.replicate == 0, "--replicate must divide --world")
        rows = self.readers() * o.batch
        lanes = o.lanes or self.readers()
        require(lanes % self.readers() == 0 and rows % lanes == 0 and lanes <= 2**24,
                "--lanes must be a multiple of the readers and divide their rows")
        return lanes, rows // lanes

    def readers(self):
        return self.o.world // self.o.replicate

    def take(self, steps):
        self.taken += steps
        require(self.taken <= self.phase.steps, "the present phase has fewer steps")

    def change(self, world, batch, lanes):
        self.o.world, self.o.batch, self.o.lanes = world, batch, lanes
        if self.fits():
            return
        if self.taken == 0 and not self.past:
            self.first_lanes()
            return
        shape = self.shape()
        require(self.works(self.begin()[1]), "no later epoch has steps with this world")
        if self.taken > 0:
            require(len(self.past) < MAX_CHANGES, f"an epoch has at most {MAX_CHANGES} changes")
            self.past.append((self.phase, self.taken))
        phase, taken = self.past[-1]
        line = phase.rest(taken)
        self.phase = Phase(cut(line, shape[0]), shape[1], self.o.tail, line)
        self.taken = 0

    def fits(self):
        o, lanes = self.o, len(self.phase.lanes)
        return (o.world >= 1 and o.world % o.replicate == 0 and lanes % self.readers() == 0
                and self.readers() * o.batch == lanes * self.phase.rows_per_lane and o.lanes in (0, lanes))

    def steps_before(self):
        """Steps of the phases that are over."""
        return sum(steps for _, steps in self.past)

    def rows(self, rank):
        """The rank's rows of the present phase: (step, row, shard, record, status)."""
        phase = self.phase
        each = len(phase.lanes) // self.readers()
        first = rank // self.o.replicate * each
        for step in range(phase.steps):
            for row in range(each * phase.rows_per_lane):
                lane, place = divmod(row, phase.rows_per_lane)
                output = phase.output(first + lane, step * phase.rows_per_lane + place)
                yield self.steps_before() + step, row, *output

    def explain(self):
        phases = [*self.past, (self.phase, self.phase.steps)]
        if len(phases) == 1 or self.o.weights:
            yield from self.order.explained
        for k, (phase, steps) in enumerate(phases if self.past else []):
            records = sum(map(len, phase.lanes))
            of = "" if phase is self.phase else f" of {phase.steps}"
            yield (f"phase {k}: {len(phase.lanes)} lanes of {phase.rows_per_lane} rows, "
                   f"{records} records left, {steps}{of} steps")
            yield from (f"phase {k} lane {v} outputs: {names(lane)}" for v, lane in enumerate(phase.lanes))
        first_id = [sum(records for records, *_ in self.o.shards[:shard]) for shard in range(len(self.o.shards))]
        delivered = [first_id[shard] + record for phase, steps in phases for shard, record in phase.delivered(steps)]
        digest = sum(map(record_digest, delivered)) & MASK128
        rows = sum(steps * phase.rows_per_lane * len(phase.lanes) for phase, steps in phases)
        yield f"steps {self.steps_before() + self.phase.steps}, rows {rows}, delivered {len(delivered)}"
        yield f"digest {digest:032x}"

    def mix_hash(self):
        o = self.o
        if not o.weights:
            return 0
        entries = [number for step, weights in o.weights for number in (step, *weights)]
        return hash_words([MIX_TAG, STOPS.index(o.stop), o.mix_steps, len(o.sources), *o.sources, len(o.weights),
                           *entries])

    def order_id(self):
        o = self.o
        return hash_words([VERSION, ORDER_TAG, *high_low(o.fingerprint), len(self.phase.lanes), ORDERS.index(o.order),
                           ASSIGNS.index(o.assign), o.sticky, o.open_runs, o.pool, o.seed, *high_low(self.mix_hash())])

    def plan_id(self):
        o = self.o
        words = [VERSION, *high_low(o.fingerprint), o.world, o.batch, o.replicate, len(self.phase.lanes),
                 ORDERS.index(o.order), ASSIGNS.index(o.assign), TAILS.index(o.tail), o.sticky, o.open_runs, o.pool,
                 o.seed, *high_low(self.mix_hash())]
        past = [number for phase, steps in self.past for number in (steps, len(phase.lanes), phase.rows_per_lane)]
        return hash_words(words + [o.epoch] + past if past else words)

    def check(self):
        """The check of a run that starts where this one is."""
        step = self.steps_before() + self.taken
        high, low = high_low(hash_words([*high_low(self.plan_id()), self.o.epoch, step]))
        return high ^ low

    def state(self):
        o = self.o
        flags = (ORDERS.index(o.order) | ASSIGNS.index(o.assign) << 2 | TAILS.index(o.tail) << 4 | o.sticky << 6
                 | bool(o.weights) << 7)
        dataset = high_low(o.fingerprint)
        if o.weights:
            high, low = high_low(self.mix_hash())
            dataset = dataset[0] ^ dataset[1], high ^ low
        binary = struct.pack("<BBH", VERSION, flags, o.open_runs - 1) + (o.pool - 1).to_bytes(3, "little")
        binary += struct.pack("<BQQQII", len(self.past) + 1, o.seed, *dataset, o.epoch, o.replicate)
        for phase, steps in [*self.past, (self.phase, self.taken)]:
            binary += struct.pack("<QII", steps, len(phase.lanes), phase.rows_per_lane)
        binary += struct.pack("<I", hash_words([number for number, in struct.iter_unpack("<Q", binary)]) & MASK32)
        return "dvt:" + base64.urlsafe_b64encode(binary).decode().rstrip("=")


def check_options(o):
    """Refuses what no dataset and no world make good."""
    possible = all(records >= 0 and run >= 1 and min(records, run) <= 2**31 for records, run in o.shards)
    require(possible, "--shards is out of range")
    require(o.replicate >= 1 and o.lanes >= 0, "--replicate or --lanes is out of range")
    require(1 <= o.open_runs <= 2**16 and 1 <= o.pool <= 2**24, "--open-runs or --pool is out of range")
    require(0 <= o.seed <= MASK64 and 0 <= o.epoch <= MASK32, "--seed or --epoch is out of range")
    require(o.order == "shuffle" or not o.sticky and o.assign != "runs",
            "--sticky and --assign runs are for --order shuffle")
    require(o.assign != "runs" or o.weights or one_run_length(o.shards), ONE_RUN_LENGTH)
    require(o.order != "global" or o.assign != "files", "--order global does not go with --assign files")
    require(min(o.at, o.mix_steps, *(steps for steps, *_ in o.changes)) >= 0, "steps are at least 0")


def check_mix(o):
    """Refuses what makes no mix, and normalises the weights."""
    o.sources = o.sources or [len(o.shards)]
    steps = [step for step, _ in o.weights]
    require(sum(o.sources) == len(o.shards) and min(o.sources) >= 0, "--sources must add up to the shards")
    require(o.assign != "files", "a mix does not go with --assign files")
    require(steps[0] == 0 and all(a < b for a, b in zip(steps, steps[1:])), "the steps of --weights ascend from 0")
    for _, shares in o.weights:
        require(len(shares) == len(o.sources) and min(shares) >= 0, "--weights needs a weight for every source")
    o.weights = [(step, normalise(shares)) for step, shares in o.weights]


def plan(arguments):
    options = parse(arguments, __doc__)
    check_options(options)
    if options.weights:
        check_mix(options)
    return Epoch(options)


def output(epoch):
    """The lines that the program prints."""
    o = epoch.o
    if o.explain:
        return list(epoch.explain())
    lines = [epoch.state()] if o.state else []
    if o.ids:
        lines += [f"plan_id {epoch.plan_id():032x}", f"order_id {epoch.order_id():032x}", f"check {epoch.check():016x}"]
    if not lines:
        require(0 <= o.rank < o.world, "--rank must be below --world")
        lines = [" ".join(map(str, row)) for row in epoch.rows(o.rank)]
    return lines


def main(arguments):
    try:
        lines = output(plan(arguments))
    except Refused as refused:
        print(f"order.py: {refused}", file=sys.stderr)
        return 2
    for line in lines:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
