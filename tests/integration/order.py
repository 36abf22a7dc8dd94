#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The order of the records, from its page alone: every list is written out, nothing is clever.

Prints the rows of a rank (step row shard record status), or the lists on the way to them, or the
state, or the identities. Names of one letter are the page's, and so are the terms.
"""
import base64
import functools
import itertools
import operator
import sys

from order_arguments import ASSIGNS, ORDERS, STOPS, TAILS, parse
from order_draws import MASK32, MASK64, MASK128, Permutation, below, hash_words, record_digest, stride, word

VERSION = 2
MOST_LANES = 2**24
MOST_PHASES = 9

OF_SHARDS, OF_LANE_RUNS, SLOT, OF_SLOTS, OF_RECORDS, OF_RUNS, STRIDE, PAUSE = range(1, 9)
FIRST_DELIVERY, REPEATED, EMPTY = 1, 2, 0

RANGES = {
    "replicate": (1, MASK32), "lanes": (0, MOST_LANES), "open_runs": (1, 65536),
    "pool": (1, 2**24), "seed": (0, MASK64), "epoch": (0, MASK32), "mix_steps": (0, MASK64),
    "at": (0, MASK64), "rank": (0, MASK32), "fingerprint": (0, MASK128),
}


class Refused(Exception):
    """The page refuses this plan; the text says why."""


def need(condition, reason):
    if not condition:
        raise Refused(reason)


# Section "Line and lanes".
class Source:
    """A source of a mix, or the whole dataset: its shards are lists of runs, its runs of ids."""

    def __init__(self, shards, first_id):
        self.sizes = [records for records, _ in shards]
        self.run_sizes = {run_records for records, run_records in shards if records > 0}
        self.ids = list(range(first_id, first_id + sum(self.sizes)))
        self.shards = []
        for (records, run_records), end in zip(shards, itertools.accumulate(self.sizes)):
            ids = self.ids[end - records:end]
            self.shards.append([ids[first:first + run_records]
                                for first in range(0, records, run_records)])


def cut(line, V):
    N = len(line)
    return [line[v * N // V:(v + 1) * N // V] for v in range(V)]


class PlainOrder:
    """The order of a dataset without weights, or of one pass of a source, in V lanes.

    The lanes are lists of positions with "global", else of pairs: the position of a run in the
    line, and a record of this run.
    """

    def __init__(self, options, source, V, seed, line_seed):
        self.options, self.source, self.seed = options, source, seed
        if options.order == "global":
            self.lanes = cut(range(len(source.ids)), V)
        else:
            self.lanes = self.lanes_of_line(V, line_seed)
        self.sizes = [len(lane) for lane in self.lanes]

    def lanes_of_line(self, V, line_seed):
        options, purpose, pieces = self.options, OF_SHARDS, self.source.shards
        if options.assign == "runs":
            purpose, pieces = OF_RUNS, [[run] for shard in pieces for run in shard]
        if options.order == "sequential":
            self.line = range(len(pieces))
        else:
            epoch = 0 if options.sticky else options.epoch
            self.line = Permutation(len(pieces), line_seed, purpose, epoch, 0).all()
        positions = itertools.count()
        laid = [[(position, record) for run, position in zip(pieces[number], positions)
                 for record in run] for number in self.line]
        if options.assign == "files":
            return [list(itertools.chain(*laid[v::V])) for v in range(V)]
        return cut(list(itertools.chain(*laid)), V)

    def shuffled_lane(self, v):
        runs = [[record for _, record in run]
                for _, run in itertools.groupby(self.lanes[v], key=operator.itemgetter(0))]
        return ShuffledLane(self.options, self.seed, v, runs)

    def outputs(self):
        """The outputs of all lanes."""
        if self.options.order == "shuffle":
            return [self.shuffled_lane(v).outputs for v in range(len(self.lanes))]
        if self.options.order == "sequential":
            return [[record for _, record in lane] for lane in self.lanes]
        ids = self.source.ids
        P = Permutation(len(ids), self.seed, OF_RECORDS, self.options.epoch, 0)
        return [[ids[P(x)] for x in lane] for lane in self.lanes]

    def explain(self, names):
        if self.options.order != "global":
            pieces = "runs" if self.options.assign == "runs" else "shards"
            yield listed(f"line of {pieces}:", self.line)
        for v, outputs in enumerate(self.outputs()):
            if self.options.order == "shuffle":
                yield from self.shuffled_lane(v).explain(names)
            yield listed(f"lane {v} outputs:", names(outputs))


# Sections "Groups and turns", "Strides" and "Pool".
class ShuffledLane:
    """All lists of one lane with "shuffle"."""

    def __init__(self, options, seed, v, runs):
        self.seed, self.epoch, self.v, self.runs = seed, options.epoch, v, runs
        M = len(runs)
        opened = [self.in_strides(runs[number], x)
                  for x, number in enumerate(self.permutation(M, OF_LANE_RUNS))]
        U = max(1, M // options.open_runs) if M > 0 else 0
        numbers = [range(g * M // U, (g + 1) * M // U) for g in range(U)]
        self.groups = [[opened[x] for x in group] for group in numbers]
        self.turns = [self.turns_of(group, opened) for group in numbers]
        self.inputs = [record for turns in self.turns for turn in turns for record in turn
                       if record is not None]
        self.outputs = self.through_pool(options.pool)

    def draw(self, purpose, index):
        return word(self.seed, purpose, self.epoch, self.v, index)

    def permutation(self, n, purpose):
        return Permutation(n, self.seed, purpose, self.epoch, self.v).all()

    def in_strides(self, run, x):
        """The records of the run opened as number x, in the order in which it gives them."""
        length = len(run)
        start = below(length, self.draw(STRIDE, 2 * x))
        step = stride(length, self.draw(STRIDE, 2 * x + 1))
        return [run[(start + number * step) % length] for number in range(length)]

    def turns_of(self, group, opened):
        """For each turn of a group the record that each run gives, or None where it pauses."""
        L = max(len(opened[x]) for x in group)
        given = []
        for x in group:
            d = below(L, self.draw(PAUSE, x))
            pauses = {(d + number) % L for number in range(L - len(opened[x]))}
            records = iter(opened[x])
            given.append([None if turn in pauses else next(records) for turn in range(L)])
        return list(zip(*given))

    def through_pool(self, K):
        E = len(self.inputs)
        slot_count = min(K, E)
        self.slots_drawn = [below(slot_count, self.draw(SLOT, t)) for t in range(E - slot_count)]
        self.slots_at_the_end = self.permutation(slot_count, OF_SLOTS)
        slots = self.inputs[:slot_count]
        outputs = []
        for slot, refill in zip(self.slots_drawn, self.inputs[slot_count:]):
            outputs.append(slots[slot])
            slots[slot] = refill
        return outputs + [slots[slot] for slot in self.slots_at_the_end]

    def explain(self, names):
        def parts(lists):
            return [" | ".join(" ".join(names(part)) for part in lists)]

        lane = f"lane {self.v}"
        yield listed(f"{lane} runs:", parts(self.runs))
        for g, (group, turns) in enumerate(zip(self.groups, self.turns)):
            yield listed(f"{lane} group {g} runs:", parts(group))
            yield listed(f"{lane} group {g} turns:", parts(turns))
        yield listed(f"{lane} inputs:", names(self.inputs))
        yield listed(f"{lane} slots drawn:", self.slots_drawn)
        yield listed(f"{lane} slots at the end:", self.slots_at_the_end)


# Section "Mixes".
def source_seed(seed, source, number_of_pass):
    return hash_words([0x6D6978, seed, source, number_of_pass]) & MASK64


def normalise(weights):
    """The w_i of the weights G_i."""
    W = sum(weights)
    normalised = [G * 65536 // W for G in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(weights[i] * 65536 % W), i))
    for i in by_remainder[:65536 - sum(normalised)]:
        normalised[i] += 1
    return normalised


class Table:
    """The table of weights w_i, repeated for ever. A short plan needs few of its entries."""

    def __init__(self, normalised_weights):
        self.weights = normalised_weights
        self.chosen = [0] * len(normalised_weights)
        self.entries = []

    def __getitem__(self, t):
        while len(self.entries) <= t % 65536:
            self.choose_entry()
        return self.entries[t % 65536]

    def choose_entry(self):
        e = len(self.entries)
        _, i = min((-(-(f + 1) * 65536 // w), i)
                   for i, (f, w) in enumerate(zip(self.chosen, self.weights))
                   if w > 0 and f * 65536 < (e + 1) * w)
        self.chosen[i] += 1
        self.entries.append(i)


def schedule_of(options, D):
    """The steps of the schedule, each with its w_i and their table."""
    steps = [step for step, _ in options.weights]
    need(not steps or steps[0] == 0, "the schedule must begin at step 0")
    need(all(a < b for a, b in itertools.pairwise(steps)), "the schedule's steps must rise")
    need(all(step <= MASK64 for step in steps), "a step of the schedule is out of range")
    schedule = []
    for step, weights in options.weights:
        need(len(weights) == D, "the schedule needs one weight for each source")
        need(all(0 <= G <= MASK32 for G in weights), "a weight is out of range")
        need(any(weights), "the weights of a step must not all be 0")
        normalised = normalise(weights)
        need(all(w > 0 for G, w in zip(weights, normalised) if G > 0), "a weight is too small")
        schedule.append((step, normalised, Table(normalised)))
    return schedule


class MixOrder:
    """The order of a mix in V lanes, with q rows of each lane in a step of the first phase."""

    def __init__(self, options, dataset, V, q):
        self.options, self.dataset, self.V, self.q = options, dataset, V, q
        for i in dataset.counting:
            need(len(dataset.sources[i].ids) >= V, f"source {i} has fewer records than lanes")
        self.rows = [self.sources_of_rows(v) for v in range(V)]
        self.sizes = [len(rows) for rows in self.rows]

    def records(self, i, v):
        """N_i(v)."""
        N_i = len(self.dataset.sources[i].ids)
        return (v + 1) * N_i // self.V - v * N_i // self.V

    def source_of_row(self, t):
        step, _, table = [entry for entry in self.dataset.schedule if entry[0] * self.q <= t][-1]
        return table[t - step * self.q]

    def sources_of_rows(self, v):
        """The sources of all T(v) rows of lane v."""
        if self.options.stop == "steps":
            return [self.source_of_row(t) for t in range(self.q * self.options.mix_steps)]
        last_step, last_weights, _ = self.dataset.schedule[-1]
        left = {i: self.records(i, v) for i in self.dataset.counting}
        sources = []
        while True:
            if self.options.stop == "all":
                waiting = [i for i, records in left.items() if records > 0]
                if not waiting:
                    return sources
                need(len(sources) < last_step * self.q or all(last_weights[i] for i in waiting),
                     "a source never ends, because its last weight is 0")
            i = self.source_of_row(len(sources))
            if self.options.stop == "first" and left[i] == 0:
                return sources
            left[i] -= 1
            sources.append(i)

    def outputs(self):
        """The outputs of all lanes."""
        @functools.cache
        def outputs_of_pass(i, number):
            seed = source_seed(self.options.seed, i, number)
            line_seed = source_seed(self.options.seed, i, 0) if self.options.sticky else seed
            source = self.dataset.sources[i]
            return PlainOrder(self.options, source, self.V, seed, line_seed).outputs()

        lanes = []
        for v, sources in enumerate(self.rows):
            rows_before = dict.fromkeys(self.dataset.counting, 0)
            outputs = []
            for i in sources:
                number_of_pass, output = divmod(rows_before[i], self.records(i, v))
                outputs.append(outputs_of_pass(i, number_of_pass)[v][output])
                rows_before[i] += 1
            lanes.append(outputs)
        return lanes

    def explain(self, names):
        for v, (sources, outputs) in enumerate(zip(self.rows, self.outputs())):
            yield listed(f"lane {v} rows {len(sources)}, sources", sources)
            yield listed(f"lane {v} outputs:", names(outputs))


class Dataset:
    """All shards, as the sources of a mix or as one; of a mix also the schedule."""

    def __init__(self, options):
        shards, S = options.shards, options.sources or [len(options.shards)]
        need(all(records >= 0 and run >= 1 for records, run in shards), "a shard is out of range")
        need(all(min(shard) <= 2**31 for shard in shards), "a run has too many records")
        need(sum(records for records, _ in shards) < 2**55, "the dataset has too many records")
        need(min(S) >= 0 and sum(S) == len(shards), "the sources must be all the shards")
        self.options, self.S = options, S
        self.schedule = schedule_of(options, len(S))
        self.sources, taken, first_id = [], 0, 0
        for shard_count in S if self.schedule else [len(shards)]:
            self.sources.append(Source(shards[taken:taken + shard_count], first_id))
            taken, first_id = taken + shard_count, first_id + len(self.sources[-1].ids)
        self.counting = [i for i in range(len(self.sources)) if not self.schedule
                         or any(weights[i] for _, weights, _ in self.schedule)]
        need(options.assign != "runs" or all(len(source.run_sizes) <= 1 for source in self.sources),
             "runs needs the same records per run in all shards")
        self.places = [(shard, number) for shard, (records, _) in enumerate(shards)
                       for number in range(records)]

    def names(self, ids):
        return ["-" if record is None else "{}.{}".format(*self.places[record]) for record in ids]

    def begin_epoch(self, V, q):
        """The order of an epoch from its beginning; refused where no epoch could begin so."""
        options, whole = self.options, self.sources[0]
        if self.schedule:
            order = MixOrder(options, self, V, q)
        else:
            order = PlainOrder(options, whole, V, options.seed, options.seed)
        fewest = min(order.sizes)
        steps = steps_of(order.sizes, q, options.tail)
        if options.assign == "files" and options.order == "shuffle" and not options.sticky:
            fewest = sum(sorted(whole.sizes)[:len(whole.sizes) // V])
            if options.tail == "drop":
                steps = fewest // q
        need(steps > 0, "the plan has no steps")
        need(options.tail == "pad" or fewest > 0, "a lane has no records")
        return order


# Section "Steps, rows, status".
def steps_of(sizes, q, tail):
    if tail == "drop":
        return min(T // q for T in sizes)
    return max(-(-T // q) for T in sizes)


class Phase:
    """Lanes of outputs. A later phase was cut from a rest: what was laid end to end for it."""

    def __init__(self, lanes, q, tail, rest=()):
        self.lanes, self.V, self.q, self.tail, self.rest = lanes, len(lanes), q, tail, rest
        self.steps = steps_of(map(len, lanes), q, tail)
        self.taken = 0

    def output(self, v, t):
        """The record, or None, and the status."""
        outputs = self.lanes[v]
        if t < len(outputs):
            return outputs[t], FIRST_DELIVERY
        if self.tail == "pad":
            return None, EMPTY
        if not outputs:
            return self.rest[v * len(self.rest) // self.V], REPEATED
        return outputs[t % len(outputs)], REPEATED

    def delivered(self, steps):
        return [record for lane in self.lanes for record in lane[:steps * self.q]]

    def left(self):
        if self.taken == self.steps:
            return []
        return [record for lane in self.lanes for record in lane[self.taken * self.q:]]


# Section "Changes of world".
class Run:
    def __init__(self, world, replicate, batch, lanes):
        need(1 <= world <= MASK32, "world is out of range")
        need(1 <= batch <= MASK32, "batch is out of range")
        need(0 <= lanes <= MOST_LANES, "lanes is out of range")
        need(world % replicate == 0, "replicate must divide world")
        self.world, self.batch, self.lanes_given = world, batch, lanes
        self.readers = world // replicate

    def fits(self, phase):
        return (phase.V % self.readers == 0 and self.readers * self.batch == phase.V * phase.q
                and self.lanes_given in (0, phase.V))

    def layout(self):
        """V and q."""
        V = self.lanes_given or self.readers
        need(V <= MOST_LANES, "there are too many lanes")
        need(V % self.readers == 0, "the readers must divide the lanes")
        need(self.readers * self.batch % V == 0, "the lanes must divide the rows of a step")
        return V, self.readers * self.batch // V


class Epoch:
    """The phases of an epoch after all changes, and the run that goes on in the last of them."""

    def __init__(self, options):
        check(options)
        self.options, self.dataset = options, Dataset(options)
        self.run = Run(options.world, options.replicate, options.batch, options.lanes)
        self.begin(*self.run.layout())
        for steps, world, batch, lanes in options.changes:
            need(steps >= 0, "the steps before a change are out of range")
            self.run = Run(world, options.replicate, batch, lanes)
            self.change(steps)
        need(options.rank < self.run.world, "rank must be below world")
        self.last = self.phases[-1]
        self.at = self.last.taken + options.at
        need(self.at <= self.last.steps, "at is after the end of the epoch")
        self.first_step = sum(phase.taken for phase in self.phases[:-1])

    def begin(self, V, q):
        self.order = self.dataset.begin_epoch(V, q)
        self.phases = [Phase(self.order.outputs(), q, self.options.tail)]

    def change(self, steps):
        phase = self.phases[-1]
        phase.taken += steps
        need(phase.taken <= phase.steps, "a change is after the end of the epoch")
        if self.run.fits(phase):
            return
        V, q = self.run.layout()
        if phase.taken == 0 and len(self.phases) == 1:
            self.begin(V, q)
            return
        self.dataset.begin_epoch(V, q)
        if phase.taken == 0:
            self.phases.pop()
        rest = phase.left() if phase.taken > 0 else phase.rest
        self.phases.append(Phase(cut(rest, V), q, self.options.tail, rest))
        need(len(self.phases) <= MOST_PHASES, "the epoch has too many phases")

    def rows(self):
        """The rows of the rank in the last phase."""
        phase = self.last
        reader = self.options.rank // self.options.replicate
        first_lane = reader * phase.V // self.run.readers
        for step in range(phase.steps):
            for row in range(self.run.batch):
                lane, output = divmod(row, phase.q)
                record, status = phase.output(first_lane + lane, step * phase.q + output)
                shard, number = (-1, -1) if record is None else self.dataset.places[record]
                yield f"{self.first_step + step} {row} {shard} {number} {status}"

    def explain(self):
        names = self.dataset.names
        yield from self.explain_phases(names) if self.options.changes else self.order.explain(names)
        read = [(phase, phase.taken) for phase in self.phases[:-1]] + [(self.last, self.last.steps)]
        rows = sum(steps * phase.V * phase.q for phase, steps in read)
        delivered = [record for phase, steps in read for record in phase.delivered(steps)]
        steps = self.first_step + self.last.steps
        yield f"steps {steps}, rows {rows}, delivered {len(delivered)}"
        yield f"digest {sum(map(record_digest, delivered)) & MASK128:032x}"

    def explain_phases(self, names):
        for k, phase in enumerate(self.phases):
            left = sum(map(len, phase.lanes))
            steps = phase.steps if phase is self.last else f"{phase.taken} of {phase.steps}"
            yield (f"phase {k}: {phase.V} lanes of {phase.q} rows, {left} records left,"
                   f" {steps} steps")
            for v, outputs in enumerate(phase.lanes):
                yield listed(f"phase {k} lane {v} outputs:", names(outputs))


# Section "Identities".
def halves(number):
    """The high and the low half of a 128-bit number."""
    return [number >> 64, number & MASK64]


def folded(number):
    return operator.xor(*halves(number))


def mix_hash(epoch):
    options, S, schedule = epoch.options, epoch.dataset.S, epoch.dataset.schedule
    if not schedule:
        return 0
    words = [0x6D6978, STOPS.index(options.stop), options.mix_steps, len(S), *S, len(schedule)]
    return hash_words(words + [number for step, normalised, _ in schedule
                               for number in (step, *normalised)])


def codes(options):
    """Order, assign and tail as numbers."""
    return ORDERS.index(options.order), ASSIGNS.index(options.assign), TAILS.index(options.tail)


def identities(epoch):
    options, V = epoch.options, epoch.last.V
    order, assign, tail = codes(options)
    fingerprint = halves(options.fingerprint)
    common = [options.sticky, options.open_runs, options.pool, options.seed,
              *halves(mix_hash(epoch))]
    order_id = hash_words([VERSION, 0x6F72646572, *fingerprint, V, order, assign, *common])
    plan = [VERSION, *fingerprint, epoch.run.world, epoch.run.batch, options.replicate, V,
            order, assign, tail, *common]
    over = epoch.phases[:-1]
    if over:
        plan.append(options.epoch)
    plan_id = hash_words(plan + [number for phase in over
                                 for number in (phase.taken, phase.V, phase.q)])
    begin = [options.epoch, epoch.first_step + epoch.at]
    check_word = folded(hash_words([*halves(plan_id), *begin]))
    return [f"plan_id {plan_id:032x}", f"order_id {order_id:032x}", f"plan_checksum {check_word:016x}"]


# Section "State".
def state(epoch):
    options, in_a_mix = epoch.options, bool(epoch.dataset.schedule)
    order, assign, tail = codes(options)
    flags = order | assign << 2 | tail << 4 | options.sticky << 6 | in_a_mix << 7
    dataset = halves(options.fingerprint)
    if in_a_mix:
        dataset = [folded(options.fingerprint), folded(mix_hash(epoch))]
    fields = [(VERSION, 1), (flags, 1), (options.open_runs - 1, 2), (options.pool - 1, 3),
              (len(epoch.phases), 1), (options.seed, 8), (dataset[0], 8), (dataset[1], 8),
              (options.epoch, 4), (options.replicate, 4)]
    for phase in epoch.phases:
        taken = epoch.at if phase is epoch.last else phase.taken
        fields += [(taken, 8), (phase.V, 4), (phase.q, 4)]
    packed = b"".join(number.to_bytes(size, "little") for number, size in fields)
    words = [int.from_bytes(packed[at:at + 8], "little") for at in range(0, len(packed), 8)]
    packed += (hash_words(words) & MASK32).to_bytes(4, "little")
    return "dvt:" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def listed(label, values):
    return " ".join([label, *map(str, values)]).rstrip()


def check(options):
    for name, (least, most) in RANGES.items():
        need(least <= getattr(options, name) <= most, f"{name.replace('_', '-')} is out of range")
    need(options.order == "shuffle" or not options.sticky, "sticky goes with shuffle only")
    need(options.order == "shuffle" or options.assign != "runs", "runs goes with shuffle only")
    need(options.order != "global" or options.assign != "files", "files does not go with global")
    need(not options.weights or options.assign != "files", "files does not go with a mix")
    need(options.weights or options.stop == STOPS[0], "a stop goes with a mix only")
    need(options.stop == "steps" or options.mix_steps == 0, "mix-steps goes with steps only")


def plan(arguments):
    return Epoch(parse(arguments, __doc__))


def output(epoch):
    """The lines that the program prints."""
    options = epoch.options
    if options.state or options.ids:
        return [state(epoch)] * options.state + (identities(epoch) if options.ids else [])
    return epoch.explain() if options.explain else epoch.rows()


def main(arguments):
    try:
        epoch = plan(arguments)
    except Refused as refused:
        print(f"order.py: {refused}", file=sys.stderr)
        return 2
    for line in output(epoch):
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
