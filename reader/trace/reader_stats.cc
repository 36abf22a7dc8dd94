// SPDX-License-Identifier: Apache-2.0
#include <dovetail/reader_stats.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

#include "format/text/number_text.h"
#include "format/text/utf8.h"

namespace dovetail {

namespace {

/// Writes the members of one JSON object.
class JsonObject {
 public:
  void number(std::string_view name, std::uint64_t value) { member(name, std::to_string(value)); }
  void boolean(std::string_view name, bool value) { member(name, value ? "true" : "false"); }
  void text(std::string_view name, std::string_view value) { member(name, quoted(value)); }
  void seconds(std::string_view name, std::chrono::nanoseconds value) { member(name, format::in_seconds(value)); }
  void member(std::string_view name, std::string_view value) {
    body_ += (body_.empty() ? "" : ", ") + quoted(name) + ": ";
    body_ += value;
  }
  std::string done() const { return "{" + body_ + "}"; }

 private:
  static std::string quoted(std::string_view value) {
    std::string out = "\"";
    for (const char c : format::to_utf8(value)) {
      if (c == '"' || c == '\\') {
        out += '\\';
        out += c;
      } else if (static_cast<unsigned char>(c) < 0x20) {
        std::array<char, 8> escape{};
        std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(c));
        out += escape.data();
      } else {
        out += c;
      }
    }
    return out + '"';
  }
  std::string body_;
};

void describe(const LostRange& range, JsonObject& object) {
  object.text("file", range.file);
  object.number("offset", range.offset);
  object.member("records", "[" + std::to_string(range.first_record) + ", " + std::to_string(range.end_record) + "]");
  object.text("reason", range.reason);
}

void describe(const ShardReads& shard, JsonObject& object) {
  object.text("file", shard.file);
  object.number("shard", shard.shard);
  object.number("reads", shard.reads);
  object.number("bytes", shard.bytes);
  object.seconds("mean", shard.mean);
  object.seconds("longest", shard.longest);
}

void describe(const HungRead& read, JsonObject& object) {
  object.text("file", read.file);
  object.number("offset", read.offset);
  object.number("bytes", read.bytes);
  object.seconds("age", read.age);
}

template <class Item>
std::string list_of(const std::vector<Item>& items) {
  std::string list;
  for (const Item& item : items) {
    JsonObject object;
    describe(item, object);
    list += (list.empty() ? "" : ", ") + object.done();
  }
  return "[" + list + "]";
}

}  // namespace

double ReaderStats::trainer_idle() const noexcept {
  const auto waited = waiting_for_storage + waiting_for_decode + waiting_for_transform + waiting_for_slot;
  if (since_first_request.count() <= 0) return 0.0;
  return std::min(1.0, static_cast<double>(waited.count()) / static_cast<double>(since_first_request.count()));
}

std::string ReaderStats::to_json() const {
  JsonObject json;
  json.number("batches", batches);
  json.number("rows", rows);
  json.number("bytes", bytes);
  json.number("rows_first", rows_first);
  json.number("rows_repeated", rows_repeated);
  json.number("rows_empty", rows_empty);
  json.number("rows_substituted", rows_substituted);
  json.number("rows_damaged_empty", rows_damaged_empty);
  json.number("reads", reads);
  json.number("read_bytes", read_bytes);
  json.number("waiting_reads", waiting_reads);
  json.number("direct_reads", direct_reads);
  json.number("direct_bytes", direct_bytes);
  json.number("cached_reads", cached_reads);
  json.number("unfit_records", unfit_records);
  json.number("retried_reads", retried_reads);
  json.number("spilled_batches", spilled_batches);
  json.number("shards_opened", shards_opened);
  json.seconds("waiting_for_storage", waiting_for_storage);
  json.seconds("waiting_for_decode", waiting_for_decode);
  json.seconds("waiting_for_transform", waiting_for_transform);
  json.seconds("waiting_for_slot", waiting_for_slot);
  json.seconds("waiting_for_consumer", waiting_for_consumer);
  json.seconds("filling", filling);
  json.member("trainer_idle", format::fixed(trainer_idle(), 6));
  json.seconds("time_planning", time_planning);
  json.seconds("time_reading", time_reading);
  json.seconds("time_decoding", time_decoding);
  json.seconds("time_gathering", time_gathering);
  json.seconds("time_transforming", time_transforming);
  json.text("storage", to_string(storage));
  json.text("storage_note", storage_note);
  json.number("hung_reads", hung_reads);
  json.number("given_up_reads", given_up_reads);
  json.member("hung_now", list_of(hung_now));
  json.member("slowest_shards", list_of(slowest_shards));
  json.boolean("registered", registered);
  json.text("registration_note", registration_note);
  json.seconds("registration_time", registration_time);
  json.boolean("provided_memory", provided_memory);
  json.member("numa_node", std::to_string(numa_node));
  json.number("slots", slots);
  json.number("slot_bytes", slot_bytes);
  json.number("budget_bytes", budget_bytes);
  json.number("read_ahead_bytes", read_ahead_bytes);
  json.number("read_ahead_peak", read_ahead_peak);
  json.member("damaged", list_of(damaged));
  return json.done();
}

}  // namespace dovetail
