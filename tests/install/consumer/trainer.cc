// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <dovetail/batch_reader.h>
#include <dovetail/convert.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  // Something of every library, so that each is linked.
  if (dovetail::RecordSource::open(argv[1]).has_error()) return 1;
  dovetail::ReaderOptions options;
  options.plan.batch = 100;
  auto reader = dovetail::BatchReader::open(dovetail::Dataset::open(argv[1]).value(), options).value();
  unsigned long long records = 0;
  for (dovetail::Batch& batch : reader.epoch()) records += batch.valid();
  std::printf("read %llu records\n", records);
}
