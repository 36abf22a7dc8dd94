// SPDX-License-Identifier: Apache-2.0
#include "writer/shard_output.h"

#include <string>
#include <utility>

#include <boost/system/errc.hpp>

#include "format/try.h"

namespace dovetail::detail {

namespace {
constexpr std::size_t kWriteBytes = std::size_t{1} << 20;
// Frees a buffer that one huge record has enlarged.
constexpr std::size_t kKeptBufferBytes = 8 * kWriteBytes;
}  // namespace

ShardOutput::ShardOutput(OutputFile file, const DatasetId& dataset_id, std::uint32_t shard_number)
    : file_(std::move(file)), encoder_(dataset_id, shard_number) {}

Result<ShardOutput> ShardOutput::create(std::shared_ptr<const OutputFolder> folder, const std::string& name,
                                        const DatasetId& dataset_id, std::uint32_t shard_number,
                                        const format::Metadata& metadata) {
  DOVETAIL_ASSIGN(auto file, OutputFile::create(std::move(folder), name));
  ShardOutput shard(std::move(file), dataset_id, shard_number);
  if (auto begun = shard.encoder_.begin(metadata, shard.buffer_); !begun) {
    return begun.error().in_file(shard.file_.path());
  }
  return shard;
}

Result<void> ShardOutput::add(const format::EncodedBlock& block) {
  if (auto added = encoder_.add(block, buffer_); !added) return added.error().in_file(file_.path());
  return buffer_.size() >= kWriteBytes ? flush() : Result<void>();
}

Result<void> ShardOutput::flush() {
  Result<void> written = file_.write(buffer_);
  if (buffer_.capacity() > kKeptBufferBytes) buffer_ = std::vector<std::byte>();
  buffer_.clear();
  return written;
}

Result<FinishedShard> ShardOutput::finish(const ShardCut& cut) {
  if (encoder_.records() != cut.records) {
    return Error(boost::system::errc::make_error_code(boost::system::errc::state_not_recoverable),
                 std::to_string(encoder_.records()) + " of " + std::to_string(cut.records) + " records were written")
        .in_file(file_.path());
  }
  ShardInfo info = encoder_.finish(cut.run_records, cut.fingerprint, buffer_);
  DOVETAIL_TRY(flush());
  info.name = file_.name();
  return FinishedShard{std::move(file_), std::move(info)};
}

}  // namespace dovetail::detail
