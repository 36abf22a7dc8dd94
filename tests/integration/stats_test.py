#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`dovetail read --metrics` writes the Prometheus text format; `dovetail stats` names the slow rank, and why."""

import json
import os
import re

from support import CommandTest, main, make_records, run_good, run_json, write_file

SAMPLE = re.compile(r'^([a-z_]+)\{((?:[a-z]+="[^"\\\n]*",?)+)\} (\d+(?:\.\d+)?)$')


STATES = ("waiting_for_storage", "waiting_for_decode", "waiting_for_slot", "waiting_for_consumer", "filling")


def parse(text):
    """Samples by name and labels; each family comes once, with its help and its type in front."""
    samples, family, families = {}, None, set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert name not in families, line
            families.add(name)
        elif line.startswith("# TYPE "):
            family, kind = line.split()[2:]
            assert family == name and kind == ("counter" if name.endswith("_total") else "gauge"), line
        else:
            found = SAMPLE.match(line)
            assert found and found[1] == family, line
            labels = dict(label.split("=") for label in found[2].split(","))
            samples[found[1], tuple(sorted(labels.items()))] = float(found[3])
    return samples


class StatsTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.dataset = self.make_dataset(make_records(500, seed=90, longest=40), "dataset", 3)

    def statistics(self, rank, name=None, **changes):
        read = run_json("read", self.dataset, "--rank", rank, "--world", 3, "--batch", 8)
        read["stats"].update(changes)
        path = self.path(name or f"rank-{rank}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(read if name is None else read["stats"], file)
        return path

    def test_metrics_are_the_numbers_of_the_summary(self):
        metrics = self.path("reader.prom")
        read = run_json("read", self.dataset, "--rank", 1, "--world", 3, "--batch", 8, "--metrics", metrics)
        with open(metrics, encoding="utf-8") as file:
            samples = parse(file.read())

        def sample(name, **labels):
            labels = {"rank": '"1"', "world": '"3"', **{key: f'"{value}"' for key, value in labels.items()}}
            return samples["dovetail_reader_" + name, tuple(sorted(labels.items()))]

        stats = read["stats"]
        self.assertEqual(sample("batches_total"), read["steps"])
        self.assertEqual(sample("rows_total", status="first"), read["valid"])
        self.assertEqual(sample("delivered_bytes_total"), stats["bytes"])
        self.assertEqual(sample("reads_total"), stats["reads"])
        self.assertEqual(sample("memory_budget_bytes"), stats["budget_bytes"])
        self.assertEqual(sample("info", storage=read["storage"]), 1)
        self.assertGreaterEqual(sample("state_seconds_total", state="filling"), stats["filling"])  # until it stopped
        for state in STATES[:-1]:
            self.assertAlmostEqual(sample("state_seconds_total", state=state), stats[state], places=6)
        for work in ("planning", "reading", "decoding", "gathering"):
            self.assertAlmostEqual(sample("busy_seconds_total", work=work), stats["time_" + work], places=6)

    def test_a_file_of_metrics_never_replaces_another(self):
        self.assert_fails(2, "read", self.dataset, "--rank", 0, "--world", 1, "--batch", 8, "--metrics",
                          self.dataset + "/manifest.dvt", says="name another file")

    def test_metrics_that_cannot_be_written_end_the_command_before_it_reads(self):
        for path, says in (("/proc/reader.prom", "/proc/reader.prom"), ("/dev/stdout", "not a metrics file")):
            self.assert_fails(3 if path.startswith("/proc") else 2, "read", self.dataset, "--rank", 0, "--world", 1,
                              "--batch", 8, "--metrics", path, "--state-out", self.path("state"), says=says)
            self.assertFalse(os.path.exists(self.path("state")))

    def test_the_slow_rank_is_named(self):
        fast = dict(waiting_for_storage=0.1, waiting_for_decode=0.0, waiting_for_slot=0.0, waiting_for_consumer=9.0,
                    filling=0.9, trainer_idle=0.01)
        shard = dict(file="data/shard-000017.dvt", shard=17, reads=34, bytes=1, mean=0.012, longest=0.1)
        slow = dict(fast, waiting_for_storage=4.0, waiting_for_consumer=5.1, trainer_idle=0.4, slowest_shards=[shard])
        files = [self.statistics(1, **fast), self.statistics(2, **slow), self.statistics(0, **fast)]
        text = run_good("stats", *files).decode()
        self.assertIn("waited longest: rank 2, whose trainer waited 40.0 % of its time, longest for storage", text)
        self.assertIn("slowest shard: data/shard-000017.dvt, 34 reads of 12.0 ms on average", text)
        self.assertEqual([line.split()[0] for line in text.splitlines()[1:4]], ["0", "1", "2"])
        compared = run_json("stats", *files)
        self.assertEqual([rank["rank"] for rank in compared["ranks"]], [0, 1, 2])
        self.assertAlmostEqual(compared["ranks"][2]["shares"]["waiting_for_storage"], 0.4)
        self.assertIn("not the limit", run_json("stats", files[0], files[2])["verdict"])
        self.assert_fails(2, "stats", files[0], files[0], says="it is of the same rank as")
        with open(files[0], encoding="utf-8") as file:
            other = dict(json.load(file), rank=5, epoch=1)
        with open(self.path("other.json"), "w", encoding="utf-8") as file:
            json.dump(other, file)
        self.assert_fails(2, "stats", files[0], self.path("other.json"), says="of another plan or epoch")
        bare = self.statistics(0, "bare.json", **fast)
        self.assertEqual(len(run_json("stats", files[0], bare)["ranks"]), 2, "it may be of the same plan")
        self.assert_fails(2, "stats", files[0], bare, self.path("other.json"), says="of another plan or epoch")
        whole = self.statistics(0, "whole.json", **dict(slow, slowest_shards=[dict(shard, mean=1)]))
        self.assertIn("34 reads of 1000.0 ms", run_json("stats", whole)["verdict"])
        decoding = self.statistics(0, "alone.json", **dict(slow, waiting_for_decode=6.0))
        self.assertIn("alone.json, whose trainer waited 40.0 % of its time, longest for checking and decoding",
                      run_json("stats", decoding)["verdict"])

    def test_rows_lost_to_damage_are_counted_and_named(self):
        records = run_json("inspect", self.dataset + "/shard-000001.dvt")["records"]
        write_file(self.dataset + "/shard-000001.dvt", b"")
        files = []
        for rank, policy in enumerate(("empty", "substitute")):
            path = self.path(f"lossy-{rank}.json")
            read = run_good("read", self.dataset, "--rank", rank, "--world", 2, "--batch", 8, "--tail", "pad",
                            "--order", "global", "--on-damage", policy, "--json")
            files.append(write_file(path, read))
        compared = run_json("stats", *files)
        lost = [rank["lost_rows"] for rank in compared["ranks"]]
        self.assertEqual(sum(lost), records)
        self.assertTrue(all(lost), lost)
        self.assertEqual([rank["damaged"] for rank in compared["ranks"]], [1, 1], "places")
        text = run_good("stats", *files).decode()
        self.assertIn("lost rows", text.splitlines()[0])
        for rank, rows in enumerate(lost):
            self.assertIn(f"\nrank {rank}: {rows} row{'' if rows == 1 else 's'} lost to damage or rejected\n", text)
        good = self.statistics(0)
        self.assertNotIn("lost to damage", run_good("stats", good).decode())

    def test_names_of_files_that_are_not_utf8_leave_the_output_json(self):
        bare = self.statistics(0, os.fsdecode(b"rank-\xff.json"))
        self.assertEqual(run_json("stats", bare)["ranks"][0]["file"], self.path("rank-\ufffd.json"))

    def test_what_is_no_statistics_is_refused(self):
        good = json.dumps({"rank": 0, "stats": {"rows": 1}})
        wrong = ("", "text", "[]", "{}", '{"stats": 3}', '{"stats": {}}', good, '{"rank": -1, "stats": {}}')
        for number, text in enumerate(wrong):
            path = self.path(f"wrong-{number}")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            self.assert_fails(2, "stats", path, says="not the statistics of a reader")
        for number, (field, value) in enumerate((("trainer_idle", 1.5), ("trainer_idle", -0.1), ("filling", "1e999"),
                                                 ("filling", -1), ("waiting_for_slot", 1e300))):
            path = self.statistics(0, f"range-{number}.json", **{field: 0 if value == "1e999" else value})
            if value == "1e999":
                with open(path, encoding="utf-8") as file:
                    text = file.read().replace(f'"{field}": 0', f'"{field}": 1e999')
                write_file(path, text.encode())
            self.assert_fails(2, "stats", path, says=f"{field} is not a number in range")
        self.assert_fails(3, "stats", self.path("missing"), says="missing")


main()
