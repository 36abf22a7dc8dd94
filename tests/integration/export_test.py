#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`dovetail convert --to-tfrecord`, decoded by other means than the library's."""

import gzip
import os
import struct
import zlib

from support import (GOOD, USAGE, CommandTest, main, make_records, read_file, run, run_good, run_json, tfrecord,
                     write_file)

TENSORFLOW_BLOCK = 262_144


def uncompress_snappy(block):
    """One raw Snappy stream, as its format description says."""
    length = shift = at = 0
    while True:
        byte = block[at]
        at += 1
        length |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    out = bytearray()
    while at < len(block):
        tag = block[at]
        at += 1
        if tag & 3 == 0:  # a literal
            size = tag >> 2
            if size >= 60:
                extra = size - 59
                size = int.from_bytes(block[at:at + extra], "little")
                at += extra
            out += block[at:at + size + 1]
            at += size + 1
            continue
        if tag & 3 == 1:
            size, offset = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | block[at]
            at += 1
        else:
            extra = 2 if tag & 3 == 2 else 4
            size, offset = (tag >> 2) + 1, int.from_bytes(block[at:at + extra], "little")
            at += extra
        if not 0 < offset <= len(out):
            raise ValueError("a copy from nowhere")
        for _ in range(size):
            out.append(out[-offset])
    if len(out) != length:
        raise ValueError("another length than promised")
    return bytes(out)


class ExportTest(CommandTest):
    def decode_stream(self, stream):
        out = []
        while stream:
            length = struct.unpack(">I", stream[:4])[0]
            self.assertLessEqual(length, min(len(stream) - 4, TENSORFLOW_BLOCK))
            out.append(uncompress_snappy(stream[4:4 + length]))
            self.assertLessEqual(len(out[-1]), TENSORFLOW_BLOCK)
            stream = stream[4 + length:]
        return b"".join(out)

    def test_every_compression_gives_the_records_back(self):
        records = make_records(400, seed=71) + [b"", b"x" * 300_000, os.urandom(1_200_000), b"last"]
        dataset = self.make_dataset(records, shards=3)
        decoders = {"none": bytes, "gzip": gzip.decompress, "zlib": zlib.decompress, "snappy": self.decode_stream}
        for compression, decode in decoders.items():
            with self.subTest(compression=compression):
                target = self.path(compression)
                made = run_json("convert", dataset, "--to-tfrecord", target, "--compression", compression)
                self.assertEqual((made["records"], len(made["files"])), (len(records), 3))
                self.assertEqual(sorted(os.listdir(target)), [os.path.basename(file) for file in made["files"]])
                self.assertEqual(b"".join(decode(read_file(file)) for file in made["files"]), tfrecord(records))

    def test_one_file_may_be_named(self):
        records = make_records(50, seed=72)
        source = write_file(self.path("source.tfrecord"), tfrecord(records))
        target = self.path("all.tfrecord.gz")
        self.assert_fails(USAGE, "convert", source, "--to-tfrecord", target, "--compression", "none",
                          says="implies gzip")
        run_good("convert", source, "--to-tfrecord", target)
        self.assertEqual(gzip.decompress(read_file(target)), tfrecord(records))
        run_good("convert", target, "--to", self.path("again"))
        self.assertEqual(run_good("cat", self.path("again"), "--format", "tfrecord"), tfrecord(records))

    def test_what_makes_no_sense_is_refused(self):
        dataset = self.make_dataset(make_records(50, seed=73))
        target = self.path("target")
        for flags in ([], ["--to", target, "--to-tfrecord", target], ["--to", target, "--compression", "gzip"],
                      ["--to-tfrecord", target, "--shuffle", "1"], ["--to-tfrecord", target, "--part", "0/2"],
                      ["--to-tfrecord", target, "--split", "a=0.5,b=0.5"], ["--to-tfrecord", target + ".tfrecord"]):
            self.assert_fails(USAGE, "convert", dataset, *flags)
        for flag in (["--codec", "snappy"], ["--meta", "a=b"], ["--schema", "a:i64"], ["--dataset-id", "0" * 32],
                     ["--record-type", "x"], ["--shard-bytes", "1M"], ["--block-bytes", "64K"], ["--run-bytes", "64K"],
                     ["--run-records", "5"], ["--memory", "1G"], ["--split-seed", "1"], ["--no-resume"]):
            self.assert_fails(USAGE, "convert", dataset, "--to-tfrecord", target, *flag,
                              says=f"{flag[0]} is for datasets and has no effect")
        self.assert_fails(USAGE, "convert", dataset, "--to-tfrecord", target, "--labels", says="labels")
        self.assertFalse(os.path.exists(target))
        self.assertEqual(run("convert", dataset, "--to-tfrecord", target).returncode, GOOD)
        self.assert_fails(USAGE, "convert", dataset, "--to-tfrecord", target, says="already exists")


if __name__ == "__main__":
    main()
