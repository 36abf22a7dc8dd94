// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include "reader/storage/storage.h"

namespace dovetail::detail {

namespace {

class PreadPool final : public Storage {
 public:
  explicit PreadPool(unsigned threads) : pool_(threads) {}
  ~PreadPool() override { stop(); }

  void read(const InputFile& file, std::uint64_t offset, std::span<std::byte> into, ReadHandler done) override {
    boost::asio::post(
        pool_, [&file, offset, into, done = std::move(done)]() mutable { std::move(done)(file.read(offset, into)); });
  }

  boost::asio::any_io_executor blocking_executor() override { return pool_.get_executor(); }

  void stop() override { pool_.join(); }

 private:
  boost::asio::thread_pool pool_;
};

}  // namespace

std::unique_ptr<Storage> make_pread_pool(unsigned threads) {
  return std::make_unique<PreadPool>(threads);
}

}  // namespace dovetail::detail
