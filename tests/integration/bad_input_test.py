#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input gets a clear error with file and offset, the right exit code, and loses nothing."""

import json
import os
import resource
import struct
import subprocess
import tarfile
import tempfile

from support import (COMMAND, DAMAGED, IO, USAGE, CommandTest, crc32c, flip_byte, gzip_bytes, main, make_records,
                     read_file, run, run_good, run_json, tfrecord, write_file)

ONE_RANK = ("--rank", "0", "--world", "1", "--batch", "1")


class SourcesTest(CommandTest):
    """What `convert` refuses leaves no dataset behind."""

    def assert_refused(self, code, source, *flags, says):
        target = self.path("target")
        message = self.assert_fails(code, "convert", source, "--to", target, *flags, says=says)
        self.assertEqual(os.listdir(target) if os.path.exists(target) else [], [])
        return message

    def test_an_empty_folder(self):
        os.mkdir(self.path("empty"))
        self.assert_refused(USAGE, self.path("empty"), says=self.path("empty"))

    def test_a_source_that_is_not_there(self):
        self.assert_refused(IO, self.path("nothing"), says=self.path("nothing"))

    def test_a_link_that_leads_nowhere(self):
        os.mkdir(self.path("files"))
        os.symlink("nowhere", self.path("files", "link"))
        self.assert_refused(USAGE, self.path("files"), "--from", "folder", says="1 link that leads nowhere; fetch")

    def test_a_cut_tfrecord(self):
        records = make_records(50, seed=20)
        framed = tfrecord(records)
        last = len(framed) - len(records[-1]) - 16
        source = write_file(self.path("cut"), framed[:-1])
        self.assert_refused(DAMAGED, source, says=f"{source}:{last}")

    def test_a_cut_gzip_file(self):
        source = write_file(self.path("cut.gz"), gzip_bytes(tfrecord(make_records(50, seed=21)))[:-9])
        self.assert_refused(DAMAGED, source, says=f"{source}:")

    def test_damage_in_a_folder_is_told_by_every_subcommand_that_takes_it(self):
        table = b"a,b\n1,2\n"
        index = b'{"version":2,"shards":[{"format":"mds","column_names":["x"],"column_encodings":["bytes"],' \
                b'"column_sizes":[null],"compression":null,"raw_data":{"basename":"x.mds","bytes":9,"hashes":{}},' \
                b'"samples":1,"zip_data":null}]}'
        for name, code, files, says in (
                ("table", DAMAGED, {"0.csv": b"\0" + table[1:], "1.csv": table}, "1.csv:0: "),
                ("emptied", DAMAGED, {"0.csv.gz": b"", "1.csv.gz": gzip_bytes(table)}, "0.csv.gz: "),
                ("no compression", DAMAGED, {"0.csv.gz": b"X" + gzip_bytes(table)[1:]}, "0.csv.gz:0: "),
                ("a shard is missing", IO, {"index.json": index}, "x.mds: "),
                ("a shard is cut", DAMAGED, {"index.json": index, "x.mds": b"12345678"}, "x.mds"),
                ("a broken index", DAMAGED, {"index.json": index[:-1]}, "index.json: ")):
            folder = self.path(name)
            os.mkdir(folder)
            for file, content in files.items():
                write_file(os.path.join(folder, file), content)
            with self.subTest(damage=name):
                self.assert_refused(code, folder, says=f"{folder}/{says}")
                self.assert_fails(code, "cat", folder, says=f"{folder}/{says}")
                self.assert_fails(code, "inspect", folder, says=f"{folder}/{says}")

    def test_a_flipped_bit_in_a_tfrecord(self):
        framed = tfrecord([b"a" * 100, b"b" * 100])
        source = write_file(self.path("flipped"), framed)
        flip_byte(source, 116 + 50)
        self.assert_refused(DAMAGED, source, says=f"{source}:116")

    def test_a_record_larger_than_the_limit(self):
        source = write_file(self.path("large"), tfrecord([b"ok", b"x" * 1000]))
        self.assert_refused(USAGE, source, "--max-record-bytes", "999", says=["1000", "999"])

    def test_content_of_no_known_format(self):
        source = write_file(self.path("unknown"), bytes(range(256)) * 4)
        self.assert_refused(USAGE, source, says=[source, "--from"])

    def test_a_dataset_as_source(self):
        dataset = self.make_dataset(make_records(10, seed=22))
        self.assert_refused(USAGE, dataset, "--from", "lines", says=[dataset, "already packed"])

    def test_what_a_stopped_writer_has_left_as_source(self):
        dataset = self.make_dataset(make_records(60, seed=29), name="whole")
        staged = self.path("written.partial")
        os.rename(dataset, staged)
        os.remove(os.path.join(staged, "manifest.dvt"))
        write_file(os.path.join(staged, ".dovetail-lock"), b"")
        message = self.assert_refused(DAMAGED, staged, says=["was stopped and cannot continue",
                                                             f"`dovetail recover {staged} DST` saves its records"])
        self.assertNotIn("conversion", message)
        self.assertNotIn("merge", message)

    def test_a_target_that_holds_a_dataset(self):
        dataset = self.make_dataset(make_records(40, seed=23))
        before = run_good("cat", dataset, "--format", "hex")
        self.assert_fails(USAGE, "convert", dataset + ".tfrecord", "--to", dataset, says=[dataset, "--overwrite"])
        self.assertEqual(run_good("cat", dataset, "--format", "hex"), before)

    def test_options_out_of_range(self):
        source = write_file(self.path("source"), tfrecord([b"x"]))
        for flags, says in ((("--block-bytes", "1"), "block_bytes"), (("--run-bytes", "2G"), "run_bytes"),
                            (("--dataset-id", "12"), "32 hex digits"), (("--meta", "novalue"), "KEY=VALUE"),
                            (("--codec", "zip"), "must be none, snappy or zstd, not 'zip'"),
                            (("--codec", "zstd", "--codec-level", "20"), "codec_level = 20: it must be 1 to 19"),
                            (("--shards", "-1"), "--shards"),
                            (("--shards", "2", "--shard-bytes", "1M"), "--shard")):
            with self.subTest(flags=flags):
                self.assert_refused(USAGE, source, *flags, says=says)


class DatasetsTest(CommandTest):
    """What the reading subcommands refuse."""

    def setUp(self):
        super().setUp()
        self.dataset = self.make_dataset(make_records(400, seed=24))
        self.shard = os.path.join(self.dataset, "shard-000001.dvt")

    def every_reader(self):
        return (("cat", self.dataset, "--format", "raw"), ("read", self.dataset, *ONE_RANK))

    def assert_all_fail(self, code, says):
        for arguments in self.every_reader():
            with self.subTest(command=arguments[0]):
                # What was good before the failure may have been written.
                done = run(*arguments)
                self.assertEqual(done.returncode, code, done.stderr)
                for word in says:
                    self.assertIn(word, done.stderr.decode())

    def test_an_empty_folder(self):
        os.mkdir(self.path("empty"))
        plan = ("plan", "--world", "1", "--batch", "1")
        for command in (plan, ("read", *ONE_RANK), ("cat",), ("inspect",), ("verify",)):
            with self.subTest(command=command[0]):
                done = run(command[0], self.path("empty"), *command[1:])
                self.assertEqual(done.returncode, USAGE)
                self.assertIn(self.path("empty"), done.stderr.decode())

    def test_a_vanished_shard(self):
        os.remove(self.shard)
        self.assert_all_fail(IO, [self.shard])
        done = run("verify", self.dataset)
        self.assertEqual(done.returncode, IO)
        self.assertIn(self.shard, done.stderr.decode())
        self.assertRegex(done.stdout.decode(),
                         r"^not checked: 1 could not be read; \d+ records in \d+ blocks are good\n$")
        verdict = json.loads(run("verify", self.dataset, "--json").stdout)
        self.assertFalse(verdict["ok"])
        self.assertEqual([file["file"] for file in verdict["unreadable"]], [self.shard])

    def test_a_folder_above_datasets(self):
        above = os.path.dirname(self.dataset)
        self.make_dataset(make_records(20, seed=5), "other")
        plan = ("plan", "--world", "1", "--batch", "1")
        for command in (plan, ("read", *ONE_RANK), ("cat",), ("inspect",), ("verify",)):
            with self.subTest(command=command[0]):
                done = run(command[0], above, *command[1:])
                self.assertEqual(done.returncode, USAGE, done.stderr)
                self.assertIn("2 datasets lie below it", done.stderr.decode())
        with tempfile.TemporaryDirectory() as elsewhere:
            self.assert_fails(USAGE, "convert", above, "--from", "dovetail", "--to", os.path.join(elsewhere, "to"),
                              says="2 datasets lie below")

    def test_a_path_that_is_not_there(self):
        self.assert_fails(IO, "inspect", self.path("nothing"), says=self.path("nothing"))

    def test_output_takes_the_place_of_no_shard(self):
        before = read_file(self.shard)
        plan = ("plan", self.dataset, "--world", "1", "--batch", "1")
        for command in (("read", self.dataset, *ONE_RANK, "--ids"), ("read", self.dataset, *ONE_RANK, "--state-out"),
                        ("read", self.dataset, *ONE_RANK, "--timeline"), ("inspect", self.dataset, "--html"),
                        (*plan, "--svg"), (*plan, "--save")):
            with self.subTest(command=command):
                self.assert_fails(USAGE, *command, self.shard, says=self.shard)
                self.assertEqual(read_file(self.shard), before)

    def test_output_takes_the_place_of_no_input_and_no_indexed_tfrecord(self):
        source = self.dataset + ".tfrecord"
        run_good("index", source)
        text = write_file(self.path("a.txt"), b"a\nb\n")
        plan = ("plan", source, "--world", "1", "--batch", "1")
        read = ("read", self.dataset, *ONE_RANK)
        new = self.path("new")
        for path, command, says in ((source, (*plan, "--save", source), "a file of Dovetail"),
                                    (source, (*plan, "--svg", source), "a file of Dovetail"),
                                    (source, (*read, "--ids", source), "a file of Dovetail"),
                                    (text, ("inspect", text, "--html", text), "this is the input"),
                                    (text, (*read, "--ids", new, "--state-out", new), "two outputs"),
                                    (text, (*plan, "--svg", new, "--save", new), "two outputs")):
            with self.subTest(command=command):
                before = read_file(path)
                self.assert_fails(USAGE, *command, says=says)
                self.assertEqual(read_file(path), before)
                self.assertFalse(os.path.exists(new))
        state = self.path("state")
        run_good(*read, "--steps", "1", "--state-out", state)
        run_good(*read, "--steps", "1", "--from-state", state, "--state-out", state)

    def test_ids_go_to_any_file_that_can_be_written(self):
        read = ("read", self.dataset, *ONE_RANK, "--ids")
        run_good(*read, self.path("ids"))
        with open(self.path("lines"), "wb") as lines:
            done = subprocess.run([COMMAND, *read, "/dev/stdout"], stdout=lines, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        for written in (read_file(self.path("lines")), run_good(*read, "/dev/stdout"), run_good(*read, "/dev/fd/1")):
            self.assertTrue(written.startswith(read_file(self.path("ids")) + b"plan "), written[:100])

    def test_lines_of_what_was_read_before_damage_are_kept(self):
        block = run_json("inspect", self.shard, "--blocks")["block_list"][3]
        flip_byte(self.shard, block["offset"] + 64 + 5)
        ids = write_file(self.path("ids"), b"older lines")
        os.link(ids, self.path("other"))
        self.assert_fails(DAMAGED, "read", self.dataset, *ONE_RANK, "--order", "sequential", "--ids", ids)
        self.assertEqual(read_file(ids).splitlines()[0], b"0 0 0 0 1")
        self.assertEqual(read_file(self.path("other")), b"older lines")
        self.assertEqual(sorted(os.listdir(self.folder)), ["dataset", "dataset.tfrecord", "ids", "other"])

    def test_lines_that_are_there_stay_where_nothing_can_be_read(self):
        write_file(self.path("ids"), b"older lines")
        self.assert_fails(IO, "read", self.path("nothing"), *ONE_RANK, "--ids", self.path("ids"), says="nothing")
        self.assertEqual(read_file(self.path("ids")), b"older lines")

    def test_a_truncated_shard(self):
        data = read_file(self.shard)
        write_file(self.shard, data[:-100])
        self.assert_all_fail(DAMAGED, [self.shard])
        self.assertEqual(run("verify", self.dataset).returncode, DAMAGED)

    def test_a_shard_that_was_never_finished(self):
        write_file(self.shard, read_file(self.shard)[:-64])
        done = run("inspect", self.shard, "--json")
        self.assertEqual(done.returncode, DAMAGED)
        self.assertIn(b'"finished":false', done.stdout)
        self.assertIn(self.shard, done.stderr.decode())

    def test_a_flipped_bit(self):
        block = run_json("inspect", self.shard, "--blocks")["block_list"][3]
        flip_byte(self.shard, block["offset"] + 64 + 5)
        self.assert_all_fail(DAMAGED, [f"{self.shard}:{block['offset']}"])

    def test_an_unknown_version(self):
        header = bytearray(read_file(self.shard)[:60])
        header[8:10] = struct.pack("<H", 9)
        with open(self.shard, "r+b") as file:
            file.write(header + struct.pack("<I", crc32c(header)))
        self.assert_all_fail(DAMAGED, [self.shard, "version"])
        self.assert_fails(DAMAGED, "inspect", self.shard, says=[self.shard, "9"])

    def test_shards_that_changed_places(self):
        other = os.path.join(self.dataset, "shard-000002.dvt")
        os.rename(self.shard, self.path("aside"))
        os.rename(other, self.shard)
        os.rename(self.path("aside"), other)
        self.assert_all_fail(DAMAGED, [self.dataset, "manifest"])
        self.assertEqual(run("verify", self.dataset).returncode, DAMAGED)

    def test_a_tfrecord_without_an_index(self):
        source = self.dataset + ".tfrecord"
        for command in (("plan", source, "--world", "1", "--batch", "1"), ("read", source, *ONE_RANK)):
            self.assert_fails(USAGE, *command, says=[source, "dovetail convert"])

    def test_no_dovetail_file(self):
        text = write_file(self.path("notes.dvt"), b"just text, long enough for a header " * 10)
        self.assert_fails(DAMAGED, "plan", text, "--world", "1", "--batch", "1", says=text)

    def test_a_file_of_another_kind_is_no_damage(self):
        with tarfile.open(self.path("x.tar"), "w") as tar:
            tar.add(self.dataset, "x")
        write_file(self.path("README.md"), b"# Words\n")
        write_file(self.path("x.gz"), gzip_bytes(b"words"))
        write_file(self.path("empty"), b"")
        plan = ("--world", "1", "--batch", "1")
        for name in ("x.tar", "README.md", "x.gz", "empty"):
            path = self.path(name)
            for command in (("plan", path, *plan), ("read", path, *ONE_RANK), ("bench", path), ("verify", path),
                            ("show", path, "--step", "0", *plan)):
                with self.subTest(name=name, command=command[0]):
                    done = run(*command)
                    self.assertEqual(done.returncode, USAGE, done.stderr)
                    self.assertIn(f"{path}: not a Dovetail file, but another format: ", done.stderr.decode())
                    if name != "empty":
                        self.assertIn(f"`dovetail convert {path} --to DIR`", done.stderr.decode())

    def test_a_shard_of_another_name_stays_a_shard(self):
        other = self.path("shard")
        os.rename(self.shard, other)
        self.assertEqual(run("verify", other).returncode, 0)
        flip_byte(other, 0)
        self.assertEqual(run("verify", other).returncode, DAMAGED)
        self.assert_fails(DAMAGED, "plan", other, "--world", "1", "--batch", "1", says="not a Dovetail file")


class RequestsTest(CommandTest):
    """Requests that cannot be carried out name the option and what would work."""

    def setUp(self):
        super().setUp()
        self.dataset = self.make_dataset(make_records(100, seed=25))

    def test_a_plan_of_no_steps_names_the_batch_that_works(self):
        message = self.assert_fails(USAGE, "plan", self.dataset, "--world", "4", "--batch", "26", says="25")
        self.assertIn(self.dataset, message)
        self.assert_fails(USAGE, "read", self.dataset, "--rank", "0", "--world", "4", "--batch", "26", says="25")

    def test_plan_options_out_of_range(self):
        for flags, says in ((("--world", "0"), "world"), (("--batch", "0"), "batch"), (("--pool", "0"), "pool"),
                            (("--pool", "16777217"), "pool"), (("--open-runs", "0"), "open_runs"),
                            (("--open-runs", "65537"), "open_runs"), (("--lanes", "3"), "lanes"),
                            (("--replicate", "3"), "replicate"), (("--tail", "keep"), "drop, pad or wrap"),
                            (("--order", "random"), "shuffle, sequential"), (("--seed", "-1"), "--seed")):
            base = {"--world": "2", "--batch": "4", **dict([flags])}
            with self.subTest(flags=flags):
                self.assert_fails(USAGE, "plan", self.dataset, *sum(base.items(), ()), says=says)

    def test_reader_options_out_of_range(self):
        for flags, says in ((("--rank", "2"), "rank"), (("--prefetch", "0"), "prefetch"),
                            (("--prefetch", "65"), "prefetch"), (("--memory", "1K"), "memory"),
                            (("--memory", "lots"), "'lots' is not a number of bytes"),
                            (("--memory", "-1"), "--memory")):
            base = {"--rank": "0", "--world": "2", "--batch": "4", **dict([flags])}
            with self.subTest(flags=flags):
                self.assert_fails(USAGE, "read", self.dataset, *sum(base.items(), ()), says=says)

    def test_rank_without_world(self):
        self.assert_fails(USAGE, "read", self.dataset, "--rank", "0", "--batch", "1",
                          says="--rank needs --world")
        self.assert_fails(USAGE, "read", self.dataset, "--world", "1", "--batch", "1",
                          says="--world needs --rank")

    def test_a_plan_needs_a_batch(self):
        for command in ("plan", "show"):
            for given in ((), ("--world", "1")):
                with self.subTest(command=command, given=given):
                    self.assert_fails(USAGE, command, self.dataset, *given, says="--batch is required")

    def test_a_missing_argument_is_named(self):
        for given, says in (("recover", "SRC is required"), ("recover a", "DST is required"),
                            ("show --step 1", "PATH is required")):
            with self.subTest(given=given):
                self.assert_fails(USAGE, *given.split(), says=says)

    def test_what_is_no_number_is_named(self):
        for number, says in (("many", "'many' is not a whole number"), ("1.5", "'1.5' is not a whole number"),
                             ("4294967296", "'4294967296' is above 4294967295"), ("-1", "'-1' is negative"),
                             ("9" * 30, "is above 4294967295")):
            with self.subTest(number=number):
                self.assert_fails(USAGE, "plan", self.dataset, "--world", "1", f"--batch={number}",
                                  says=["--batch", says])
        self.assert_fails(USAGE, "convert", self.dataset, "--to", self.path("to"), "--sample", "half",
                          says=["--sample", "'half' is not a number"])
        for seed, same in (("0x11", "17"), ("017", "17")):
            plans = [run_json("plan", self.dataset, "--world", "1", "--batch", "1", "--seed", text)["plan_id"]
                     for text in (seed, same)]
            self.assertEqual(plans[0], plans[1])

    def test_other_files_than_asked_for(self):
        words = write_file(self.path("words"), b"some words\n")
        long = write_file(self.path("long"), bytes(10_000))
        longer = write_file(self.path("longer"), bytes(2 << 20))
        for path in (words, long, longer, os.path.join(self.dataset, "manifest.dvt")):
            for command, says in ((("read", *ONE_RANK, "--from-state"), "read --state-out FILE"),
                                  (("plan", "--world", "1", "--batch", "1", "--plan"), "plan --save FILE"),
                                  (("plan", "--world", "1", "--batch", "1", "--check-digests"), "read --json")):
                with self.subTest(path=path, command=command[-1]):
                    self.assert_fails(USAGE, command[0], self.dataset, *command[1:], path, says=[path, says])

    def test_a_missing_folder_is_refused_before_the_work(self):
        os.remove(os.path.join(self.dataset, "shard-000000.dvt"))  # what the work would meet first
        path = self.path("nowhere", "file")
        plan = ("--world", "1", "--batch", "1")
        for command in (("inspect", self.dataset, "--html"), ("plan", self.dataset, *plan, "--svg"),
                        ("plan", self.dataset, *plan, "--save"), ("read", self.dataset, *ONE_RANK, "--state-out"),
                        ("read", self.dataset, *ONE_RANK, "--timeline")):
            with self.subTest(command=command):
                self.assert_fails(IO, *command, path, says=[path, "the folder '", "create it first"])

    def test_an_index_of_a_folder_or_of_a_pattern(self):
        self.assert_fails(USAGE, "index", self.dataset, says=[self.dataset, "this is a folder", "*.tfrecord"])
        self.assert_fails(USAGE, "index", self.path("*.tfr"), says=[self.path("*.tfr"), "no file matches"])
        for name in ("a.tfr", "b.tfr"):
            write_file(self.path(name), tfrecord(make_records(20, seed=23)))
        indexed = run_json("index", self.path("*.tfr"), self.path("b.tfr"))["files"]
        self.assertEqual([file["index"] for file in indexed], [self.path(f"{name}.tfr.dvi") for name in "ab"])

    def test_an_index_that_cannot_be_written_names_a_way_out(self):
        def no_file_may_grow():
            resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

        source = write_file(self.path("a.tfrecord"), tfrecord(make_records(20, seed=23)))
        done = run("index", source, preexec_fn=no_file_may_grow)
        self.assertEqual(done.returncode, IO, done.stderr)
        self.assertIn(f"{source}.dvi:", done.stderr.decode())
        self.assertIn("the index must lie beside its file; link the file into a folder that can be written, "
                      "and index the link", done.stderr.decode())
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("a.")], ["a.tfrecord"])

    def test_addresses_are_no_files(self):
        away = "s3://bucket/name"
        read = ("read", self.dataset, *ONE_RANK)
        for command in (("index", away), ("merge", away), ("recover", away, self.path("to")),
                        ("recover", self.dataset, away), (*read, "--from-state", away), (*read, "--ids", away),
                        (*read, "--state-out", away), ("inspect", self.dataset, "--html", away),
                        ("convert", self.folder, "--labels", "--classes", away, "--to", self.path("to"))):
            with self.subTest(command=command):
                self.assert_fails(USAGE, *command, says=[away, "this is a remote address"])

    def test_standard_input_and_folders_are_no_files(self):
        for command in ("cat", "inspect"):
            self.assert_fails(USAGE, command, "-", says="`... | dovetail convert - --to DIR`")
        self.assert_fails(IO, "read", self.dataset, *ONE_RANK, "--from-state", self.dataset, says="this is a folder")

    def test_an_empty_value_is_named(self):
        read = ("read", self.dataset, *ONE_RANK)
        plan = ("plan", self.dataset, "--world", "1", "--batch", "1")
        convert = ("convert", self.dataset, "--to", self.path("to"))
        for command, options in ((read, ("--from-state", "--state-out", "--ids", "--timeline", "--columns")),
                                 (plan, ("--save", "--svg", "--plan", "--check-digests")),
                                 (convert, ("--schema", "--dataset-id", "--record-type", "--include", "--range")),
                                 (("inspect", self.dataset), ("--html",)), (("cat",), ("PATH",)),
                                 (("recover", self.dataset), ("DST",)), (("convert", "--to", "x"), ("SRC",))):
            for option in options:
                with self.subTest(command=command[0], option=option):
                    given = (option, "") if option.startswith("-") else ("",)
                    self.assert_fails(USAGE, *command, *given, says=f"error: {option} is empty\n")

    def test_usage_errors_are_one_line(self):
        for arguments, says in (((self.dataset + "a\nb",), "a\\nb'"), (("read", "--x\ny"), "--x\\ny of"),
                                (("read", self.dataset, "--order", "x\ny"), "not 'x\\ny'"),
                                (("read", self.dataset, "--batch", "\u200b1"), "'\\u200b1' is not a whole number")):
            with self.subTest(arguments=arguments):
                message = self.assert_fails(USAGE, *arguments, says=says)
                self.assertEqual(len(message.splitlines()), 2, message)

    def test_a_launcher_whose_variables_contradict_each_other(self):
        done = run("read", self.dataset, "--batch", "1", env={"RANK": "5", "WORLD_SIZE": "2"})
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("RANK", done.stderr.decode())

    def test_ranges_that_make_no_sense(self):
        for text in ("", "9:3", "a:b", "-1:4", "1:2:3"):
            with self.subTest(range=text):
                self.assert_fails(USAGE, "cat", self.dataset, f"--range={text}", says="range")
        source = self.dataset + ".tfrecord"
        for path in (self.dataset, source):
            for text, number in (("101:", 101), ("100", 100), ("1000", 1000)):
                with self.subTest(path=path, range=text):
                    self.assert_fails(USAGE, "cat", path, f"--range={text}",
                                      says=[f"record {number} does not exist", "there are only 100 records"])
        self.assert_fails(USAGE, "inspect", self.dataset, "--record", "100", says="100")

    def test_command_lines_that_make_no_sense(self):
        for arguments in (("fly",), ("plan",), ("plan", self.dataset), ("read", self.dataset, "--batch", "many"),
                          ("cat", self.dataset, "--colour"), ("verify",)):
            with self.subTest(arguments=arguments):
                done = run(*arguments)
                self.assertEqual((done.returncode, done.stdout), (USAGE, b""))
                self.assertTrue(done.stderr.startswith(b"dovetail: error: "))


if __name__ == "__main__":
    main()
