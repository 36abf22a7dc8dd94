// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <exception>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>

#include "reader/delivery/engine.h"

namespace dovetail::detail {

template <class Job, class Then>
void Engine::on_worker(Job job, Then then) {
  boost::asio::post(workers_, [this, job = std::move(job), then = std::move(then)]() mutable {
    try {
      job();
    } catch (const std::exception& failure) {
      boost::asio::post(strand_, [this, what = std::string(failure.what())] { fail(Error::from_errno(ENOMEM, what)); });
      return;
    }
    boost::asio::post(strand_, [this, then = std::move(then)]() mutable {
      try {
        then();
      } catch (const std::exception& failure) {
        fail(Error::from_errno(ENOMEM, failure.what()));
      }
    });
  });
}

}  // namespace dovetail::detail
