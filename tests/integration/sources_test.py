#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sources written by other programs' libraries, Python's tarfile, csv, json and gzip, become the records they hold."""

import csv
import gzip
import io
import json
import os
import struct
import tarfile
import unittest

from support import (DAMAGED, GOOD, IO, USAGE, CommandTest, gzip_bytes, main, make_records, read_file, run, run_good,
                     run_json, tfrecord, write_file)

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    descriptor_pb2 = None


def example_class():
    """tf.train.Example, its messages written down anew."""
    file = descriptor_pb2.FileDescriptorProto(name="example.proto", package="t", syntax="proto3")
    field = descriptor_pb2.FieldDescriptorProto

    def message(name, *fields):
        made = file.message_type.add(name=name)
        for number, (field_name, kind, label, type_name) in enumerate(fields, 1):
            made.field.add(name=field_name, number=number, type=kind, label=label, type_name=type_name)
        return made

    one, many = field.LABEL_OPTIONAL, field.LABEL_REPEATED
    message("BytesList", ("value", field.TYPE_BYTES, many, None))
    message("FloatList", ("value", field.TYPE_FLOAT, many, None))
    message("Int64List", ("value", field.TYPE_INT64, many, None))
    message("Feature", ("bytes_list", field.TYPE_MESSAGE, one, ".t.BytesList"),
            ("float_list", field.TYPE_MESSAGE, one, ".t.FloatList"),
            ("int64_list", field.TYPE_MESSAGE, one, ".t.Int64List"))
    features = message("Features", ("feature", field.TYPE_MESSAGE, many, ".t.Features.FeatureEntry"))
    entry = features.nested_type.add(name="FeatureEntry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=field.TYPE_STRING, label=one)
    entry.field.add(name="value", number=2, type=field.TYPE_MESSAGE, label=one, type_name=".t.Feature")
    message("Example", ("features", field.TYPE_MESSAGE, one, ".t.Features"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.MessageFactory(pool).GetPrototype(pool.FindMessageTypeByName("t.Example"))


def parse(record):
    example = example_class()()
    example.ParseFromString(record)
    return {name: list(getattr(feature, kind).value) for name, feature in example.features.feature.items()
            for kind in ("bytes_list", "float_list", "int64_list") if feature.HasField(kind)}


class SourcesTest(CommandTest):
    def records_of(self, source, *flags):
        """What a conversion packs, in order; a few shards, so that ranges of the source are read apart."""
        target = self.path("packed")
        run_good("convert", source, "--to", target, "--shards", 3, "--overwrite", *flags)
        lines = run_good("cat", target, "--format", "hex").decode("ascii").split("\n")
        return [bytes.fromhex(line) for line in lines[:-1]]

    def write_tar(self, name, mode, members, **options):
        with tarfile.open(self.path(name), mode, **options) as tar:
            for member, data in members:
                info = tarfile.TarInfo(member)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
        return self.path(name)

    @unittest.skipUnless(descriptor_pb2, "python3-protobuf is not installed")
    def test_tars_of_every_dialect(self):
        members = [(f"{'long/' * 60}{i}.{part}", f"{i} {part}".encode() * i)
                   for i in range(40) for part in ("jpg", "seg.PNG", "cls")]
        for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            taken = members if form != tarfile.USTAR_FORMAT else [(name.replace("long/", "s"), data)
                                                                  for name, data in members]
            for name, mode in (("a.tar", "w"), ("a.tar.gz", "w:gz")):
                with self.subTest(form=form, name=name):
                    source = self.write_tar(name, mode, taken, format=form)
                    records = [parse(record) for record in self.records_of(source)]
                    expected = [{"__key__": [taken[i][0].rsplit(".jpg", 1)[0].encode()], "jpg": [taken[i][1]],
                                 "seg.png": [taken[i + 1][1]], "cls": [taken[i + 2][1]]}
                                for i in range(0, len(taken), 3)]
                    self.assertEqual(records, expected)

    def test_a_cut_tar_and_a_skipped_rest(self):
        source = self.write_tar("cut.tar", "w", [(f"{i}.txt", b"x" * 2000) for i in range(10)])
        os.truncate(source, 2560 * 4 + 700)
        self.assert_fails(DAMAGED, "convert", source, "--to", self.path("t"), says=f"{source}:")
        done = run("convert", source, "--to", self.path("t"), "--on-error", "skip", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        summary = json.loads(done.stdout)
        self.assertEqual((summary["records"], summary["skipped"]), (4, 1))
        self.assertIn(b"warning: skipped the rest of the file", done.stderr)

    def test_members_of_a_key_that_are_not_adjacent_are_told(self):
        sorted_by_type = [(f"{i}.{extension}", b"%d" % i) for extension in ("jpg", "cls", "txt") for i in range(4)]
        for shards in (1, 3):
            with self.subTest(shards=shards):
                tar = self.write_tar("types.tar", "w", sorted_by_type)
                again = self.write_tar("again.tar", "w", [("0.jpg", b""), ("0.cls", b"1"), ("1.jpg", b"")])
                report = run_json("convert", again, tar, "--to", self.path("t"), "--shards", shards, "--overwrite")
                self.assertEqual(report["records"], 2 + 12)
                notes = [note for note in report["notes"] if "adjacent" in note]
                self.assertEqual(notes, ['8 records have a key that an earlier record of the same tar has: "0" in '
                                         f"{tar}; members of a key must be adjacent, as `tar --sort=name` stores them"])

    @unittest.skipUnless(descriptor_pb2, "python3-protobuf is not installed")
    def test_csv_as_python_writes_it(self):
        rows = [(f'say "{i}",\r\nthen', i * 10 ** 15 - 7, i / 4, f"0{i}") for i in range(50)]
        for name, dialect in (("a.csv", "excel"), ("a.tsv", "excel-tab"), ("b.csv", "unix")):
            with self.subTest(name=name), open(self.path(name), "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, dialect)
                writer.writerow(("text", "i", "f", "code"))
                writer.writerows(rows)
            expected = [{"text": [text.encode()], "i": [i], "f": [f], "code": [code.encode()]}
                        for text, i, f, code in rows]
            self.assertEqual([parse(record) for record in self.records_of(self.path(name))], expected)

    def test_a_text_among_numbers_is_told(self):
        rows = b"a,b,c,d\n" + b"1,2.5,3,4\n" * 3
        source = write_file(self.path("a.csv"), rows + b'x,\x1b,"1\n2",z\n')
        convert = ("convert", source, "--overwrite", "--to", self.path("packed"))
        (note,) = run_json(*convert)["notes"]
        self.assertEqual(note, f'a is bytes because of "x" in line 5 of {source}, b is bytes because of "\x1b" in line '
                               f'5 of {source}, c is bytes because of "1\n2" in line 5 of {source} and 1 more column; '
                               "--csv-null names values that mean a missing number, --csv-type sets the type of a "
                               "column")
        self.assertIn(f'\nnote: a is bytes because of "x" in line 5 of {source}, b is bytes because of "\\x1b" in ',
                      run_good(*convert).decode())
        done = run("convert", "-", "--from", "csv", "--json", "--overwrite", "--to", self.path("packed"),
                   input=b"a\n1\nx\n")
        self.assertIn('"x" in line 3 of (standard input);', json.loads(done.stdout)["notes"][0])
        write_file(source, rows)
        self.assertEqual(run_json(*convert)["notes"], [])

    def test_a_ragged_row(self):
        source = write_file(self.path("a.csv"), b"a,b\n1,2\n3\n5,6\n")
        self.assert_fails(DAMAGED, "convert", source, "--to", self.path("t"), says=(f"{source}:8", "line 3"))
        summary = run_json("convert", source, "--to", self.path("t"), "--on-error", "skip")
        self.assertEqual((summary["records"], summary["skipped"]), (2, 1))

    def test_json_lines(self):
        values = [{"i": i, "text": "\u00e9\n" * i, "list": [None, True, 1e300]} for i in range(30)]
        lines = [json.dumps(value, ensure_ascii=i % 2 == 0).encode() for i, value in enumerate(values)]
        crlf = gzip.compress(b"\r\n".join(lines) + b"\r\n")
        for name, data in (("a.jsonl", b"\n".join(lines)), ("a.jsonl.gz", crlf)):
            self.assertEqual(self.records_of(write_file(self.path(name), data)), lines)
        bad = write_file(self.path("bad.jsonl"), lines[0] + b"\n{\n")
        self.assert_fails(DAMAGED, "convert", bad, "--to", self.path("t"), says="line 2")

    @unittest.skipUnless(descriptor_pb2, "python3-protobuf is not installed")
    def test_images_with_labels(self):
        pixels = [bytes([i]) * 6 for i in range(10)]
        os.mkdir(self.path("idx"))
        images = struct.pack(">HBBIII", 0, 8, 3, 10, 2, 3) + b"".join(pixels)
        write_file(self.path("idx", "t-images-idx3-ubyte.gz"), gzip_bytes(images))
        write_file(self.path("idx", "t-labels-idx1-ubyte"), struct.pack(">HBBI", 0, 8, 1, 10) + bytes(range(10)))
        self.assertEqual([parse(record) for record in self.records_of(self.path("idx"))],
                         [{"image": [pixels[i]], "label": [i]} for i in range(10)])
        for i in range(10):
            os.makedirs(self.path("tree", f"class{i % 3}"), exist_ok=True)
            write_file(self.path("tree", f"class{i % 3}", str(i)), pixels[i])
        found = [parse(record) for record in self.records_of(self.path("tree"), "--labels")]
        found.sort(key=lambda record: record["data"])
        self.assertEqual(found, [{"data": [pixels[i]], "label": [i % 3], "class": [b"class%d" % (i % 3)],
                                  "__key__": [b"class%d/%d" % (i % 3, i)]} for i in range(10)])

    def test_batches_of_columns_are_read_by_the_schema_that_a_source_gives(self):
        images = struct.pack(">HBBIII", 0, 8, 3, 10, 2, 3) + bytes(60)
        source = write_file(self.path("images-idx3-ubyte"), images)
        run_good("convert", source, "--to", self.path("packed"), "--dataset-id", "1" * 32)
        read = ("read", self.path("packed"), "--rank", "0", "--world", "1", "--batch", "5")
        found = run_json(*read, "--columns", "all")
        self.assertEqual((found["columns"], found["steps"], found["bytes"]), ("image:u8[2,3]", 2, 2 * 256))
        self.assertEqual(run_json(*read)["columns"], None)
        tree = self.path("features")
        lines = write_file(self.path("lines.jsonl"), b'{"a": 1, "b": [2.5, 3], "a b": "t"}\n' * 10)
        run_good("convert", lines, "--to", tree, "--records", "example")
        of_tree = ("read", tree, "--rank", "0", "--world", "1", "--batch", "5", "--columns")
        whole = run_json(*of_tree, "all")["columns"].split(", ")
        self.assertEqual(run_json(*of_tree, "b , a b")["columns"],
                         ", ".join(next(column for column in whole if column.startswith(start))
                                   for start in ("b:", '"a b":')))
        self.assertEqual(run_json(*of_tree, '"a b"')["columns"], whole[1])
        self.assert_fails(USAGE, *of_tree, "a,c", says='the schema has no column "c"; it has: ')
        for columns, says in (("label:i64", ('has no such feature, only "image" (bytes_list)', "such as label:i64=-1")),
                              ("image:u8[7]", ("6 values, expected 7",)), ("image:f32", ("6 bytes",))):
            self.assert_fails(USAGE, *read, "--columns", columns, says=(*says, "does not fit the columns"))
        found = run_json(*read, "--columns", "label:i64", "--on-damage", "empty")
        self.assertEqual((found["damaged_empty"], found["stats"]["unfit_records"]), (10, 10))
        self.assert_fails(USAGE, *read, "--columns", "image:u9", says="u9")
        plain = self.make_dataset([b"x"] * 5, "plain", 1)
        self.assert_fails(USAGE, "read", plain, "--rank", "0", "--world", "1", "--batch", "5", "--columns", "all",
                          says="names no columns")

    def test_hidden_files_are_no_classes_and_the_summary_has_the_numbers_of_the_others(self):
        for name in (*(f"c{i:02}" for i in range(12)), ".git"):
            os.makedirs(self.path("photos", name))
            write_file(self.path("photos", name, "1"), name.encode())
        write_file(self.path("photos", ".DS_Store"), b"junk")
        source = self.path("photos")
        summary = run_json("convert", source, "--labels", "--to", self.path("json"))
        self.assertEqual((summary["records"], summary["sources"][0]["left_out"]["hidden"]), (12, 2))
        self.assertEqual(summary["sources"][0]["classes"], [f"c{i:02}" for i in range(12)])
        text = run_good("convert", source, "--labels", "--to", self.path("text")).decode()
        self.assertRegex(text, r"classes +c00 0, c01 1, .*, c09 9, \.\.\.; 12 in all\n")
        self.assertRegex(text, r"left out +2 hidden")

    def test_what_is_no_record_of_a_folder_is_left_out_and_told(self):
        for name in ("cat/1.jpg", "cat/1.txt", "cat/Thumbs.db", "dog/raw/2.jpg", "dog/3.jpg", "labels.csv"):
            os.makedirs(os.path.dirname(self.path("photos", name)), exist_ok=True)
            write_file(self.path("photos", name), b"x")
        os.symlink("gone", self.path("photos", "dog", "4.jpg"))
        convert = ("convert", self.path("photos"), "--labels", "--exclude", "*.txt", "--exclude", "raw", "--to")
        summary = run_json(*convert, self.path("json"))
        self.assertEqual(summary["records"], 2)
        self.assertEqual(summary["sources"][0]["left_out"],
                         {"hidden": 0, "litter": 1, "dangling": 1, "special": 0, "excluded": 2, "unlabelled": 1})
        text = run_good(*convert, self.path("text")).decode()
        self.assertRegex(text, r"left out +1 file .* Thumbs.db; 1 link .*; 2 files .* by include .*; 1 file in no sub")
        metadata = run_json("inspect", self.path("json"))["metadata"]
        self.assertEqual(json.loads(metadata["dovetail.classes"]), ["cat", "dog"])
        text = run_good("inspect", self.path("json")).decode()
        self.assertRegex(text, r'meta dovetail.classes +\["cat","dog"\]\n')
        some = run_json("convert", self.path("photos"), "--include", "dog/*.jpg", "--to", self.path("some"))
        self.assertEqual(some["records"], 2)
        self.assertEqual(summary["notes"][:-1], [])
        notes = run_json(*convert, self.path("noted"), "--exclude", "cow", "--include", "*.jpg")["notes"]
        self.assertEqual(notes[0], "no file matches these patterns of --include and --exclude: cow")
        self.assert_fails(USAGE, "convert", self.path("photos", "labels.csv"), "--include", "*", "--to",
                          self.path("no"), says="a folder has")

    def test_files_that_have_lost_their_records_are_told(self):
        recordio = struct.pack("<II", 0xCED7230A, 4) + b"abcd"
        for there, data, emptied, code, says in (("a.rec", recordio, "b.idx", IO, "b.rec"),
                                                 ("a.csv", b"a,b\n1,2\n", "b.csv", USAGE, "the file is empty")):
            with self.subTest(there):
                os.makedirs(self.path(there + "-files"))
                write_file(self.path(there + "-files", there), data)
                write_file(self.path(there + "-files", emptied), b"")
                self.assert_fails(code, "convert", self.path(there + "-files"), "--to", self.path("no"), says=says)

    def test_classes_that_are_packed_one_after_the_other_are_told(self):
        for folder, of_class in (("photos", "cat"), ("photos", "dog"), ("one", "cow")):
            os.makedirs(self.path(folder, of_class))
            write_file(self.path(folder, of_class, "1"), b"x")
        convert = ("convert", self.path("photos"), "--labels", "--shards", 2, "--to")
        summary = run_json(*convert, self.path("json"))
        self.assertEqual(len(summary["notes"]), 1)
        note = summary["notes"][0]
        self.assertRegex(note, "one class after the other; --shuffle ")
        text = run_good(*convert, self.path("text")).decode()
        self.assertTrue(text.endswith("\nnote: " + note + "\n"), text)
        for source, flags in (("photos", ("--labels", "--shuffle", 1)), ("photos", ()), ("one", ("--labels",))):
            with self.subTest(source=source, flags=flags):
                quiet = ("convert", self.path(source), *flags, "--overwrite", "--to", self.path("quiet"))
                self.assertEqual(run_json(*quiet)["notes"], [])
                self.assertNotIn("note:", run_good(*quiet).decode())

    def test_empty_shards_are_told(self):
        source = write_file(self.path("a.txt"), b"1\n2\n3\n")
        convert = ("convert", source, "--overwrite", "--to", self.path("packed"), "--shards")
        self.assertEqual(run_json(*convert, 100)["notes"],
                         ["there are more shards than records, so at least 97 of 100 are empty; ask for fewer shards"])
        self.assertEqual(run_json(*convert, 3)["notes"], [])

    def test_runs_that_are_larger_than_was_aimed_at_are_told(self):
        small, large = [b"x" * 100] * 12000, [b"y" * 10000] * 240
        source = write_file(self.path("a.tfrecord"), tfrecord(small + large))
        convert = ("convert", source, "--overwrite", "--to", self.path("packed"))
        summary = run_json(*convert)
        self.assertEqual(len(summary["notes"]), 1)
        self.assertRegex(summary["notes"][0], r"^a run has 655 records: on average 188\.\d KiB; .*--run-records")
        self.assertTrue(run_good(*convert).decode().endswith(f"\nnote: {summary['notes'][0]}\n"))
        self.assertEqual(run_json(*convert, "--run-records", 655)["notes"], [])
        write_file(source, tfrecord(large))
        self.assertEqual(run_json(*convert)["notes"], [])

    def test_runs_that_are_shorter_than_was_aimed_at_are_told(self):
        source = write_file(self.path("a.tfrecord"), tfrecord([b"y" * 10000] * 120 + [b"x" * 1000] * 10000))
        convert = ("convert", source, "--overwrite", "--to", self.path("packed"))
        self.assertEqual(run_json(*convert)["notes"],
                         ["a run has 6 records: on average 6.5 KiB; convert with --run-records 59 for longer reads"])
        listing = run_good("inspect", self.path("packed")).decode()
        self.assertIn("6, on average 6.5 KiB; --run-records 59 makes reads longer\n", listing)
        self.assertEqual(run_json(*convert, "--run-records", 59)["notes"], [])
        self.assertNotIn("reads longer", run_good("inspect", self.path("packed")).decode())

    def test_classes_have_the_numbers_that_are_given(self):
        for name in ("cat", "dog"):
            os.makedirs(self.path("photos", name))
            write_file(self.path("photos", name, "1"), b"")
        convert = ("convert", self.path("photos"), "--labels", "--to", self.path("to"), "--classes")
        classes = write_file(self.path("classes"), b"\xef\xbb\xbfzebra\r\ndog\ncat")
        self.assertEqual(run_json(*convert, classes)["sources"][0]["classes"], ["zebra", "dog", "cat"])
        few = write_file(self.path("few"), b"dog\n")
        many = "".join(f"class {i:04}\n" for i in range(1000))
        run_good(*convert, write_file(self.path("many"), b"dog\ncat\n" + many.encode()), "--overwrite")
        text = run_good("inspect", self.path("to")).decode()
        self.assertRegex(text, r'meta dovetail.classes +\["dog","cat","class 0000",.{150,180}\.\.\. \(13\d{3} bytes; ')
        self.assert_fails(USAGE, *convert, few, "--overwrite", says=("photos/cat", "not the given class"))
        none = write_file(self.path("none"), b"")
        self.assert_fails(USAGE, *convert, none, "--overwrite", says="a class in each line")
        self.assert_fails(USAGE, *[word for word in (*convert, classes, "--overwrite") if word != "--labels"],
                          says="without labels")

    def test_the_summary_shows_what_the_source_was_taken_for(self):
        table = write_file(self.path("t.csv"), b"id,name,price\n1,a,0.5\n2,b,\n")
        text = run_good("convert", table, "--to", self.path("text")).decode()
        self.assertRegex(text, r"format +csv: id int64, name bytes, price real\n")
        summary = run_json("convert", table, "--to", self.path("json"))
        self.assertEqual(summary["sources"][0]["format"], "csv")
        self.assertEqual(summary["sources"][0]["columns"][2], {"name": "price", "type": "real"})
        done = run("read", self.path("json"), "--rank", "0", "--world", "1", "--batch", "2",
                   "--columns", "price:f32=-1")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_words_for_missing_numbers_are_those_that_are_given(self):
        table = write_file(self.path("t.csv"), b"id,price\n1,?\n2,NA\n3,0.5\n")
        for given, price in (((), "bytes"), (("-",), "bytes"), (("?",), "real")):
            flags = [flag for word in given for flag in ("--csv-null", word)]
            summary = run_json("convert", table, "--to", self.path("to" + "".join(given)), *flags)
            self.assertEqual(summary["sources"][0]["columns"][1], {"name": "price", "type": price}, given)

    def test_a_dataset_is_packed_anew_by_range_and_sample(self):
        records = make_records(500, seed=90)
        dataset = self.make_dataset(records, "dataset", 4, "--record-type", "words", "--meta", "a=b")
        self.assertEqual(self.records_of(dataset), records)
        self.assertEqual(self.records_of(dataset, "--range", "100:333"), records[100:333])
        shard = run_json("inspect", self.path("packed", "shard-000000.dvt"))
        self.assertIn("words", json.dumps(shard))
        half = self.records_of(dataset, "--sample", "0.5", "--sample-seed", "3")
        self.assertTrue(150 < len(half) < 350, len(half))
        self.assertEqual(self.records_of(dataset, "--sample", "0.5", "--sample-seed", "3"), half)
        self.assert_fails(USAGE, "convert", dataset, "--to", self.path("t"), "--sample", "2", says="sample")

    def test_cat_and_inspect_take_every_format(self):
        source = write_file(self.path("a.jsonl"), b'{"a":1}\n{"b":2}\n')
        self.assertEqual(run_good("cat", source), b'{"a":1}\n{"b":2}\n')
        self.assertEqual(run_good("cat", source, "--range", "1:"), b'{"b":2}\n')
        found = run_json("inspect", source)
        self.assertEqual((found["format"], found["records"]), ("jsonl", 2))

    def test_cat_and_inspect_tell_what_a_folder_lacks(self):
        os.mkdir(self.path("photos"))
        write_file(self.path("photos", "a"), b"x")
        os.symlink("gone", self.path("photos", "b"))
        for command in ("cat", "inspect"):
            done = run(command, self.path("photos"))
            self.assertEqual(done.returncode, GOOD)
            self.assertIn(b"left out: 1 link that leads nowhere", done.stderr)

    def test_shards_under_other_names_are_no_records(self):
        dataset = self.make_dataset(make_records(10, seed=5))
        shard = read_file(os.path.join(dataset, "shard-000000.dvt"))
        for name, content in (("SHARD.DVT", shard), ("x.dvt.gz", gzip_bytes(shard))):
            os.mkdir(self.path(name + "-in"))
            write_file(self.path(name + "-in", name), content)
            self.assert_fails(USAGE, "convert", self.path(name + "-in"), "--to", self.path("no"), says="NAME.dvt")
        self.assert_fails(USAGE, "convert", self.path("x.dvt.gz-in", "x.dvt.gz"), "--to", self.path("no"),
                          says="decompress it first")

    def test_options_that_a_format_does_not_have(self):
        source = write_file(self.path("a.tfrecord"), tfrecord([b"x"]))
        for flags, says in ((("--labels",), "labels"), (("--range", "0:1"), "range"), (("--csv-no-header",), "CSV"),
                            (("--csv-null", "?"), "CSV"),
                            (("--records", "example"), "Example"), (("--csv-type", "a=text"), "COLUMN="),
                            (("--csv-delimiter", "ab"), "one character")):
            with self.subTest(flags=flags):
                self.assert_fails(USAGE, "convert", source, "--to", self.path("t"), *flags, says=says)

    def test_a_single_image_asks_for_its_folder_or_a_tar(self):
        image = write_file(self.path("cat.jpg"), b"\xff\xd8\xff\xe0\x00\x10JFIF\x00" + bytes(range(256)) * 8)
        says = [image, "this is a JPEG image", "give the folder that holds the images", "or a tar"]
        for command in (("convert", image, "--to", self.path("t")), ("inspect", image), ("cat", image)):
            with self.subTest(command=command[0]):
                self.assert_fails(USAGE, *command, says=says)
        icon = write_file(self.path("icon.jpg"), b"\xff\xd8\xff\xe0\x00\x10JFIF\x00")  # shorter than a header
        for file in (image, icon):
            with self.subTest(file=file):
                self.assert_fails(DAMAGED, "convert", file, "--from", "tar", "--to", self.path("t"),
                                  says=[file, "this is not a tar", "give the folder"])

    def test_what_cannot_be_converted_says_what_to_do(self):
        lines = write_file(self.path("a.txt"), b"1\n")
        json_lines = write_file(self.path("a.jsonl"), b"{}\n")
        to = ("--to", self.path("t"))
        for arguments, says in (((lines, json_lines, *to), ("a.jsonl", "jsonl", "a.txt is lines", "each by itself")),
                                ((lines, *to, "--meta", "dovetail.classes=x"), "dovetail.classes"),
                                ((lines, "--to", json_lines), ("a.jsonl", "give another path")),
                                ((lines, "--to", json_lines, "--overwrite"), ("a.jsonl", "give another path")),
                                ((lines, "--to", "s3://bucket/t"), "this is a remote address"),
                                ((lines, "--to-tfrecord", "S3://bucket/t"), "this is a remote address"),
                                (("S3://bucket/t", *to), "aws s3 cp URL")):
            with self.subTest(arguments=arguments):
                self.assert_fails(USAGE, "convert", *arguments, says=says)
                self.assertFalse(os.path.exists(self.path("t")))


if __name__ == "__main__":
    main()
