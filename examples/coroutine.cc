// SPDX-License-Identifier: Apache-2.0
// Two ranks of one program as coroutines of Asio on one thread: neither blocks it while it waits
// for a batch.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <string>

#include <dovetail/dovetail.h>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace asio = boost::asio;

namespace {

void write(const std::string& folder) {
  auto writer = dovetail::DatasetWriter::create(folder, {.shard_bytes = 32 * 1024}).value();
  for (int i = 0; i < 10'000; ++i) writer.append("record " + std::to_string(i)).value();
  writer.finish().value();
}

dovetail::BatchReader open_rank(const std::string& folder, std::uint32_t rank) {
  dovetail::ReaderOptions options;
  options.ranks = {.rank = rank, .world = 2};
  options.plan.batch = 32;
  return dovetail::BatchReader::open(folder, options).value();
}

// [coroutine]
// One epoch. A failure is a system_error; `reader.error()` has file and offset.
asio::awaitable<std::uint64_t> train(dovetail::BatchReader& reader) {
  std::uint64_t bytes = 0;
  for (;;) {
    std::optional<dovetail::Batch> batch = co_await reader.async_next(asio::use_awaitable);
    if (!batch) co_return bytes;  // the end of the epoch, at the same step on every rank
    for (const std::span<const std::byte> row : *batch) bytes += row.size();
  }
}
// [coroutine]

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  try {
    write(argv[1]);
    asio::io_context context;  // before the readers: it must exist as long as their requests
    dovetail::BatchReader readers[] = {open_rank(argv[1], 0), open_rank(argv[1], 1)};
    int failed = 0;
    for (dovetail::BatchReader& reader : readers) {
      asio::co_spawn(context, train(reader), [&failed](const std::exception_ptr& failure, std::uint64_t bytes) {
        if (failure) ++failed;
        if (!failure) std::printf("%llu bytes in the epoch of a rank\n", static_cast<unsigned long long>(bytes));
      });
    }
    context.run();
    for (const dovetail::BatchReader& reader : readers) {
      if (const auto error = reader.error()) std::fprintf(stderr, "%s\n", error->to_string().c_str());
    }
    return failed == 0 ? 0 : 1;
  } catch (const dovetail::Exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
