// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/use_future.hpp>

#include <dovetail/completion.h>

#include "reader/delivery/rank_reader.h"
#include "reader/delivery/reader_setup.h"

namespace dovetail::test {

/// Puts a storage in front of the one that the options ask for.
using WrapStorage = std::function<std::unique_ptr<detail::Storage>(std::unique_ptr<detail::Storage>)>;

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
