// SPDX-License-Identifier: Apache-2.0
#include "recover/shard_recovery.h"

#include <algorithm>
#include <utility>

#include <dovetail/record_reader.h>

#include "format/try.h"
#include "recover/lost_regions.h"

namespace dovetail::detail {

Result<ShardRecovery> ShardRecovery::find(const std::string& path, const ShardInfo* entry,
                                          std::optional<std::uint64_t> file_id, const CheckedBytes& checked) {
  auto file = SalvageFile::open(path);
  if (!file) return file.error();
  ShardRecovery shard(std::move(*file));
  shard.entry_ = entry;
  DOVETAIL_ASSIGN(auto scan,
                  scan_shard(shard.file_, entry != nullptr ? std::optional(entry->file_id) : file_id, checked));
  shard.scan_ = std::move(scan);
  if (!shard.scan_.anything() && shard.file_.read_error()) return *shard.file_.read_error();
  if (!shard.scan_.anything()) {
    return Error(Errc::not_dovetail,
                 entry == nullptr ? "no file header, trailer or block was found"
                                  : "no file header, trailer or block of the shard that the manifest names was found")
        .in_file(path);
  }
  DOVETAIL_TRY(shard.read_messages());
  if (entry != nullptr && shard.is_refuted(*entry)) {
    return Error(Errc::manifest_mismatch,
                 "another version of the shard, with records of its own; recover it by itself to save them")
        .in_file(path);
  }
  DOVETAIL_TRY(choose_blocks(shard.file_, shard.content_, checked, shard.scan_));
  return shard;
}

Result<std::optional<std::vector<std::byte>>> ShardRecovery::read_body(const FoundMessage& message) {
  std::vector<std::byte> body(message.header.body_bytes());
  DOVETAIL_ASSIGN(auto got, file_.read_at(message.position + format::kBlockHeaderBytes, body));
  if (got < body.size() || file_.is_unreadable(message.position, message.header.span_bytes())) return std::nullopt;
  return body;
}

// Returns the content of a message, or nothing if it can no longer be read or decoded. The message
// then no longer counts as found.
template <class Decode>
auto ShardRecovery::read_message(std::optional<FoundMessage>& message, Decode&& decode)
    -> Result<std::optional<typename decltype(decode(ByteView()))::value_type>> {
  if (!message) return std::nullopt;
  DOVETAIL_ASSIGN(auto body, read_body(*message));
  if (body) {
    if (auto decoded = decode(*body)) return std::move(*decoded);
  }
  scan_.notes.push_back({message->position, body ? Finding::undecodable : Finding::unreadable});
  message.reset();
  return std::nullopt;
}

Result<void> ShardRecovery::read_messages() {
  DOVETAIL_ASSIGN(auto metadata,
                  read_message(scan_.metadata, [](ByteView body) { return format::decode_metadata(body); }));
  metadata_ = std::move(metadata);
  DOVETAIL_ASSIGN(auto footer, read_message(scan_.footer, [](ByteView body) { return format::decode_footer(body); }));
  if (footer) footer_ = std::move(footer->info);
  content_ = entry_ != nullptr ? std::optional(*entry_) : footer_;
  return {};
}

// If the footer is lost, use the other structures that count the shard's records, or a block behind
// the last expected record.
bool ShardRecovery::is_refuted(const ShardInfo& entry) const {
  if (footer_) return holds_other_records(*footer_, entry);
  std::vector<std::uint64_t> told;
  if (scan_.trailer_position) told.push_back(scan_.trailer.records);
  if (scan_.footer) told.push_back(scan_.footer->header.first_record);
  if (scan_.index) told.push_back(scan_.index->header.first_record);
  if (scan_.cut_index_records) told.push_back(*scan_.cut_index_records);
  if (!told.empty()) return std::find(told.begin(), told.end(), entry.records) == told.end();
  return std::any_of(scan_.blocks.begin(), scan_.blocks.end(), [&](const FoundBlock& block) {
    return block.is_data() && !block.rejected && block.end_record() > entry.records;
  });
}

Codec ShardRecovery::codec() const noexcept {
  Codec codec = Codec::none;
  for (const FoundBlock& block : scan_.blocks) {
    if (block.is_data()) codec = std::max(codec, block.codec);
  }
  return codec;
}

bool ShardRecovery::has_records() const noexcept {
  return !scan_.blocks.empty() && scan_.blocks.front().is_data();
}

Result<void> ShardRecovery::decode(const BlockSink& sink, const CheckedBytes& checked) {
  DOVETAIL_ASSIGN(auto decoded, decode_blocks(file_, scan_, sink, checked));
  decoded_ = decoded;
  return {};
}

std::optional<std::uint64_t> ShardRecovery::expected_records(std::uint64_t at_least) const {
  std::vector<std::uint64_t> told;
  if (entry_ != nullptr) told.push_back(entry_->records);
  if (scan_.trailer_position) told.push_back(scan_.trailer.records);
  if (footer_) told.push_back(footer_->records);
  if (scan_.index) told.push_back(scan_.index->header.first_record);
  if (scan_.footer) told.push_back(scan_.footer->header.first_record);
  if (scan_.cut_index_records) told.push_back(*scan_.cut_index_records);
  const auto possible = std::find_if(told.begin(), told.end(), [&](std::uint64_t n) { return n >= at_least; });
  return possible == told.end() ? std::nullopt : std::optional(*possible);
}

// What contradicts the records although it is valid itself. A strict reader compares trailer,
// footer, index and the numbers of the blocks.
std::vector<LostRange> ShardRecovery::contradictions(bool intact) const {
  std::vector<LostRange> found;
  const auto compare = [&](const std::optional<ShardInfo>& stated, const char* where) {
    if (!stated || stated->records != decoded_.records || stated->fingerprint == decoded_.fingerprint) return;
    found.push_back(
        {.file = {}, .reason = "the fingerprint of the records differs from that in " + std::string(where)});
  };
  const auto entry = entry_ != nullptr ? std::optional(*entry_) : std::nullopt;
  compare(entry, "the manifest");
  compare(footer_, "the footer");
  if (!intact || !found.empty()) return found;
  auto strict = describe_shard(file_.path());
  if (!strict) {
    const Error& error = strict.error();
    return {{.file = {},
             .offset = error.offset().value_or(0),
             .reason = "the end of the file: " + (error.detail().empty() ? error.code().message() : error.detail())}};
  }
  if (entry) strict->info.name = entry->name;
  if (!entry || strict->info == *entry) return {};
  return {{.file = {}, .reason = "the manifest has other counts or sizes of the shard than the footer"}};
}

void ShardRecovery::tell(std::uint64_t most_regions, RecoverReport& report) {
  std::uint64_t end_record = 0;
  for (const FoundBlock& block : scan_.blocks) {
    if (block.is_data() && !block.rejected) end_record = std::max(end_record, block.end_record());
  }
  const std::optional<std::uint64_t> expected = expected_records(end_record);
  std::sort(scan_.notes.begin(), scan_.notes.end(),
            [](const ScanNote& a, const ScanNote& b) { return a.position < b.position; });
  std::vector<LostRange> lost = lost_regions(scan_, expected);

  for (LostRange& region : contradictions(lost.empty())) lost.insert(lost.begin(), std::move(region));
  if (report.expected_records) {
    report.expected_records = expected ? std::optional(*report.expected_records + *expected) : std::nullopt;
  }
  report.records += decoded_.records;
  report.blocks += decoded_.blocks;
  report.source_bytes += scan_.file_bytes;
  report.unreadable_bytes += file_.unreadable_bytes();
  for (LostRange& region : lost) {
    if (report.lost.size() < most_regions) region.file = file_.path();
    tell_region(std::move(region), most_regions, report);
  }
}

bool holds_other_records(const ShardInfo& footer, const ShardInfo& entry) noexcept {
  return footer.records != entry.records || footer.fingerprint != entry.fingerprint;
}

Result<void> keep_metadata(const format::Metadata& metadata, WriterOptions& options) {
  options.record_type = metadata.record_type;
  options.metadata = metadata.user;
  if (metadata.schema.empty()) return {};
  DOVETAIL_ASSIGN(auto schema, parse_schema(metadata.schema));
  options.schema = std::move(schema);
  return {};
}

}  // namespace dovetail::detail
