// SPDX-License-Identifier: Apache-2.0
// Writes a shard or a dataset until it is killed.
#include <string>
#include <string_view>

#include <dovetail/dataset_writer.h>
#include <dovetail/record_writer.h>

namespace {

template <class Writer>
int write_forever(Writer writer) {
  const std::string record(10'000, 'x');
  while (writer.append(dovetail::as_bytes(record))) {
  }
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (argv[1] == std::string_view("shard")) return write_forever(dovetail::RecordWriter::create(argv[2]).value());
  dovetail::DatasetWriterOptions options{.shard_bytes = 1 << 20};
  return write_forever(dovetail::DatasetWriter::create(argv[2], options).value());
}
