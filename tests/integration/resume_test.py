#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`dovetail read` stops with --state-out and goes on with --from-state: in the same world with the same rows, in
another one with the rest of the epoch."""

from support import DAMAGED, USAGE, CommandTest, main, make_records, read_file, run, run_good, run_json, write_file

PLAN = ["--tail", "pad", "--seed", "3", "--pool", "20", "--open-runs", "4", "--epoch", "2"]


class ResumeTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.dataset = self.make_dataset(make_records(300, seed=1, longest=40), "dataset", 5)

    def read(self, rank, world, batch, *options):
        """The summary, the rows of --ids, and the state where reading ended."""
        ids, state = self.path("ids"), self.path("state")
        summary = run_json("read", self.dataset, "--rank", rank, "--world", world, "--batch", batch, "--ids", ids,
                           "--state-out", state, *options)
        return summary, read_file(ids).decode().splitlines(), read_file(state).decode()

    def keep(self, text):
        return write_file(self.path("kept"), text.encode())

    def test_every_step_of_an_epoch(self):
        whole, rows, end = self.read(1, 2, 13, *PLAN)
        for steps in range(whole["steps"] + 1):
            summary, begun, state = self.read(1, 2, 13, *PLAN, "--steps", steps)
            self.assertEqual((summary["first_step"], summary["steps"]), (0, steps))
            if steps == whole["steps"]:
                self.assertEqual(state, end)
                continue
            summary, rest, last = self.read(1, 2, 13, "--from-state", self.keep(state))
            self.assertEqual(begun + rest, rows, steps)
            self.assertEqual((summary["epoch"], summary["first_step"]), (2, steps))
            self.assertEqual(last, end)

    def test_ranks_write_one_state_and_it_is_short(self):
        states = {self.read(rank, 3, 7, *PLAN, "--steps", 4)[2] for rank in range(3)}
        self.assertEqual(len(states), 1)
        self.assertLessEqual(len(states.pop()), 256)

    def test_the_end_of_an_epoch_goes_on_with_the_next(self):
        end = self.read(0, 1, 50, *PLAN)[2]
        summary, rows, _ = self.read(0, 1, 50, "--from-state", self.keep(end))
        self.assertEqual((summary["epoch"], summary["first_step"]), (3, 0))
        self.assertEqual(rows, self.read(0, 1, 50, *PLAN[:-1], "3")[1])

    def test_other_worlds_read_the_rest_once(self):
        seen, state = [], None
        for world, batch, steps in ((4, 5, 3), (3, 8, 2), (6, 2, 4), (2, 9, 1000)):
            options = PLAN if state is None else ["--from-state", self.keep(state)]
            states = set()
            for rank in range(world):
                _, rows, after = self.read(rank, world, batch, *options, "--steps", steps)
                seen += [row.split()[2:4] for row in rows if row.endswith(" 1")]
                states.add(after)
            self.assertEqual(len(states), 1)
            state = states.pop()
        self.assertEqual(len(seen), 300)
        self.assertEqual(len(set(map(tuple, seen))), 300)

    def test_states_of_other_runs_are_refused_with_the_difference(self):
        state = self.keep(self.read(0, 1, 10, *PLAN, "--steps", 2)[2])
        other = self.make_dataset(make_records(300, seed=2, longest=40), "other", 5)
        rank = ["--rank", "0", "--world", "1", "--batch", "10", "--from-state", state]
        for dataset, options, difference in ((other, [], "this is another dataset: its fingerprint is "),
                                             (other, [], "begin an epoch without the state"),
                                             (self.dataset, ["--seed", "4"], "seed is 4, but was 3"),
                                             (self.dataset, ["--epoch", "5"], "contradicts the state")):
            done = run("read", dataset, *rank, *options)
            self.assertEqual(done.returncode, USAGE, done.stderr)
            self.assertIn(difference, done.stderr.decode())

    def test_damaged_states_are_refused(self):
        text = self.read(0, 1, 10, *PLAN, "--steps", 2)[2].strip()
        for damaged in (text[:-3], text[:30] + ("A" if text[30] != "A" else "B") + text[31:], "", "dvt:"):
            done = run("read", self.dataset, "--rank", "0", "--world", "1", "--batch", "10", "--from-state",
                       self.keep(damaged))
            self.assertEqual(done.returncode, DAMAGED, (damaged, done.stderr))
            self.assertIn("damaged state", done.stderr.decode())

    def test_more_than_eight_changes_are_refused(self):
        state = self.read(0, 1, 2, *PLAN, "--steps", 1)[2]
        for change in range(8):
            state = self.read(0, 1, 3 + change, "--from-state", self.keep(state), "--steps", 1)[2]
        self.assertLessEqual(len(state.strip()), 256)
        done = run("read", self.dataset, "--rank", "0", "--world", "1", "--batch", "2", "--from-state",
                   self.keep(state))
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("has changed its world 8 times", done.stderr.decode())

    def test_mixes_resume_as_well(self):
        other = self.make_dataset(make_records(90, seed=7, longest=40), "other", 2)
        mix = ["--weights", "0=2:1,5=1:1", "--stop", "all"]
        rank = ["--rank", "0", "--world", "2", "--batch", "6"]
        ids, state = self.path("ids"), self.path("state")
        run_good("read", self.dataset, other, *rank, *PLAN, *mix, "--ids", ids)
        whole = read_file(ids)
        run_good("read", self.dataset, other, *rank, *PLAN, *mix, "--ids", ids, "--steps", 9, "--state-out", state)
        begun = read_file(ids)
        run_good("read", self.dataset, other, *rank, "--from-state", state, *mix, "--ids", ids)
        self.assertEqual(begun + read_file(ids), whole)
        done = run("read", self.dataset, other, *rank, "--from-state", state, "--weights", "3,1", "--stop", "all")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("weights, stop rule or sources", done.stderr.decode())


if __name__ == "__main__":
    main()
