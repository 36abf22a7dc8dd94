// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/bench_report.h"

#include <algorithm>

#include "format/text/count_of.h"
#include "format/text/number_text.h"
#include "format/text/utf8.h"
#include "tools/command/render.h"

namespace dovetail::tools {

namespace {

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

boost::json::value rate_or_null(double bytes_per_second) {
  return bytes_per_second > 0 ? boost::json::value(bytes_per_second) : boost::json::value(nullptr);
}

boost::json::object shares_json(const Shares& shares) {
  boost::json::object object;
  for (std::size_t i = 0; i < kParts; ++i) object[to_string(static_cast<Part>(i))] = shares[i];
  return object;
}

std::string shares_text(const Shares& shares) {
  std::string text;
  for (std::size_t i = 0; i < kParts; ++i) {
    if (shares[i] < 0.005) continue;
    text += (text.empty() ? "" : ", ") + std::string(to_string(static_cast<Part>(i))) + ' ' + percent(shares[i], 0);
  }
  return text;
}

/// The shares of the bare walk.
Shares walk_shares(const Limits& limits) {
  Shares shares{};
  const auto set = [&](Part part, double seconds) {
    shares[static_cast<std::size_t>(part)] = share(seconds, limits.seconds());
  };
  set(Part::reading, limits.read_seconds);
  set(Part::checks, limits.check_seconds);
  set(Part::decoding, limits.decode_seconds);
  set(Part::copying, limits.copy_seconds);
  return shares;
}

boost::json::object pass_json(const BenchReport& report, const ReadingPass& pass) {
  return {{"batches", pass.batches},
          {"rows", pass.rows},
          {"bytes", pass.bytes},
          {"seconds", pass.seconds},
          {"bytes_per_second", pass.bytes_per_second()},
          {"rows_per_second", pass.rows_per_second()},
          {"stored_bytes_per_second", report.stored_rate(pass)},
          {"reads", pass.reads},
          {"waiting_reads", pass.waiting_reads},
          {"shares", shares_json(report.shares(pass))}};
}

std::string pass_text(const ReadingPass& pass) {
  std::string text = human_rate(pass.bytes_per_second()) + ", " + format::fixed(pass.rows_per_second(), 0) +
                     " records/s, " + format::fixed(pass.batches_per_second(), 0) + " batches/s, " +
                     format::fixed(pass.seconds, 2) + " s";
  if (pass.waiting_reads > 0)
    text += "; " + share_of(pass.waiting_reads, std::max(pass.reads, pass.waiting_reads)) +
            " of its reads waited for storage";
  return text;
}

std::string cat_text(const SequentialRead& cat) {
  std::string text = human_rate(cat.rate()) + ", " + format::human_bytes(cat.bytes);
  if (cat.cached_share >= 0) text += "; " + percent(cat.cached_share, 0) + " of the files were cached";
  return text;
}

boost::json::array trials_json(const BenchReport& report) {
  boost::json::array trials;
  for (const Trial& trial : report.trials) {
    trials.push_back({{"option", trial.option},
                      {"bytes_per_second", trial.pass.bytes_per_second()},
                      {"times", report.times(trial)}});
  }
  return trials;
}

}  // namespace

boost::json::object to_json(const BenchReport& report) {
  const Verdict verdict = judge(report);
  return {{"dataset",
           {{"path", format::to_utf8(report.path)},
            {"records", report.records},
            {"shards", report.shards},
            {"raw_bytes", report.raw_bytes},
            {"stored_bytes", report.stored_bytes},
            {"mean_record_bytes", static_cast<std::uint64_t>(report.mean_record())},
            {"sampled_blocks", report.sampled_blocks},
            {"compressed_share", report.compressed_share}}},
          {"rank", report.rank},
          {"world", report.world},
          {"batch", report.batch},
          {"threads", report.threads},
          {"cores", report.cores},
          {"storage", to_string(report.second.storage)},
          {"storage_note", report.second.storage_note},
          {"cat",
           {{"cached_share", report.cat.cached_share >= 0 ? boost::json::value(report.cat.cached_share) : nullptr},
            {"bytes", report.cat.bytes},
            {"bytes_per_second", rate_or_null(report.cat.rate())}}},
          {"bare_walk",
           {{"bytes_per_second", rate_or_null(report.limits.together())},
            {"shares", shares_json(walk_shares(report.limits))}}},
          {"first_pass", pass_json(report, report.first)},
          {"second_pass", pass_json(report, report.second)},
          {"share_of_walk", report.share_of_walk()},
          {"trials", trials_json(report)},
          {"first_limited_by", verdict.first_limited_by ? boost::json::value(to_string(*verdict.first_limited_by))
                                                        : boost::json::value(nullptr)},
          {"limited_by", to_string(verdict.limited_by)},
          {"verdict", verdict.sentences}};
}

std::string to_text(const BenchReport& report) {
  Listing listing;
  listing.add("dataset",
              format::count_of(report.records, "record") + " in " + format::count_of(report.shards, "shard") + ", " +
                  format::human_bytes(static_cast<std::uint64_t>(report.mean_record())) + " each on average");
  listing.add(
      "codec",
      percent(report.compressed_share, 0) + " of the bytes compressed, in " +
          format::count_of(report.sampled_blocks, "block") + " looked at; " +
          format::fixed(share(static_cast<double>(report.stored_bytes), static_cast<double>(report.raw_bytes)), 2) +
          " stored for each byte");
  listing.add("reader", "rank " + std::to_string(report.rank) + " of " + std::to_string(report.world) +
                            ", batches of " + std::to_string(report.batch) + ", " + std::to_string(report.threads) +
                            " of " + std::to_string(report.cores) + " cores");
  const std::string& note = report.second.storage_note;
  listing.add("storage", std::string(to_string(report.second.storage)) + (note.empty() ? "" : ": " + note));
  std::string text = listing.to_text() + "\nWhat this machine can do\n";

  Listing limits;
  limits.add("cat", cat_text(report.cat));
  limits.add("bare walk", human_rate(report.limits.together()) + " of records out of the page cache, " +
                              format::count_of(report.threads, "thread"));
  limits.add("its time", shares_text(walk_shares(report.limits)));
  text += limits.to_text() + "\nWhat the reader reaches\n";

  Listing reading;
  reading.add("first pass",
              pass_text(report.first) + ", " + human_rate(report.stored_rate(report.first)) + " out of the files");
  reading.add("its time", shares_text(report.shares(report.first)));
  reading.add("second pass", pass_text(report.second));
  reading.add("its time", shares_text(report.shares(report.second)));
  reading.add("of the bare walk", percent(report.share_of_walk(), 0));
  for (const Trial& trial : report.trials) {
    reading.add(trial.option, format::fixed(report.times(trial), 2) + " times as fast as the " +
                                  (trial.cold ? "first" : "second") + " pass");
  }
  return text + reading.to_text() + '\n' + judge(report).sentences + '\n';
}

}  // namespace dovetail::tools
