# SPDX-License-Identifier: Apache-2.0
"""What the integration tests share: the command, data of their own, and real data where there is some."""

import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

COMMAND = os.environ.get("DOVETAIL_COMMAND", "dovetail")
TEST_DATA = os.environ.get("DOVETAIL_TEST_DATA", "")
SKIPPED = 77  # what ctest takes for "skipped"

GOOD, DAMAGED, USAGE, IO = 0, 1, 2, 3
FIRST, REPEATED, SUBSTITUTED, DAMAGED_EMPTY = 1, 2, 3, 4


def run(*arguments, **options):
    """Runs the command; gives the finished process with its output as bytes."""
    return subprocess.run([COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300,
                          **options)


def run_good(*arguments):
    done = run(*arguments)
    if done.returncode != GOOD:
        raise AssertionError(f"{arguments}: exit code {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def run_json(*arguments):
    return json.loads(run_good(*arguments, "--json"))


def start(*arguments, **options):
    return subprocess.Popen([COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def real_data(*names):
    """Path below the folder of real data; skips the test where it is not there."""
    path = os.path.join(TEST_DATA, *names)
    if not TEST_DATA or not os.path.exists(path):
        raise unittest.SkipTest(f"DOVETAIL_TEST_DATA names no folder with {'/'.join(names)}")
    return path


def crc32c_table():
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


CRC32C_TABLE = crc32c_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC32C_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def masked_crc(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecord(records):
    """The bytes of a TFRecord file."""
    parts = []
    for record in records:
        length = struct.pack("<Q", len(record))
        parts += [length, struct.pack("<I", masked_crc(length)), record, struct.pack("<I", masked_crc(record))]
    return b"".join(parts)


def gzip_bytes(data):
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def make_records(count, seed, longest=200):
    """Records of many lengths, empty ones among them; half compress well, half do not."""
    source = random.Random(seed)
    records = []
    for i in range(count):
        length = source.randrange(longest + 1)
        records.append(source.randbytes(length) if i % 2 else (b"%d " % i * length)[:length])
    return records


def write_file(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


def flip_byte(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)
        file.seek(offset)
        file.write(bytes([byte[0] ^ 0x40]))


def shard_shapes(dataset):
    """(records, run_records) of every shard."""
    return [(shard["records"], shard["run_records"]) for shard in run_json("inspect", dataset)["shards"]]


def read_ids(path):
    """(step, row, shard, record, status) of every line."""
    with open(path, encoding="ascii") as lines:
        return [tuple(map(int, line.split())) for line in lines]


class FolderTest(unittest.TestCase):
    """A test with a temporary folder of its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="dovetail-test-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, *names):
        return os.path.join(self.folder, *names)


class CommandTest(FolderTest):
    """A test of the command."""

    def make_dataset(self, records, name="dataset", shards=4, *flags):
        """Packs records, by way of a TFRecord file; small runs and blocks, so that there are many of them."""
        source = write_file(self.path(name + ".tfrecord"), tfrecord(records))
        run_good("convert", source, "--to", self.path(name), "--shards", shards, "--block-bytes", "1K", "--run-records",
                 16, *flags)
        return self.path(name)

    def assert_fails(self, code, *arguments, says=()):
        """The command fails with the code, on standard error alone, with an error that says what is asked for."""
        done = run(*arguments)
        message = done.stderr.decode()
        self.assertEqual(done.returncode, code, f"{arguments}: {message}")
        self.assertEqual(done.stdout, b"", f"{arguments}: standard output is not empty")
        errors = [line for line in message.splitlines() if not line.startswith("dovetail: warning: ")]
        self.assertTrue(errors and errors[0].startswith("dovetail: error: "), message)
        for word in [says] if isinstance(says, str) else says:
            self.assertIn(str(word), message)
        return message


def main():
    """Runs the tests of the calling module. All skipped is told to ctest as skipped."""
    result = unittest.main(exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    if result.testsRun > 0 and len(result.skipped) == result.testsRun:
        sys.exit(SKIPPED)
