#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the fuzz targets and runs them from the seeds of fuzz/corpus, each for some seconds or some CPU time in all.

They are built as the tests of `make sanitize` are, in build/asan. What reaches new code stays in build/fuzz/corpus,
where the next run goes on; an input that breaks a claim stays in build/fuzz/artifacts. build/fuzz/tally.json adds up
what was ever run here, by commit, so that a campaign may be interrupted and go on, also with a later version of the
code.
"""

import argparse
import dataclasses
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAMS = ROOT / "build" / "asan" / "fuzz"
KEPT = ROOT / "build" / "fuzz"
TALLY = KEPT / "tally.json"
# Wall-clock seconds for one input; many, because a campaign may run where other work comes first.
HANG_SECONDS = 60
TURN_SECONDS = 60


@dataclasses.dataclass
class Run:
    """What one process did."""
    target: str
    executions: int
    cpu_seconds: float
    edges: int
    edges_in_all: int
    features: int
    status: int


class Tally:
    """Executions, CPU seconds and findings of each target, by the commit that ran them."""

    def __init__(self, path, commit):
        self._path = path
        self._commit = commit
        self._read()

    def _read(self):
        self._targets = json.loads(self._path.read_text()) if self._path.exists() else {}

    def add(self, run):
        with open(self._path.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # others may run here as well
            self._read()
            self._add(run)

    def _add(self, run):
        commits = self._targets.setdefault(run.target, {})
        entry = commits.setdefault(self._commit, {"executions": 0, "cpu_seconds": 0.0, "findings": 0, "coverage": []})
        entry["executions"] += run.executions
        entry["cpu_seconds"] = round(entry["cpu_seconds"] + run.cpu_seconds, 2)
        entry["findings"] += run.status != 0
        if run.edges:
            entry["coverage"].append([round(self.cpu_seconds(run.target)), run.edges, run.features])
        whole = self._path.with_suffix(".new")
        whole.write_text(json.dumps(self._targets, indent=1, sort_keys=True) + "\n")
        whole.replace(self._path)

    def _sum(self, target, what, older=False):
        commits = self._targets.get(target, {})
        return sum(entry[what] for commit, entry in commits.items() if not older or commit != self._commit)

    def cpu_seconds(self, target):
        return self._sum(target, "cpu_seconds")

    def line(self, target):
        text = (f"{target:<20} {self._sum(target, 'executions'):>12} executions in "
                f"{self.cpu_seconds(target) / 60:.1f} CPU minutes, {self._sum(target, 'findings')} findings")
        older = self._sum(target, "executions", older=True)
        return text + (f"; {older} executions are of other commits" if older else "")


def arguments(targets):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    length = parser.add_mutually_exclusive_group(required=True)
    length.add_argument("--seconds", type=int, help="run each target once, for so long")
    length.add_argument("--cpu-minutes", type=float,
                        help="run all targets in turns until the tally has so many CPU minutes of each")
    length.add_argument("--tally", action="store_true", help="only print what was run so far")
    parser.add_argument("--no-build", action="store_true", help="run what is built, such as a copy of it")
    parser.add_argument("--seed", type=int, default=0,
                        help="draw the same mutations in each run with --seconds; 0 draws others")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="all, where none is given")
    options = parser.parse_args()
    unknown = set(options.targets) - set(targets)
    if unknown:
        parser.error(f"no such target: {' '.join(sorted(unknown))}; there are {' '.join(targets)}")
    if (options.seconds is not None and options.seconds < 1) or options.jobs < 1:
        parser.error("a target runs for at least one second, in at least one process")
    return options


def known_targets():
    text = (ROOT / "fuzz" / "CMakeLists.txt").read_text()
    return re.findall(r"^dovetail_add_fuzzer\(([a-z_]+)", text, re.MULTILINE)


def build(targets, jobs):
    subprocess.run(["cmake", "--preset", "asan"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    command = ["cmake", "--build", "--preset", "asan", "-j", str(jobs), "--target", *targets]
    subprocess.run(command, cwd=ROOT, check=True)


def commit():
    told = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return told.stdout.strip() or "unknown"


def log_of(target):
    return KEPT / f"{target}.log"


def start(target, seconds, scratch, seed):
    corpus = KEPT / "corpus" / target
    artifacts = KEPT / "artifacts" / target
    corpus.mkdir(parents=True, exist_ok=True)
    artifacts.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ, TMPDIR=scratch)
    # What an input may take of memory is counted by the targets themselves (fuzz/support.h).
    environment.setdefault("ASAN_OPTIONS", "allocator_may_return_null=1:detect_stack_use_after_return=0")
    environment.setdefault("UBSAN_OPTIONS", "print_stacktrace=1")
    # The entropic schedule takes up to nine tenths of the time where an input reaches thousands of edges.
    command = [PROGRAMS / target, f"-max_total_time={seconds}", f"-seed={seed}", f"-timeout={HANG_SECONDS}",
               "-rss_limit_mb=4096", "-entropic=0", "-max_len=8192", "-verbosity=1", "-print_final_stats=1",
               f"-artifact_prefix={artifacts}/", corpus, ROOT / "fuzz" / "corpus" / target]
    with open(log_of(target), "wb") as log:
        # A session of its own, so that Ctrl-C reaches it through us and once.
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)


def last_number(pattern, text):
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def ended(target, status, usage):
    log = log_of(target).read_text(errors="replace")
    return Run(target=target,
               executions=last_number(r"stat::number_of_executed_units: *(\d+)", log) or last_number(r"\n#(\d+)", log),
               cpu_seconds=usage.ru_utime + usage.ru_stime,
               edges=last_number(r" cov: (\d+)", log),
               edges_in_all=last_number(r"\((\d+) inline 8-bit counters\)", log),
               features=last_number(r" ft: (\d+)", log),
               status=0 if interrupted(status) else os.waitstatus_to_exitcode(status))


def interrupted(status):
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 72  # libFuzzer's own


def report(run):
    print(f"{run.target:<20} {run.executions:>10} executions in {run.cpu_seconds:.1f} CPU seconds, "
          f"{run.edges} of {run.edges_in_all} edges, exit {run.status}", flush=True)
    if run.status != 0:
        lines = log_of(run.target).read_text(errors="replace").splitlines()
        print("\n".join([line for line in lines if not line.startswith("#")][-40:]), flush=True)


class Runner:
    """Keeps some processes running; `next_target` names the next one, or nothing."""

    def __init__(self, jobs, tally, scratch, seed):
        self._jobs = jobs
        self._tally = tally
        self._scratch = scratch
        self._seed = seed
        self._running = {}
        self.failed = set()

    def running(self):
        return {target for target, _ in self._running.values()}

    def run(self, next_target, seconds):
        try:
            while True:
                target = next_target() if len(self._running) < self._jobs else None
                if target:
                    process = start(target, seconds, self._scratch, self._seed)
                    self._running[process.pid] = target, process  # kept, or Popen would wait for it
                elif self._running:
                    self._wait()
                else:
                    return
        finally:
            for pid in self._running:
                os.kill(pid, signal.SIGINT)  # says what it did, and ends
            while self._running:
                self._wait()

    def _wait(self):
        pid, status, usage = os.wait4(-1, 0)
        target, process = self._running.pop(pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        run = ended(target, status, usage)
        self._tally.add(run)
        if run.status != 0:
            self.failed.add(run.target)
        report(run)


def stop(*_):
    raise KeyboardInterrupt


def main():
    targets = known_targets()
    options = arguments(targets)
    targets = options.targets or targets
    if options.tally:
        tally = Tally(TALLY, commit())
    else:
        if not options.no_build:
            build(targets, options.jobs)
        tally = Tally(TALLY, commit())
        signal.signal(signal.SIGTERM, stop)
        # Files that the targets write are small and short-lived.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        scratch = tempfile.mkdtemp(prefix="fuzz-", dir=memory)
        runner = Runner(options.jobs, tally, scratch, options.seed)
        try:
            if options.seconds is not None:
                queue = list(targets)
                runner.run(lambda: queue.pop(0) if queue else None, options.seconds)
            else:
                # A target with a finding waits for whoever mends it.
                def least_run():
                    wanted = [target for target in targets if target not in runner.failed | runner.running()
                              and tally.cpu_seconds(target) < 60 * options.cpu_minutes]
                    return min(wanted, key=tally.cpu_seconds, default=None)
                runner.run(least_run, TURN_SECONDS)
        except KeyboardInterrupt:
            print("interrupted; the tally has what was run", flush=True)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        print(f"{len(runner.failed)} of {len(targets)} targets failed; here so far:")
    for target in targets:
        print(tally.line(target))
    return 0 if options.tally or not runner.failed else 1


if __name__ == "__main__":
    sys.exit(main())
