#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`scripts/demo.py` ends with a verdict that it has really checked."""

import os
import stat
import subprocess
import sys

from support import COMMAND, CommandTest, gzip_bytes, main, make_records, tfrecord, write_file

DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "demo.py")

# Stands in for the command and spoils what it says: a verdict that is checked has to notice.
LIAR = """#!/usr/bin/env python3
import subprocess, sys
done = subprocess.run([{command!r}, *sys.argv[1:]], stdout=subprocess.PIPE)
if sys.argv[1] == "read" and "--rank" in sys.argv and sys.argv[sys.argv.index("--rank") + 1] == "1":
    path = sys.argv[sys.argv.index("--ids") + 1]
    lines = open(path).readlines()
    {lie}
    open(path, "w").writelines(lines)
sys.stdout.buffer.write(done.stdout)
sys.exit(done.returncode)
"""


class DemoTest(CommandTest):
    def demo(self, *flags, command=COMMAND):
        return subprocess.run([sys.executable, DEMO, "--command", command, *flags], stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.STDOUT, timeout=300)

    def make_files(self):
        os.mkdir(self.path("files"))
        for i, record in enumerate(make_records(300, seed=60)):
            write_file(self.path("files", f"{i:03}"), record)
        return self.path("files")

    def test_a_folder_of_files(self):
        folder = self.make_files()
        for tail in ("drop", "pad", "wrap"):
            done = self.demo("--data", folder, "--tail", tail, "--batch", "7")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("GOOD:", done.stdout)

    def test_tfrecord_files(self):
        one = write_file(self.path("a.tfrecord"), tfrecord(make_records(150, seed=61)))
        two = write_file(self.path("b.tfrecord.gz"), gzip_bytes(tfrecord(make_records(150, seed=62))))
        done = self.demo("--data", one, two, "--world", "3", "--keep", self.path("kept"))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(os.path.exists(self.path("kept", "manifest.dvt")))

    def test_lies_are_found_out(self):
        folder = self.make_files()
        lies = {"a row is lost": "lines.pop()", "a row comes twice": "lines[1] = lines[1][:3] + lines[0][3:]",
                "a row is empty": "lines[3] = '0 3 -1 -1 0\\n'"}
        for name, lie in lies.items():
            with self.subTest(lie=name):
                liar = write_file(self.path("liar"), LIAR.format(command=COMMAND, lie=lie).encode())
                os.chmod(liar, stat.S_IRWXU)
                done = self.demo("--data", folder, command=liar)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("WRONG:", done.stdout)

    def test_a_failing_command_fails_the_demo(self):
        self.assertNotEqual(self.demo("--data", self.path("nothing")).returncode, 0)


if __name__ == "__main__":
    main()
