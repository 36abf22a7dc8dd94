// SPDX-License-Identifier: Apache-2.0
// An ETL job: links the writer, and so neither Asio nor CUDA.
#include <cstdio>
#include <string>

#include <dovetail/dataset_writer.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  auto writer = dovetail::DatasetWriter::create(argv[1]).value();
  for (int i = 0; i < 1000; ++i) writer.append(dovetail::as_bytes(std::to_string(i))).value();
  const dovetail::DatasetInfo info = writer.finish().value();
  std::printf("wrote %llu records\n", static_cast<unsigned long long>(info.shards.at(0).records));
}
