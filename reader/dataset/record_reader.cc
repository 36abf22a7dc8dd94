// SPDX-License-Identifier: Apache-2.0
#include <dovetail/record_reader.h>

#include <utility>

#include "format/guard_memory.h"
#include "format/moved_from.h"
#include "format/try.h"
#include "reader/dataset/block_loader.h"
#include "reader/dataset/shard_file.h"

namespace dovetail {

class RecordReader::Impl {
 public:
  Impl(detail::ShardFile file, ShardDescription description)
      : file_(std::move(file)), description_(std::move(description)) {}

  const ShardDescription& shard() const noexcept { return description_; }
  std::uint64_t position() const noexcept { return position_; }

  Result<std::optional<ByteView>> next() {
    if (failure_) return *failure_;
    if (position_ == file_.info().records) return std::optional<ByteView>();
    if (position_ < loaded_begin_ || position_ >= loaded_end_) {
      const auto load = [this] { return load_block(file_.block_of(position_)); };
      if (auto loaded = detail::guard_memory(file_.file().path(), load); !loaded) {
        failure_ = loaded.error();
        return *failure_;
      }
    }
    const auto row = static_cast<std::uint32_t>(position_++ - loaded_begin_);
    return std::optional<ByteView>(records_[row]);
  }

  Result<void> seek(std::uint64_t record) {
    if (record > file_.info().records) {
      return Error(Errc::invalid_option, "record = " + std::to_string(record) + ": the shard has records [0, " +
                                             std::to_string(file_.info().records) + ")")
          .in_file(file_.file().path());
    }
    position_ = record;
    failure_.reset();
    return {};
  }

  LostRange skip_damage() {
    LostRange lost{.file = file_.file().path(),
                   .offset = failure_offset(),
                   .first_record = position_,
                   .end_record = position_,
                   .reason = {}};
    if (!failure_ || failure_->kind() != ErrorKind::damaged) return lost;
    const std::size_t block = file_.block_of(position_);
    lost.offset = file_.blocks()[block].offset;
    lost.first_record = file_.first_record(block);
    lost.end_record = file_.first_record(block + 1);
    position_ = lost.end_record;
    failure_.reset();
    return lost;
  }

 private:
  Result<void> load_block(std::size_t block) {
    loaded_begin_ = loaded_end_ = 0;
    DOVETAIL_ASSIGN(auto records, loader_.load(file_, block));
    records_ = records;
    loaded_begin_ = file_.first_record(block);
    loaded_end_ = file_.first_record(block + 1);
    return {};
  }

  std::uint64_t failure_offset() const noexcept { return failure_ ? failure_->offset().value_or(0) : 0; }

  detail::ShardFile file_;
  ShardDescription description_;
  detail::BlockLoader loader_;
  format::BlockRecords records_;
  std::uint64_t loaded_begin_ = 0;  // range of the records in `records_`; none if both are equal
  std::uint64_t loaded_end_ = 0;
  std::uint64_t position_ = 0;
  std::optional<Error> failure_;
};

namespace {

Result<ShardDescription> describe_open(const Result<detail::ShardFile>& file) {
  if (!file) return file.error();
  return detail::describe(*file);
}

}  // namespace

Result<RecordReader> RecordReader::open(const std::string& path) {
  return detail::guard_memory(path, [&]() -> Result<RecordReader> {
    auto file = detail::ShardFile::open(path);
    DOVETAIL_ASSIGN(auto description, describe_open(file));
    return RecordReader(std::make_unique<Impl>(std::move(*file), std::move(description)));
  });
}

Result<RecordReader> RecordReader::open(const Dataset& dataset, std::uint32_t shard) {
  return detail::guard_memory(dataset.path(), [&]() -> Result<RecordReader> {
    auto file = detail::open_shard(dataset, shard);
    DOVETAIL_ASSIGN(auto description, describe_open(file));
    return RecordReader(std::make_unique<Impl>(std::move(*file), std::move(description)));
  });
}

RecordReader::RecordReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RecordReader::RecordReader(RecordReader&&) noexcept = default;
RecordReader& RecordReader::operator=(RecordReader&&) noexcept = default;
RecordReader::~RecordReader() = default;

const ShardDescription& RecordReader::shard() const noexcept {
  return impl_->shard();
}
std::uint64_t RecordReader::position() const noexcept {
  return impl_->position();
}
Result<std::optional<ByteView>> RecordReader::next() {
  return impl_ != nullptr ? impl_->next() : detail::moved_from();
}
Result<void> RecordReader::seek(std::uint64_t record) {
  return impl_ != nullptr ? impl_->seek(record) : detail::moved_from();
}
LostRange RecordReader::skip_damage() {
  return impl_->skip_damage();
}

}  // namespace dovetail
