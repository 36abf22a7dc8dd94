// SPDX-License-Identifier: Apache-2.0
#include "tests/soak/soak_work.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/support/sanitizers.h"

namespace dovetail::test {

namespace {

/// How one rank goes through its epoch.
struct Manner {
  bool async = false;
  std::optional<std::uint64_t> stop_at;  ///< A step at which the reader is dropped, and another one goes on.
  std::uint32_t held = 0;                ///< Batches that are kept while the next are asked for.
};

std::optional<Batch> next(BatchReader& reader, bool async) {
  if (!async) return reader.next().value();
  boost::asio::io_context context;
  std::future<std::optional<Batch>> batch =
      reader.async_next(boost::asio::bind_executor(context, boost::asio::use_future));
  context.run();
  return batch.get();
}

/// Reads up to the end of the epoch, or `steps` batches; false at the end.
bool read(const SoakData& data, BatchReader& reader, const Manner& manner, std::optional<std::uint64_t> steps,
          Delivered& delivered) {
  std::vector<Batch> held;
  for (std::uint64_t step = 0; !steps || step < *steps; ++step) {
    std::optional<Batch> batch = next(reader, manner.async);
    if (!batch) return false;
    check_batch(data, *batch, delivered);
    held.push_back(std::move(*batch));
    if (held.size() > manner.held) held.erase(held.begin());
  }
  return true;
}

Delivered read_rank(const SoakData& data, ReaderOptions options, const Manner& manner) {
  Delivered delivered;
  std::optional<BatchReader> reader = BatchReader::open(data.dataset, options).value();
  if (manner.stop_at && read(data, *reader, manner, manner.stop_at, delivered)) {
    options.state = State::from_text(reader->state().to_text()).value();
    reader.reset();
    reader = BatchReader::open(data.dataset, options).value();
  }
  read(data, *reader, manner, std::nullopt, delivered);
  return delivered;
}

std::uint64_t memory_for(StorageKind kind) {
  return kind == StorageKind::io_uring_direct ? 96 << 20 : 64 << 20;
}

/// Never freed, and still reachable: no checker of leaks finds that.
struct Lost {
  Lost* next;
  char bytes[64 - sizeof(Lost*)];
};
Lost* lost = nullptr;

}  // namespace

SoakWork::SoakWork(std::vector<SoakData> data, std::uint64_t seed, Leak leak)
    : data_(std::move(data)), seed_(seed), leak_(leak), random_(seed) {
  for (const StorageKind kind : {StorageKind::pread, StorageKind::io_uring_direct}) {
    ReaderOptions options{.plan = {.batch = 4}, .storage = kind};
    // ThreadSanitizer does not see that a ring's memory goes, and takes the next one at its place
    // for the same.
    if (kThreadSanitized && kind != StorageKind::pread) continue;
    if (BatchReader::open(data_.front().dataset, options).has_value()) kinds_.push_back(kind);
  }
  for (std::size_t i = 0; i < data_.size(); ++i) {
    ReaderOptions options = draw_options(data_[i]);
    options.ranks = {};
    options.plan.world = 1;
    options.plan.lanes = 0;
    options.plan.tail = Tail::pad;
    if (data_[i].name == "tiny") options.plan.batch = 1;  // thousands of batches in no time
    options.storage = kinds_[i % kinds_.size()];
    options.memory_bytes = memory_for(options.storage);
    BatchReader reader = BatchReader::open(data_[i].dataset, options).value();
    const Hash128 digest = reader.plan().epoch(0).value().digest();
    staying_.push_back({.reader = std::move(reader), .digest = digest});
  }
}

ReaderOptions SoakWork::draw_options(const SoakData& data) {
  ReaderOptions options{.ranks = {.world = static_cast<std::uint32_t>(1 + below(3))}};
  options.plan.world = options.ranks.world;
  options.plan.batch = static_cast<std::uint32_t>(1 + below(data.hashes.size() < 200 ? 8 : 64));
  options.plan.order = static_cast<OrderKind>(below(3));
  options.plan.tail = static_cast<Tail>(below(3));
  options.plan.lanes = below(2) == 0 ? 0 : options.plan.world * options.plan.batch;
  options.plan.pool = static_cast<std::uint32_t>(1 + below(300));
  options.plan.seed = below(1000);
  options.on_damage = below(2) == 0 ? OnDamage::substitute : OnDamage::empty;
  options.oversize = Oversize::spill;
  options.columns = data.columns;
  options.storage = kind();
  options.memory_bytes = memory_for(options.storage) + (below(4) << 20);
  options.decode_threads = static_cast<unsigned>(1 + below(3));
  options.io_threads = static_cast<unsigned>(1 + below(4));
  return options;
}

void SoakWork::read_world(const SoakData& data) {
  const ReaderOptions options = draw_options(data);
  const EpochPlan plan = Plan::make(data.dataset.shape(), options.plan).value().epoch(0).value();
  const bool together = below(2) == 0;
  std::vector<std::future<Delivered>> ranks;
  for (std::uint32_t rank = 0; rank < options.ranks.world; ++rank) {
    ReaderOptions own = options;
    own.epochs = 1;
    own.ranks.rank = rank;
    Manner manner{.async = below(2) == 0, .stop_at = {}, .held = static_cast<std::uint32_t>(below(2))};
    if (below(2) == 0) manner.stop_at = below(plan.steps() + 1);
    readers_ += manner.stop_at ? 2 : 1;
    ranks.push_back(std::async(together ? std::launch::async : std::launch::deferred,
                               [&data, own, manner] { return read_rank(data, own, manner); }));
  }
  Delivered world;
  for (std::future<Delivered>& rank : ranks) world += rank.get();
  if (world.batches != plan.steps() * options.ranks.world) {
    throw std::runtime_error(data.name + ": " + std::to_string(world.batches) + " batches instead of " +
                             std::to_string(plan.steps() * options.ranks.world));
  }
  if (world.digest != plan.digest()) throw std::runtime_error(data.name + ": the ids are not those of the plan");
  delivered_ += world;
  ++epochs_;
}

void SoakWork::drop_somewhere(const SoakData& data) {
  ReaderOptions options = draw_options(data);
  options.ranks.rank = static_cast<std::uint32_t>(below(options.ranks.world));
  std::optional<BatchReader> reader = BatchReader::open(data.dataset, options).value();
  ++readers_;
  const Manner manner{.async = below(2) == 0, .stop_at = {}, .held = 1};
  read(data, *reader, manner, below(6), delivered_);
  const std::optional<Batch> held = reader->next().value();
  const bool stops = below(2) == 0;
  boost::asio::io_context context;
  if (below(2) == 0) {
    reader->async_next(boost::asio::bind_executor(context, [](boost::system::error_code, std::optional<Batch>) {}));
  }
  if (stops) reader->stop();
  reader.reset();
  context.run();
  if (held) check_batch(data, *held, delivered_);
}

void SoakWork::read_staying(std::size_t i) {
  Staying& staying = staying_[i];
  Delivered epoch;
  read(data_[i], staying.reader, Manner{}, std::nullopt, epoch);
  if (epoch.digest != staying.digest) {  // padded: every record once in every epoch
    throw std::runtime_error(data_[i].name + ": epoch " + std::to_string(staying.epoch) +
                             " of the reader that stays has other ids than planned");
  }
  ++staying.epoch;
  ++epochs_;
  delivered_ += epoch;
}

void SoakWork::leak_once() {
  if (::open("/dev/null", O_RDONLY | O_CLOEXEC) < 0) throw std::runtime_error("no descriptor is left to leak");
  // Every other one is writable, or the kernel would make one line of all.
  ::mmap(nullptr, 4096, rounds_ % 2 == 0 ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (::mlock(::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), page) != 0) {
    throw std::runtime_error("no memory is left to lock");
  }
  locked_ += static_cast<std::int64_t>(page);
  std::thread([] { ::pause(); }).detach();
}

void SoakWork::round() {
  random_.seed(seed_ + rounds_);
  const std::uint64_t batches_before = delivered_.batches;
  for (std::size_t i = 0; i < data_.size(); ++i) {
    read_world(data_[i]);
    drop_somewhere(data_[i]);
    read_staying(i);
  }
  if (leak_ == Leak::handles) leak_once();
  for (std::uint64_t i = batches_before; leak_ == Leak::bytes && i < delivered_.batches; ++i) {
    lost = new Lost{.next = lost, .bytes = {}};
  }
  ++rounds_;
}

}  // namespace dovetail::test
