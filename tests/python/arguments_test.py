#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is asked for and cannot be had: the error names it, and what can be had instead."""

import dovetail
from fixtures import ErrorTest, damage_record, main, write_dataset


class ColumnTest(ErrorTest):
    def test_columns_that_the_records_do_not_have(self):
        examples = [dovetail.example(image=b"x" * 4, label=i) for i in range(40)]
        lines = [b'{"label": %d}' % i for i in range(40)]
        cases = ((examples, "labl:i64", ('only "image" (bytes_list), "label" (int64_list)', "labl:i64=-1")),
                 (examples, "image:i64[3]", ('column "image"',)), (examples, "label:bytes", ("int64_list",)),
                 (lines, "label:i64", ("JSON", "tf.train.Example")))
        for number, (records, columns, says) in enumerate(cases):
            dataset = dovetail.Dataset(write_dataset(self.path(f"data{number}"), records, shards=1, codec="none"))
            shard = dataset.shard_paths[0]
            self.check(dovetail.UsageError, self.open_reader(dataset, columns=columns).next, path=shard,
                       code=dovetail.ErrorCode.invalid_option, says=says)
            for record in records:
                damage_record(shard, record)
            self.check(dovetail.DamagedError, self.open_reader(dataset, columns=columns).next, path=shard,
                       code=dovetail.ErrorCode.payload_checksum)


if __name__ == "__main__":
    main()
