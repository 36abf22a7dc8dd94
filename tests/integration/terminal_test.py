#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""On a terminal: long listings go through a pager, and there are colours; nowhere else."""

import json
import os
import pty
import re
import shutil
import sys
import unittest

from support import (COMMAND, DAMAGED, GOOD, CommandTest, flip_byte, main, make_records, read_file, run, run_good,
                     start, write_file)

ESCAPE = "\x1b["


def on_terminal(*arguments, errors=False, closed_input=False, **environment):
    """Runs the command with a terminal of its own as standard input and output; gives the exit code and what it shows,
    with `errors` also standard error, which is apart otherwise. None takes a variable away."""
    variables = {**os.environ, "TERM": "xterm"}
    for name in ("PAGER", "DOVETAIL_PAGER", "LESS", "NO_COLOR"):
        variables.pop(name, None)
    variables.update({name: value for name, value in environment.items() if value is not None})
    for name in (name for name, value in environment.items() if value is None):
        variables.pop(name, None)
    process, terminal = pty.fork()
    if process == 0:
        if not errors:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
        if closed_input:
            os.close(sys.stdin.fileno())
        os.execvpe(COMMAND, [COMMAND, *map(str, arguments)], variables)
    shown = b""
    while True:
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:  # the other side is closed
            data = b""
        if not data:
            break
        shown += data
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return code, shown.decode(errors="replace").replace("\r\n", "\n")


class TerminalTest(CommandTest):
    MARK = "sed s/^/page:/"

    def setUp(self):
        super().setUp()
        self.dataset = self.make_dataset(make_records(400, seed=330), shards=2)

    def assert_paged(self, shown):
        self.assertTrue(shown and all(line.startswith("page:") for line in shown.splitlines()), shown[:500])

    def listing(self, *flags, **environment):
        return on_terminal("inspect", self.dataset, "--blocks", *flags, **environment)

    def test_listings_go_through_the_pager_whole(self):
        code, shown = self.listing(PAGER=self.MARK, NO_COLOR="1")
        self.assertEqual(code, GOOD)
        self.assert_paged(shown)
        self.assertEqual(shown.replace("page:", ""), run_good("inspect", self.dataset, "--blocks").decode())
        self.assert_paged(on_terminal("inspect", self.dataset, "--record", 3, PAGER=self.MARK)[1])

    def test_records_that_can_be_read_are_paged_and_bytes_are_not(self):
        for flags in (("--format", "hex"), ("--format", "json"), ("--json",)):
            self.assert_paged(on_terminal("cat", self.dataset, *flags, PAGER=self.MARK)[1])
        for form in ("raw", "tfrecord"):
            os.mkdir(self.path(form))
            write_file(self.path(form, "pager"), f"#!/bin/sh\ntouch {self.path(form, 'called')}\nexec cat\n".encode())
            os.chmod(self.path(form, "pager"), 0o755)
            source = write_file(self.path("lines"), b"one\n")
            run_good("convert", source, "--from", "lines", "--to", self.path(form, "data"))
            self.assertEqual(on_terminal("cat", self.path(form, "data"), "--format", form,
                                         PAGER=self.path(form, "pager"))[0], GOOD)
            self.assertFalse(os.path.exists(self.path(form, "called")))

    def test_nothing_that_was_packed_reaches_a_terminal_raw(self):
        hostile = "\x1b[2J\x9b31m\u202e\r"
        source = write_file(self.path("a" + hostile), b"one\x1b[2Jtwo\xc2\x9b31m\xe2\x80\xae\n")
        packed = self.path("packed")
        pack = ("--from", "lines", "--to", packed, "--record-type", hostile, "--meta", f"{hostile}={hostile}")
        outputs = [on_terminal("convert", source, *pack)]
        os.rename(f"{packed}/shard-000000.dvt", self.path("s" + hostile + ".dvt"))
        shard = self.path("s" + hostile + ".dvt")
        outputs += [on_terminal(command, shard, *flags, PAGER="cat")
                    for command, *flags in (("inspect",), ("cat",), ("cat", "--format", "json"), ("cat", "--json"),
                                            ("inspect", "--json"), ("inspect", "--record", "0"), ("verify",),
                                            ("plan", "--world", "1", "--batch", "1", "--json"),
                                            ("show", "--world", "1", "--batch", "1", "--step", "0"),
                                            ("show", "--world", "1", "--batch", "1", "--step", "0", "--cat"))]
        flip_byte(shard, 200)
        outputs += [on_terminal(command, shard, PAGER="cat") for command in ("verify", "inspect")]
        for code, shown in outputs[:-2]:
            self.assertEqual(code, GOOD, shown)
        for _, shown in outputs:
            self.assertTrue(shown)
            for raw in ("\x1b[2J", "\x9b", "\u202e", "\r"):
                self.assertNotIn(raw, shown)
        done = run("cat", self.path("gone" + hostile))
        self.assertIn("\\x1b[2J\\u009b31m\\u202e\\r", done.stderr.decode())

    def test_records_that_are_no_text_are_shown_as_json_or_digits(self):
        source = write_file(self.path("lines"), b"\xff\xfe\n")
        run_good("convert", source, "--from", "lines", "--to", self.path("bytes"))
        self.assertEqual(on_terminal("cat", self.path("bytes"), PAGER="cat"), (GOOD, "fffe\n"))
        self.assertEqual(run_good("cat", self.path("bytes")), b"\xff\xfe\n")
        table = write_file(self.path("t.csv"), b"n\n7\n")
        run_good("convert", table, "--to", self.path("examples"))
        shown = on_terminal("cat", self.path("examples"), PAGER="cat")[1]
        self.assertEqual(json.loads(shown), {"feature": {"n": [7]}})

    def test_the_pager_of_this_program_comes_first(self):
        self.assert_paged(self.listing(DOVETAIL_PAGER=self.MARK, PAGER="cat")[1])
        self.assertNotIn("page:", self.listing(DOVETAIL_PAGER="cat", PAGER=self.MARK)[1])
        self.assertNotIn("page:", self.listing(DOVETAIL_PAGER="", PAGER=self.MARK)[1])

    def test_paging_can_be_switched_off(self):
        plain = run_good("inspect", self.dataset, "--blocks").decode()
        for flags, pager in ((("--no-pager",), self.MARK), ((), "cat"), ((), "")):
            self.assertEqual(self.listing(*flags, PAGER=pager, NO_COLOR="1"), (GOOD, plain))
        self.assertNotIn("page:", self.listing("--json", PAGER=self.MARK)[1])

    def test_without_the_pager_everything_is_written(self):
        plain = run_good("inspect", self.dataset, "--blocks").decode()
        self.assertEqual(self.listing(PAGER="there-is-no-such-pager -x", NO_COLOR="1"), (GOOD, plain))
        self.assertEqual(self.listing(PATH=self.path("nowhere"), NO_COLOR="1"), (GOOD, plain))

    def test_a_closed_standard_input_costs_no_output(self):
        plain = run_good("inspect", self.dataset, "--blocks").decode()
        code, shown = self.listing(closed_input=True, PAGER=self.MARK, NO_COLOR="1")
        self.assertEqual((code, shown.replace("page:", "")), (GOOD, plain))

    def test_less_is_the_default_with_git_s_options(self):
        write_file(self.path("less"), b"#!/bin/sh\necho \"less with $LESS\"\nexec /bin/cat\n")
        os.chmod(self.path("less"), 0o755)
        path = f"{self.folder}:{os.environ['PATH']}"
        self.assertTrue(self.listing(PATH=path)[1].startswith("less with FRX\n"))
        self.assertTrue(self.listing(PATH=path, LESS="-i")[1].startswith("less with -i\n"))

    @unittest.skipUnless(shutil.which("less"), "less is not installed")
    def test_less_ends_by_itself_where_all_fits(self):
        source = write_file(self.path("lines"), b"one\ntwo\n")
        run_good("convert", source, "--from", "lines", "--to", self.path("small"))
        code, shown = on_terminal("cat", self.path("small"), PAGER="less")
        self.assertEqual(code, GOOD)
        self.assertEqual(re.findall("one|two", shown), ["one", "two"])

    def test_quitting_the_pager_early_is_no_error(self):
        big = self.make_dataset([b"x" * 1000] * 3000, name="big")
        code, shown = on_terminal("cat", big, PAGER="head -n 1")
        self.assertEqual((code, shown), (GOOD, "x" * 1000 + "\n"))

    def test_the_exit_code_stays(self):
        data = read_file(self.dataset + "/shard-000000.dvt")
        cut = write_file(self.path("cut.dvt"), data[:-64])
        self.assertEqual(on_terminal("inspect", cut, PAGER=self.MARK)[0], DAMAGED)

    def test_colours_are_for_terminals_that_want_them(self):
        for environment in ({"PAGER": "cat"}, {"PAGER": self.MARK}, {"PAGER": "cat", "NO_COLOR": ""}):
            self.assertIn(ESCAPE, self.listing(**environment)[1])
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}, {"PAGER": self.MARK, "LESS": "-i"}):
            self.assertNotIn(ESCAPE, self.listing(**{"PAGER": "cat", **environment})[1])
        self.assertNotIn(ESCAPE, self.listing("--json")[1])
        coloured = self.listing(PAGER="cat")[1]
        self.assertEqual(re.sub(r"\x1b\[[0-9]*m", "", coloured),
                         run_good("inspect", self.dataset, "--blocks").decode())

    def test_neither_warnings_nor_results_go_on_in_the_line_of_progress(self):
        os.mkdir(self.path("sparse"))
        for i in range(24):
            with open(self.path("sparse", f"{i}.bin"), "wb") as file:
                file.truncate(32 << 20)  # long enough for a line of progress
        os.symlink("nowhere", self.path("sparse", "dangling"))
        code, shown = on_terminal("inspect", self.path("sparse"), errors=True, NO_COLOR="1", PAGER="cat")
        self.assertEqual(code, GOOD, shown)
        self.assertRegex(shown, r"(^|\n|\x1b\[K)dovetail: warning: .*sparse: left out: 1 link that leads nowhere\n")
        code, shown = on_terminal("convert", self.path("sparse"), "--to-tfrecord", self.path("out.tfrecord.gz"),
                                  "--include", "2?.bin", errors=True)
        self.assertEqual(code, GOOD, shown)
        self.assertRegex(shown, r"(^|\n|\x1b\[K)first file +.*out.tfrecord.gz\n")

    def test_a_pipe_gets_neither(self):
        process = start("inspect", self.dataset, env={**os.environ, "PAGER": self.MARK, "TERM": "xterm"})
        shown = process.communicate(timeout=60)[0].decode()
        self.assertNotIn(ESCAPE, shown)
        self.assertNotIn("page:", shown)


if __name__ == "__main__":
    main()
