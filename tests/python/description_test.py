#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What shards and datasets say of themselves."""

import os

import dovetail
from fixtures import ErrorTest, damage_record, main, np

ID = "0123456789abcdef" * 2


class DescriptionTest(ErrorTest):
    def test_of_a_dataset(self):
        path = self.make_dataset(run_records=16, dataset_id=ID, record_type="mine", metadata={"who": "me"},
                                 codec="snappy")
        dataset = dovetail.Dataset(path)
        about = dataset.describe()
        sizes = [len(record) for record in self.records]
        self.assertEqual((about.path, about.records, about.raw_bytes, about.min_record_bytes, about.max_record_bytes),
                         (path, 400, sum(sizes), min(sizes), max(sizes)))
        self.assertEqual((about.dataset_id, about.record_type, about.metadata, about.schema, about.features),
                         (ID, "mine", {"who": "me"}, None, {}))
        self.assertEqual((about.has_manifest, about.tfrecord, about.fingerprint), (True, False, dataset.fingerprint))
        self.assertEqual([shard.name for shard in about.shards], [shard.name for shard in dataset.shards])
        self.assertEqual(about.file_bytes, sum(map(os.path.getsize, dataset.shard_paths)))
        self.assertEqual(about.stored_bytes, sum(shard.stored_bytes for shard in about.shards))
        self.assertEqual(about.blocks, sum(shard.blocks for shard in about.shards))
        self.assertEqual(sum(about.codecs.values()), about.blocks)
        self.assertGreater(about.codecs["snappy"], 0)
        self.assertTrue(about.writer.startswith("dovetail ") and about.version[0] == 1)
        self.assertEqual(dovetail.Dataset(os.path.join(path, "*.dvt")).describe().has_manifest, False)

    def test_of_a_dataset_without_records(self):
        with dovetail.DatasetWriter(self.path("none")):
            pass
        about = dovetail.Dataset(self.path("none")).describe()
        self.assertEqual((about.records, about.min_record_bytes, about.max_record_bytes, about.features), (0, 0, 0, {}))

    def test_features_are_those_of_the_first_records(self):
        image = np.zeros(4, np.uint8)
        examples = [dovetail.example(image=image, label=1), dovetail.example(image=image, score=0.5)]
        late = dovetail.example(late=1)
        found = {"image": "bytes_list", "label": "int64_list", "score": "float_list"}
        for name, records, features in (
                ("examples", examples + [late] * 62, {**found, "late": "int64_list"}),
                ("late", examples * 32 + [late], found), ("among others", [b'{"a": 1}', *examples], found),
                ("lines", [b"a line"] * 3, {})):
            with dovetail.DatasetWriter(self.path(name), schema="label:i64=-1", check_schema=False) as writer:
                writer.extend(records[:1])
                writer.next_shard()
                writer.extend(records[1:])
            about = dovetail.Dataset(self.path(name)).describe()
            self.assertEqual(about.features, features, name)
            self.assertEqual(about.schema, "label:i64=-1")

    def test_damaged_records_hide_no_more_than_features(self):
        records = [dovetail.example(label=i) for i in range(10)]
        with dovetail.DatasetWriter(self.path("data"), codec="none") as writer:
            writer.extend(records)
        dataset = dovetail.Dataset(self.path("data"))
        damage_record(dataset.shard_paths[0], records[3])
        about = dataset.describe()
        self.assertEqual((about.records, about.features), (10, {}))

    def test_of_shards_that_are_not_there_or_others(self):
        dataset = dovetail.Dataset(self.make_dataset())
        shards = dataset.shard_paths
        os.replace(shards[0], shards[2])
        self.check(dovetail.MissingFileError, dataset.describe, path=shards[0])
        os.replace(shards[1], shards[0])
        for opened in (dataset, dovetail.Dataset(dataset.path)):
            self.check(dovetail.DamagedError, opened.describe, path=shards[0],
                       code=dovetail.ErrorCode.manifest_mismatch, says="not the one that the dataset lists")

    def test_of_a_shard(self):
        path = self.make_dataset(shards=2, dataset_id=ID)
        about = dovetail.describe(dovetail.Dataset(path).shard_paths[1])
        self.assertEqual((about["info"].records, about["shard_number"], about["dataset_id"]), (200, 1, ID))
        self.check(dovetail.UsageError, dovetail.describe, path, path=path, says="Dataset(path).describe()",
                   code=dovetail.ErrorCode.invalid_option)


if __name__ == "__main__":
    main()
