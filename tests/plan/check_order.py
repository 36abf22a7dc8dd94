#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds three accounts of the order against each other: the library (print_ids), the independent program (order.py)
and the page that specifies it (order.md).

Usage: check_order.py PRINT_IDS ORDER_PY ORDER_MD
       check_order.py --renew ORDER_PY ORDER_MD    writes what the program gives into the page, for a new version
"""
import importlib
import pathlib
import random
import re
import shlex
import subprocess
import sys

OPTION_SETS = [
    "--shards 5:2,4:2,3:2 --world 2 --batch 2 --open-runs 2 --pool 3 --seed 7 --epoch 1",
    "--shards 100:10 --world 1 --batch 7",
    "--shards 40:7,0:7,60:7,13:7,1:7 --world 4 --batch 3 --tail pad --open-runs 3 --pool 8",
    "--shards 40:7,0:7,60:7,13:7,1:7 --world 3 --batch 5 --tail wrap --open-runs 3 --pool 8 --seed 99",
    "--shards 33:5,21:4,50:9,8:100 --world 2 --batch 4 --lanes 4 --open-runs 4 --pool 16 --epoch 12",
    "--shards 33:5,21:4,50:9,8:100 --world 4 --batch 2 --replicate 2 --tail pad --pool 5",
    "--shards 9:3,9:3,9:3,9:3,9:3,9:3,9:3 --world 3 --batch 2 --assign files --tail drop --open-runs 2 --pool 4",
    "--shards 9:3,2:3,30:3,9:3,4:3 --world 2 --batch 4 --assign files --tail wrap --pool 6 --epoch 3",
    "--shards 9:3,2:3,30:3,9:3,4:3 --world 3 --batch 4 --assign files --tail pad --open-runs 1 --pool 1",
    "--shards 20:4,1:4,1:4 --world 2 --batch 1 --assign files --tail drop",
    "--shards 20:4,1:4,1:4 --world 2 --batch 2 --assign files --sticky 1 --tail drop",
    "--shards 17:4,23:4,5:4 --world 3 --batch 4 --order sequential --tail pad",
    "--shards 17:4,23:4,5:4 --world 2 --batch 3 --order sequential --assign files --tail wrap",
    "--shards 300:64,280:64,310:64 --world 2 --batch 32 --seed 18446744073709551615 --epoch 4294967295",
    "--shards 3:1 --world 2 --batch 4 --tail wrap",
    "--shards 1:1 --world 3 --batch 2 --tail pad",
    "--shards 700:1,650:1 --world 1 --batch 450 --open-runs 400 --pool 300 --seed 5",
    "--shards 170:1,150:9 --world 2 --batch 40 --order global --seed 3 --epoch 2",
    "--shards 9:3,2:3,30:3,9:3,4:3 --world 2 --batch 4 --sticky 1 --pool 6 --epoch 3",
    "--shards 90:9,50:9,0:5,7:9 --world 3 --batch 4 --assign runs --open-runs 4 --pool 6 --epoch 3",
    "--shards 90:9,50:9,70:9 --world 2 --batch 4 --assign runs --sticky 1 --tail wrap --pool 6 --epoch 3",
    "--shards 90:9,50:9 --world 2 --batch 5 --sources 1,1 --weights 0=999:1,2=1:60000 --stop steps --mix-steps 20",
    "--shards 90:9,50:7 --world 2 --batch 5 --assign runs --sources 1,1 --weights 0=3:1 --stop all",
    "--shards 80:9,90:7 --world 2 --batch 1 --changes 3:2:2:0,3:2:1:0,3:2:3:0,1:2:1:0,2:2:2:4,3:2:1:0,3:2:4:0,1:2:3:6",
]
RANDOM_PLANS = 300
EXAMPLE = re.compile(r"```console\n\$ order\.py ((?:\\\n|.)*)\n((?:.*\n)*?)```")
VECTORS = re.compile(r"```vectors\n(.*?)```", re.S)
KINDS = ("global", "sticky", "changes", "mix", "mix and changes", "any")


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.stdout if done.returncode == 0 else f"failed: {done.stderr}"


def expect(what, got, wanted):
    if got == wanted:
        return 0
    for number, (a, b) in enumerate(zip(got.splitlines() + [""], wanted.splitlines() + [""]), 1):
        if a != b:
            print(f"FAILED {what}\n  line {number}: {a!r}\n  wanted:  {b!r}")
            return 1
    print(f"FAILED {what}: one output ends early")
    return 1


def check_option_sets(print_ids, order_py):
    failures = 0
    for options in OPTION_SETS:
        arguments = shlex.split(options)
        for rank in range(int(arguments[arguments.index("--world") + 1])):
            both = [*arguments, "--rank", str(rank)]
            wanted = run([sys.executable, order_py, *both])
            if wanted.startswith("failed"):
                failures += expect(f"order.py {options}", wanted, "rows")
            failures += expect(f"rank {rank} of {options}", run([print_ids, *both]), wanted)
    return failures


def example_arguments(options):
    return shlex.split(options.replace("\\\n", " "))


def check_examples(print_ids, order_py, page):
    """Runs every `$ order.py ...` of the page."""
    failures = 0
    examples = EXAMPLE.findall(page)
    if not examples:
        return expect("examples in the page", "none", "some")
    for options, output in examples:
        arguments = example_arguments(options)
        failures += expect(f"order.py {options}", run([sys.executable, order_py, *arguments]), output)
        if "--explain" not in arguments:
            failures += expect(f"print_ids {options}", run([print_ids, *arguments]), output)
    return failures


def vector_value(order, name, arguments):
    draws = importlib.import_module("order_draws")
    if name == "philox":
        numbers = [int(text, 16) for text in arguments]
        return " ".join(f"{out:08x}" for out in draws.philox(numbers[:4], numbers[4:]))
    numbers = [int(text) for text in arguments]
    if name == "word":
        return f"{draws.word(*numbers):016x}"
    if name == "permutation":
        return " ".join(map(str, draws.Permutation(*numbers).all()))
    if name == "position":
        return str(draws.Permutation(*numbers[:-1])(numbers[-1]))
    if name == "digest":
        return f"{draws.record_digest(*numbers):032x}"
    if name == "digests":
        return f"{sum(map(draws.record_digest, range(*numbers))) & draws.MASK128:032x}"
    if name == "hash":
        return f"{draws.hash_words(numbers):032x}"
    if name == "seed":
        return str(order.source_seed(*numbers))
    if name == "stride":
        return str(draws.stride(*numbers))
    if name == "table":
        table = order.Table(order.normalise(numbers))
        return " ".join(str(table[t]) for t in range(24))
    return "an unknown kind of vector"


def check_vectors(order, page):
    failures = 0
    for line in VECTORS.search(page)[1].splitlines():
        call, value = line.split(" = ")
        name, *arguments = call.split()
        failures += expect(f"vector {call}", vector_value(order, name, arguments), value)
    return failures


def renewed(order, order_py, page):
    """The page with the outputs and values that the program gives."""
    def example(found):
        output = run([sys.executable, order_py, *example_arguments(found[1])])
        return found[0].removesuffix(found[2] + "```") + output + "```"

    def vectors(found):
        lines = []
        for line in found[1].splitlines():
            call = line.split(" = ")[0]
            name, *arguments = call.split()
            lines.append(f"{call} = {vector_value(order, name, arguments)}\n")
        return "```vectors\n" + "".join(lines) + "```"

    return VECTORS.sub(vectors, EXAMPLE.sub(example, page))


class RandomPlan:
    """The arguments of a plan; the same ones for the same seed."""

    def __init__(self, order, seed):
        self.order = order
        self.draws = random.Random(seed)
        self.kind = KINDS[seed % len(KINDS)]
        self.replicate = self.draws.choice([1, 1, 1, 2])
        # With `assign=runs` all runs have one length.
        self.run = self.draws.choice([0, 0, 1, 4, 11, 36])
        shards = self.draws.randint(1, 8)
        self.arguments = ["--shards", ",".join(self.shard() for _ in range(shards)), *self.world(), *self.options()]
        if self.has("mix"):
            self.arguments += self.mix(shards)
        if self.has("changes"):
            self.add_changes(self.draws.choice([1, 2, 3, 3]))

    def has(self, part):
        return part in self.kind or (self.kind == "any" and self.draws.random() < 0.5)

    def shard(self):
        sizes = [12, 17, 25, 31, 40] if "mix" in self.kind else [0, 1, 5, 9, 20, 31, 40, 90]
        run = self.run or self.draws.choice([1, 2, 3, 5, 12, 40, 100])
        return f"{self.draws.choice(sizes)}:{run}"

    def grid(self):
        """Readers, batch and lanes that go together."""
        readers, each = self.draws.randint(1, 4), self.draws.choice([1, 1, 2, 3])
        lanes = 0 if each == 1 else self.draws.choice([0, readers * each])
        return readers, each * self.draws.randint(1, 3), lanes

    def world(self):
        readers, batch, lanes = self.grid()
        return ["--world", str(readers * self.replicate), "--batch", str(batch), "--lanes", str(lanes),
                "--replicate", str(self.replicate)]

    def options(self):
        draws = self.draws
        orders = {"global": ["global"], "sticky": ["shuffle"]}
        order = draws.choice(orders.get(self.kind, ["shuffle", "shuffle", "sequential", "global"]))
        sticky = "1" if self.kind == "sticky" else draws.choice("01") if order == "shuffle" else "0"
        whole_files = order != "global" and self.kind in ("sticky", "changes")
        assigns = ["even"] + ["files"] * whole_files + ["runs"] * 2 * (order == "shuffle" and self.run > 0)
        assign = draws.choice(assigns)
        return ["--order", order, "--sticky", sticky, "--assign", assign,
                "--tail", draws.choice(["drop", "pad", "wrap"]), "--epoch", str(draws.randint(0, 5)),
                "--open-runs", str(draws.choice([1, 2, 3, 32])), "--pool", str(draws.choice([1, 2, 5, 256])),
                "--seed", str(draws.getrandbits(64)), "--fingerprint", f"{draws.getrandbits(128):032x}"]

    def mix(self, shards):
        draws = self.draws
        inner = sorted(draws.sample(range(1, shards), min(shards - 1, draws.randint(1, 3))))
        sources = [last - first for first, last in zip([0, *inner], [*inner, shards])]
        stop = draws.choice(["first", "all", "steps"])
        # A rare source makes a long epoch where all of it has to come.
        weights = [0, 1, 1, 2, 3, 7] if stop == "all" else [0, 1, 1, 2, 3, 7, 500, 65535, draws.getrandbits(16)]
        entries, step = [], 0
        for _ in range(draws.randint(1, 2)):
            chosen = [draws.choice(weights) for _ in sources]
            chosen[draws.randrange(len(sources))] += draws.choice([0, 1, 2, 3])
            entries.append(f"{step}=" + ":".join(map(str, chosen)))
            step += draws.randint(1, 5)
        arguments = ["--sources", ",".join(map(str, sources)), "--weights", ",".join(entries), "--stop", stop]
        return [*arguments, "--mix-steps", str(draws.randint(1, 12))] if stop == "steps" else arguments

    def add_changes(self, count):
        """Changes after some steps of what there are: none, all, or any number; sometimes to a world that fits."""
        changes = []
        for _ in range(count):
            steps, lanes, rows = self.present(changes)
            readers, batch, given = self.grid()
            if self.draws.random() < 0.3:
                readers = self.draws.choice([divisor for divisor in range(1, lanes + 1) if lanes % divisor == 0])
                batch, given = lanes * rows // readers, self.draws.choice([0, lanes])
            some = self.draws.randint(0, (steps + 1) // 2)
            taken = self.draws.choice([0, steps, some, some, some, some])
            changes.append(f"{taken}:{readers * self.replicate}:{batch}:{given}")
        self.arguments += ["--changes", ",".join(changes)]

    def present(self, changes):
        """What the phase after these changes has: steps, lanes, rows of each."""
        try:
            epoch = self.order.plan([*self.arguments, *(["--changes", ",".join(changes)] if changes else [])])
        except self.order.Refused:
            return 1, 1, 1
        return epoch.last.steps - epoch.last.taken, epoch.last.V, epoch.last.q

    def calls(self):
        """The calls that are compared: two ranks, the state, the identities."""
        steps, _, _ = self.present([])
        changes = self.arguments[-1].split(",") if "--changes" in self.arguments else []
        world = int(changes[-1].split(":")[1] if changes else self.arguments[3])
        for rank in sorted({0, self.draws.randrange(world)}):
            yield [*self.arguments, "--rank", str(rank)]
        for what in ("--state", "--ids"):
            yield [*self.arguments, "--at", str(self.draws.choice([0, self.draws.randint(0, steps)])), what, "1"]


def order_answer(order, arguments):
    try:
        return "".join(line + "\n" for line in order.output(order.plan(arguments)))
    except order.Refused:
        return "refused\n"


def library_answer(print_ids, arguments):
    done = subprocess.run([print_ids, *arguments], capture_output=True, text=True, timeout=120)
    if done.returncode == 0:
        return done.stdout
    return "refused\n" if done.returncode == 2 else f"failed with {done.returncode}: {done.stderr}"


def check_random_plans(print_ids, order):
    failures = calls = refused = 0
    for seed in range(RANDOM_PLANS):
        for arguments in RandomPlan(order, seed).calls():
            wanted = order_answer(order, arguments)
            got = library_answer(print_ids, arguments)
            failures += expect(f"random plan {seed}: {shlex.join(arguments)}", got, wanted)
            calls += 1
            refused += wanted == "refused\n"
    print(f"random plans with the seeds 0 to {RANDOM_PLANS - 1}: {calls} calls, {refused} of them refused")
    return failures + expect("refused calls", "many" if refused * 3 > calls else "few", "few")


def load_order(order_py):
    sys.path.insert(0, str(pathlib.Path(order_py).parent))
    return importlib.import_module("order")


def main(print_ids, order_py, order_md):
    sys.dont_write_bytecode = True
    page = pathlib.Path(order_md).read_text(encoding="utf-8")
    order = load_order(order_py)
    if print_ids == "--renew":
        pathlib.Path(order_md).write_text(renewed(order, order_py, page), encoding="utf-8")
        return 0
    failures = check_option_sets(print_ids, order_py)
    failures += check_examples(print_ids, order_py, page)
    failures += check_vectors(order, page)
    failures += check_random_plans(print_ids, order)
    print("all agree" if failures == 0 else f"{failures} disagreements")
    return failures != 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
