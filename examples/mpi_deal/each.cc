// SPDX-License-Identifier: Apache-2.0
#include "each.h"

#include <utility>

namespace deal {

namespace {

class OwnRows final : public RowSource {
 public:
  explicit OwnRows(Batches batches) : batches_(std::move(batches)) {}

  std::optional<Rows> next() override {
    batch_.reset();
    batch_ = batches_.next();
    if (!batch_.has_value()) return std::nullopt;
    return Rows{batch_->offsets(), batch_->ids(), batch_->status(), batch_->values()};
  }

 private:
  Batches batches_;
  std::optional<dovetail::Batch> batch_;
};

}  // namespace

std::unique_ptr<RowSource> read_own_rows(const mpi_job::Job& job, const Settings& settings) {
  const auto ranks = dovetail::RankContext::from_environment().value();
  const auto lanes = static_cast<std::uint32_t>(job.world());
  return std::make_unique<OwnRows>(Batches(open_reader(settings, ranks, settings.batch, lanes), settings.epochs));
}

}  // namespace deal
