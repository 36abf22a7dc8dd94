// SPDX-License-Identifier: Apache-2.0
#include <dovetail/batch_reader.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "format/guard_memory.h"
#include "format/moved_from.h"
#include "format/process_mark.h"
#include "format/try.h"
#include "reader/delivery/rank_reader.h"
#include "reader/delivery/reader_setup.h"
#include "reader/handover/requests.h"

namespace dovetail {

/// Owns the `RankReader`. Asynchronous calls in progress share ownership.
class BatchReader::Impl {
 public:
  explicit Impl(detail::ReaderSetup setup) : reader(std::make_shared<detail::RankReader>(std::move(setup))) {}
  const detail::ProcessMark process;
  const std::shared_ptr<detail::RankReader> reader;
};

Result<BatchReader> BatchReader::open(const Dataset& dataset, const ReaderOptions& options) try {
  DOVETAIL_ASSIGN(detail::ReaderSetup setup, detail::set_up(dataset, options));
  auto impl = std::make_shared<Impl>(std::move(setup));
  DOVETAIL_TRY(impl->reader->start());
  return BatchReader(std::move(impl));
} catch (const std::exception& failure) {  // no memory, no more threads
  return detail::error_from(failure);
}

Result<BatchReader> BatchReader::open(const std::string& path, const ReaderOptions& options) {
  DOVETAIL_ASSIGN(const Dataset dataset, Dataset::open(path));
  return open(dataset, options);
}

BatchReader::BatchReader(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
BatchReader::BatchReader(BatchReader&&) noexcept = default;

BatchReader& BatchReader::operator=(BatchReader&& other) noexcept {
  if (this != &other) {
    close();
    impl_ = std::move(other.impl_);
  }
  return *this;
}

BatchReader::~BatchReader() {
  close();
}

void BatchReader::close() noexcept {
  if (impl_ != nullptr && impl_->process.forked()) return detail::leave_alone(std::move(impl_));
  stop();
}

const Plan& BatchReader::plan() const noexcept {
  return impl_->reader->plan();
}
State BatchReader::state() const {
  return impl_->reader->state();
}
std::uint64_t BatchReader::plan_checksum() const noexcept {
  return impl_->reader->plan_checksum();
}
bool BatchReader::registered() const noexcept {
  return impl_->reader->ring().registered();
}
std::size_t BatchReader::slab_bytes() const noexcept {
  return impl_->reader->slab_bytes();
}
Result<std::optional<Batch>> BatchReader::next() {
  if (impl_ == nullptr) return detail::moved_from();
  if (impl_->process.forked()) return impl_->process.error();
  return impl_->reader->next();
}
Result<std::optional<Batch>> BatchReader::next(std::chrono::milliseconds patience) {
  if (impl_ == nullptr) return detail::moved_from();
  if (impl_->process.forked()) return impl_->process.error();
  constexpr std::chrono::milliseconds kLongest = std::chrono::hours(24 * 365);
  const auto bounded = std::clamp(patience, std::chrono::milliseconds(0), kLongest);  // avoids overflow
  return impl_->reader->next(detail::StallClock::Clock::now() + bounded);
}
void BatchReader::start_next(Handler handler) {
  if (impl_ == nullptr || impl_->process.forked()) {
    using Request = detail::AsyncRequest<Batch>;
    return Request::complete(std::make_shared<Request>(std::move(handler)), *error());
  }
  // The handler may destroy this reader on another thread while this thread is still in the call.
  const std::shared_ptr<Impl> alive = impl_;
  alive->reader->async_next(std::move(handler));
}
std::optional<Error> BatchReader::error() const {
  if (impl_ == nullptr) return detail::moved_from();
  if (impl_->process.forked()) return impl_->process.error();
  return impl_->reader->error();
}
ReaderStats BatchReader::stats() const {
  return impl_->reader->stats();
}

void BatchReader::stop() {
  // The handler of a request that `stop` ends may destroy this reader on another thread.
  const std::shared_ptr<Impl> alive = impl_;
  if (alive != nullptr && !alive->process.forked()) alive->reader->stop();
}

}  // namespace dovetail
