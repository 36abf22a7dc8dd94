// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/use_future.hpp>

#include <dovetail/completion.h>

#include "reader/delivery/rank_reader.h"
#include "reader/delivery/reader_setup.h"

namespace dovetail::test {

/// Puts a storage in front of the one that the options ask for.
using WrapStorage = std::function<std::unique_ptr<detail::Storage>(std::unique_ptr<detail::Storage>)>;

/// Hands everything on to the storage behind it.
class StorageInFront : public detail::Storage {
 public:
  explicit StorageInFront(std::unique_ptr<Storage> inner) : inner_(std::move(inner)) {}
  ~StorageInFront() override { inner_->stop(); }

  void call(const std::string& path, Call work, CallHandler done) override {
    inner_->call(path, std::move(work), std::move(done));
  }
  Result<bool> try_read(const detail::InputFile& file, std::uint64_t offset, detail::ReadInto into) override {
    return inner_->try_read(file, offset, into);
  }
  void read(const detail::InputFile& file, std::uint64_t offset, detail::ReadInto into, ReadHandler done) override {
    inner_->read(file, offset, into, std::move(done));
  }
  const detail::StorageFacts& facts() const noexcept override { return inner_->facts(); }
  void stop() override { inner_->stop(); }

 private:
  const std::unique_ptr<Storage> inner_;
};

/// A running engine that reads through a storage of the test. Errors: those of opening a reader.
inline Result<std::unique_ptr<detail::RankReader>> open_engine(const Dataset& dataset, const ReaderOptions& options,
                                                               const WrapStorage& wrap) {
  Result<detail::ReaderSetup> setup = detail::set_up(dataset, options);
  if (!setup.has_value()) return setup.error();
  setup->storage = wrap(std::move(setup->storage));
  auto engine = std::make_unique<detail::RankReader>(std::move(*setup));
  engine->start().value();
  return engine;
}

/// `BatchReader::async_next` of an engine.
template <class CompletionToken>
auto async_next(detail::RankReader& engine, CompletionToken&& token) {
  return boost::asio::async_initiate<CompletionToken, BatchReader::NextSignature>(
      [&engine](auto handler) {
        engine.async_next(detail::ReadyQueue::Handler(detail::never_inside(std::move(handler))));
      },
      token);
}

}  // namespace dovetail::test
