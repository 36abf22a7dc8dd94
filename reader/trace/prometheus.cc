// SPDX-License-Identifier: Apache-2.0
#include <dovetail/reader_stats.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "format/text/number_text.h"

namespace dovetail {

namespace {

using Labels = std::map<std::string, std::string>;

bool is_label_name(std::string_view name) noexcept {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_allowed = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !name.empty() && is_letter(name.front()) && std::all_of(name.begin(), name.end(), is_allowed) &&
         !name.starts_with("__");
}

std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

/// Metric families whose samples all begin with the same labels.
class Exposition {
 public:
  explicit Exposition(const Labels& labels) {
    for (const auto& [name, value] : labels) add_label(labels_, name, value);
  }

  /// Begins the family of the samples that follow.
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = "dovetail_reader_" + std::string(name);
    text_ += "# HELP " + name_ + ' ' + std::string(help) + "\n# TYPE " + name_ + ' ' + std::string(type) + '\n';
  }
  void sample(std::string_view value, std::string_view label = {}, std::string_view label_value = {}) {
    std::string labels = labels_;
    if (!label.empty()) add_label(labels, label, label_value);
    text_ += name_ + (labels.empty() ? "" : '{' + labels + '}') + ' ' + std::string(value) + '\n';
  }

  void counter(std::string_view name, std::string_view help, std::uint64_t value) {
    family(name, "counter", help);
    sample(std::to_string(value));
  }
  void gauge(std::string_view name, std::string_view help, std::uint64_t value) {
    family(name, "gauge", help);
    sample(std::to_string(value));
  }
  std::string done() { return std::move(text_); }

 private:
  static void add_label(std::string& labels, std::string_view name, std::string_view value) {
    labels += (labels.empty() ? "" : ",") + std::string(name) + "=\"" + escaped(value) + '"';
  }

  std::string labels_;
  std::string name_;
  std::string text_;
};

void add_rows(const ReaderStats& stats, Exposition& text) {
  const std::pair<std::string_view, std::uint64_t> kRows[] = {{"first", stats.rows_first},
                                                              {"repeated", stats.rows_repeated},
                                                              {"empty", stats.rows_empty},
                                                              {"substituted", stats.rows_substituted},
                                                              {"damaged_empty", stats.rows_damaged_empty}};
  text.family("rows_total", "counter", "Rows delivered, by status.");
  for (const auto& [status, rows] : kRows) text.sample(std::to_string(rows), "status", status);
}

void add_times(const ReaderStats& stats, Exposition& text) {
  const std::pair<std::string_view, std::chrono::nanoseconds> kStates[] = {
      {"waiting_for_storage", stats.waiting_for_storage},     {"waiting_for_decode", stats.waiting_for_decode},
      {"waiting_for_transform", stats.waiting_for_transform}, {"waiting_for_slot", stats.waiting_for_slot},
      {"waiting_for_consumer", stats.waiting_for_consumer},   {"filling", stats.filling}};
  text.family("state_seconds_total", "counter", "Life of the reader, by state; the trainer waits in the first four.");
  for (const auto& [state, time] : kStates) text.sample(format::in_seconds(time), "state", state);
  const std::pair<std::string_view, std::chrono::nanoseconds> kWork[] = {{"planning", stats.time_planning},
                                                                         {"reading", stats.time_reading},
                                                                         {"decoding", stats.time_decoding},
                                                                         {"gathering", stats.time_gathering},
                                                                         {"transforming", stats.time_transforming}};
  text.family("busy_seconds_total", "counter", "Busy time of threads, by kind of work.");
  for (const auto& [work, time] : kWork) text.sample(format::in_seconds(time), "work", work);
  text.family("trainer_idle_ratio", "gauge", "Share of the time since the first request in which the trainer waited.");
  text.sample(format::fixed(stats.trainer_idle(), 6));
}

}  // namespace

Result<std::string> ReaderStats::to_prometheus(const std::map<std::string, std::string>& labels) const {
  for (const auto& [name, value] : labels) {
    if (is_label_name(name) && name != "status" && name != "state" && name != "work" && name != "storage") continue;
    return Error(Errc::invalid_option, "labels: '" + name +
                                           "' must be letters, digits and '_', not begin with a digit or '__', and be "
                                           "other than status, state, work or storage");
  }
  Exposition text(labels);
  text.counter("batches_total", "Batches delivered.", batches);
  add_rows(*this, text);
  text.counter("delivered_bytes_total", "Bytes of rows, or of columns, delivered.", bytes);
  text.counter("reads_total", "Reads of shards.", reads);
  text.counter("read_bytes_total", "Bytes read from shards.", read_bytes);
  text.counter("waiting_reads_total", "Reads that had to wait for a device or for the threads of the storage.",
               waiting_reads);
  text.counter("direct_reads_total", "Reads of a record straight into its row.", direct_reads);
  text.counter("retried_reads_total", "Second reads of blocks that failed their check.", retried_reads);
  text.counter("hung_reads_total", "Reads and openings that took longer than hung_after.", hung_reads);
  text.counter("given_up_reads_total", "Hung reads that were abandoned.", given_up_reads);
  text.gauge("hung_reads_outstanding", "Hung reads that are not answered yet; at most 100.", hung_now.size());
  text.counter("unfit_records_total", "Records that did not fit the columns, or that the transform rejected.",
               unfit_records);
  text.gauge("damaged_ranges", "Ranges of damaged or rejected records found so far.", damaged.size());
  text.counter("spilled_batches_total", "Batches that did not fit their slot.", spilled_batches);
  text.counter("shards_opened_total", "Shards opened.", shards_opened);
  add_times(*this, text);
  text.gauge("memory_budget_bytes", "Budget for slots, read-ahead and decoders.", budget_bytes);
  text.gauge("memory_slots_bytes", "Size of all slots.", slots * slot_bytes);
  text.gauge("memory_read_ahead_bytes", "Read-ahead held now.", read_ahead_bytes);
  text.gauge("memory_registered", "1 if the slots are registered with CUDA.", registered ? 1 : 0);
  text.family("info", "gauge", "Always 1; the label names the storage.");
  text.sample("1", "storage", to_string(storage));
  return text.done();
}

}  // namespace dovetail
