#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion in the shells themselves, and man pages without a warning, both with all that `--help` lists."""

import os
import pty
import re
import select
import shutil
import subprocess
import time
import unittest

from support import COMMAND, USAGE, CommandTest, main, run_good

NAME = os.path.basename(COMMAND)


def help_of(*command):
    """With defaults as CLI11 writes them before 2.4, `--jobs N=0`; later it writes `--jobs N [0]`."""
    return re.sub(r"^(  --[a-z-]+ [^ \n]+) \[([^]\n]*)\]", r"\1=\2", run_good(*command, "--help").decode(),
                  flags=re.MULTILINE)


def subcommands():
    return re.findall(r"^  ([a-z]+) ", help_of().split("Subcommands:")[1].split("Exit codes")[0], re.MULTILINE)


def flags_of(command):
    """(flag, the words that it takes) of a subcommand, from its help."""
    flags = re.findall(r"^  (--[a-z-]+)(?: ([^ \n]+))?", help_of(command), re.MULTILINE)
    return [(flag, value.split("=")[0].split("|") if "|" in value else []) for flag, value in flags]


def needs(program):
    return unittest.skipUnless(shutil.which(program), f"{program} is not installed")


class CompletionTest(CommandTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("a folder"))
        for name in ("a file", "another"):
            open(self.path(name), "w", encoding="ascii").close()
        self.script = {}
        for shell, name in (("bash", "dovetail"), ("zsh", "_dovetail"), ("fish", "dovetail.fish")):
            self.script[shell] = self.path(shell, name)
            os.mkdir(self.path(shell))
            with open(self.script[shell], "wb") as file:
                file.write(run_good("completion", shell))

    def shell(self, *command):
        done = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                              text=True, env={**os.environ, "HOME": self.folder, "LC_ALL": "C.UTF-8"})
        self.assertEqual((done.returncode, done.stderr), (0, ""), command)
        return done.stdout.splitlines()

    def bash(self, *words):
        """What bash would offer for the last word."""
        script = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dovetail; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        lines = self.shell("bash", "--norc", "-c", script, "bash", self.script["bash"], "dovetail", *words)
        return sorted(filter(None, lines))

    def fish(self, line):
        lines = self.shell("fish", "--no-config", "-c", f"source '{self.script['fish']}'; complete -C \"$argv\"",
                           f"dovetail {line}")
        return sorted(line.split("\t")[0] for line in lines)

    def check(self, offered):
        """The same questions for every shell that can be asked; `offered` takes all words but the program's."""
        self.assertEqual([name for name in offered("") if not name.startswith("-")], sorted(subcommands()))
        self.assertEqual(offered("co"), ["completion", "convert"])
        self.assertEqual(offered("completion", "z"), ["zsh"])
        self.assertEqual(offered("convert", "--jobs", ""), [])
        for command in subcommands():
            flags = flags_of(command)
            self.assertLessEqual({flag for flag, _ in flags}, set(offered(command, "--")), command)
            for flag, words in flags:
                if words:
                    self.assertEqual(offered(command, flag, ""), sorted(words), (command, flag))
                    self.assertEqual(offered(command, flag, words[0][:-1]),
                                     sorted(word for word in words if word.startswith(words[0][:-1])))

    @needs("bash")
    def test_bash_offers_all_that_the_help_lists(self):
        self.check(self.bash)
        self.assertEqual(self.bash("inspect", "a"), ["a file", "a folder", "another"])
        self.assertEqual(self.bash("convert", "--to", "a"), ["a folder"])
        self.assertEqual(self.bash("convert", "--codec", "=", "s"), ["snappy"])
        self.assertEqual(self.bash("convert", "--codec", "="), ["none", "snappy", "zstd"])

    @needs("fish")
    def test_fish_offers_all_that_the_help_lists(self):
        self.check(lambda *words: self.fish(" ".join(words)))
        self.assertEqual(self.fish("inspect a"), ["a file", "a folder/", "another"])
        self.assertEqual(self.fish("convert --to a"), ["a folder/"])
        self.assertEqual(self.fish("convert --codec=s"), ["--codec=snappy"])

    def zsh(self, keys):
        """What stands in a line of an interactive zsh after the keys have been typed."""
        part, got = self.path("part"), self.path("got")
        setup = (f"PS1=; fpath=('{self.path('zsh')}' $fpath); autoload -Uz compinit; "
                 f"compinit -u -d '{self.path('dump')}'; "
                 f"dovetail() {{ print -rN -- \"$@\" >'{part}'; mv '{part}' '{got}' }}; print RE''ADY\n")
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "HOME": self.folder, "TERM": "dumb", "LC_ALL": "C"})
        try:
            os.write(terminal, setup.encode())
            self.read_until(terminal, lambda screen: b"READY" in screen)
            os.write(terminal, keys.encode() + b"\r")
            self.read_until(terminal, lambda _: os.path.exists(got))
        finally:
            os.close(terminal)
            os.waitpid(process, 0)
        with open(got, encoding="ascii") as file:
            words = file.read().split("\0")[:-1]
        os.remove(got)
        return words

    def read_until(self, terminal, enough):
        screen = b""
        deadline = time.monotonic() + 60
        while not enough(screen):
            self.assertLess(time.monotonic(), deadline, screen)
            if select.select([terminal], [], [], 0.05)[0]:
                screen += os.read(terminal, 4096)
        return screen

    @needs("zsh")
    def test_zsh_completes_what_is_typed(self):
        for keys, line in (("dovetail ins\t", ["inspect"]),
                           ("dovetail convert --codec sn\t", ["convert", "--codec", "snappy"]),
                           ("dovetail convert --codec=no\t", ["convert", "--codec=none"]),
                           ("dovetail convert --cod\t", ["convert", "--codec"]),
                           ("dovetail completion zs\t", ["completion", "zsh"]),
                           ("dovetail inspect ano\t", ["inspect", "another"]),
                           ("dovetail convert --to a\t", ["convert", "--to", "a folder"])):
            with self.subTest(keys=keys):
                self.assertEqual([word for word in self.zsh(keys) if word], line)

    @needs("zsh")
    def test_zsh_has_every_flag_and_word(self):
        self.shell("zsh", "-f", "-n", self.script["zsh"])
        with open(self.script["zsh"], encoding="ascii") as file:
            text = file.read()
        for command in subcommands():
            part = text.split(f"\n        {command})\n")[1].split(";;")[0]
            for flag, words in flags_of(command):
                self.assertIn(flag, part)
                self.assertTrue(not words or f":({' '.join(words)})" in part, (command, flag))

    def test_an_unknown_shell_is_refused(self):
        self.assert_fails(USAGE, "completion", "tcsh", says=["tcsh", "bash, zsh or fish"])
        self.assert_fails(USAGE, "completion", says="SHELL")


class ManPageTest(CommandTest):
    def setUp(self):
        super().setUp()
        run_good("man", "--all", self.path("man1"))
        self.pages = {name: self.path("man1", name) for name in sorted(os.listdir(self.path("man1")))}

    def test_every_subcommand_has_a_page(self):
        self.assertEqual(set(self.pages), {"dovetail.1"} | {f"dovetail-{name}.1" for name in subcommands()})
        for name, path in self.pages.items():
            command = name[:-2].split("-")[1:]
            with open(path, "rb") as file:
                self.assertEqual(run_good("man", *command), file.read())

    @needs("groff")
    def test_groff_has_no_warning(self):
        for path in self.pages.values():
            done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", "-rLL=78n", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (0, b""), path)

    @needs("man")
    def test_man_shows_all_that_the_help_lists(self):
        for name, path in self.pages.items():
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", path], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=60, text=True,
                                  env={**os.environ, "MANWIDTH": "500", "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"})
            self.assertEqual((done.returncode, done.stderr), (0, ""), path)
            shown = re.sub(r"[\s|]+", "", done.stdout)
            command = name[:-2].split("-")[1:]
            for word in re.split(r"[\s=|]+", help_of(*command).split("Options:")[1].split("Exit codes")[0]):
                if word not in ("REQUIRED", "Excludes:", "-h,--help", "Subcommands:", "Positionals:"):
                    self.assertIn(word.replace(":", "").lower(), shown.replace(":", "").lower(), name)


if __name__ == "__main__":
    main()
