// SPDX-License-Identifier: Apache-2.0
// Records of tf.train.Example into columns, beside protobuf's generated classes: time per record,
// and GB/s of records.
//   columns            our decoder, into the slab of a batch
//   protobuf           each record parsed into an object of its own
//   protobuf_reused    into one object, whose memory stays
//   protobuf_arena     into an object on an arena, whose first block stays
//   protobuf_columns   into one object, and its values from there into such a slab, as every program must that wants a batch
//   copied             nothing decoded: the bytes of the records one behind the other into such a slab
//   copied_over        the same, each over the one before: what stays in the cache, and is of no use
// On a machine with other load: --benchmark_enable_random_interleaving=true
// --benchmark_repetitions=10
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <dovetail/columns.h>
#include <google/protobuf/arena.h>

#include "bench/random.h"
#include "example.pb.h"
#include "format/example/example_encoder.h"

namespace dovetail::bench {
namespace {

using tfexample::Example;
using tfexample::Feature;

constexpr std::uint32_t kRows = 64;
// More than the caches nearest to a core hold, as records that were just read.
constexpr std::size_t kBytes = std::size_t{8} << 20;
constexpr std::size_t kMostRecords = 16'384;

/// Records of one kind, and the columns that they become.
struct Workload {
  Schema schema;
  std::vector<std::vector<std::byte>> records;
  std::vector<ByteView> views;
  std::size_t bytes = 0;

  Workload(const char* text, const std::function<void(format::ExampleEncoder&, Random&)>& fill)
      : schema(parse_schema(text).value()) {
    Random random(1);
    format::ExampleEncoder encoder;
    while ((bytes < kBytes && records.size() < kMostRecords) || records.size() % kRows != 0) {
      fill(encoder, random);
      encoder.encode(records.emplace_back()).value();
      bytes += records.back().size();
    }
    for (const auto& record : records) views.emplace_back(record);
  }

  std::uint64_t longest() const {
    std::size_t most = 0;
    for (const ByteView record : views) most = std::max(most, record.size());
    return most;
  }
};

std::vector<std::byte> random_bytes(Random& random, std::size_t size) {
  std::vector<std::byte> bytes(size);
  random.fill(bytes);
  return bytes;
}

/// A trip: 18 small features of all kinds, as in the data of many examples of pipelines.
void fill_taxi(format::ExampleEncoder& encoder, Random& random) {
  static const char* const kCompanies[] = {"", "Blue Diamond", "Yellow Cab", "Taxi Affiliation Services"};
  const auto number = [&](std::uint32_t below) { return static_cast<float>(random.below(below)) / 16; };
  for (const char* name : {"dropoff_latitude", "dropoff_longitude", "fare", "pickup_latitude", "pickup_longitude",
                           "tips", "trip_miles", "tolls"}) {
    encoder.add_float(name, number(1000));
  }
  const std::pair<const char*, std::uint32_t> kIntegers[] = {
      {"dropoff_community_area", 78}, {"pickup_community_area", 78}, {"trip_seconds", 5000},
      {"trip_start_day", 8},          {"trip_start_hour", 24},       {"trip_start_timestamp", 1'500'000'000}};
  for (const auto& [name, below] : kIntegers) encoder.add_int(name, random.below(below));
  for (const char* name : {"dropoff_census_tract", "pickup_census_tract"}) {
    encoder.add_int(name, 17'031'000'000 + random.below(990'000));
  }
  encoder.add_bytes("company", as_bytes(kCompanies[random.below(4)]));
  encoder.add_bytes("payment_type", as_bytes(random.below(2) == 0 ? "Cash" : "Credit Card"));
}
constexpr const char* kTaxi =
    "dropoff_latitude:f32, dropoff_longitude:f32, fare:f32, pickup_latitude:f32, pickup_longitude:f32, tips:f32, "
    "trip_miles:f32, tolls:f32, dropoff_census_tract:i64, dropoff_community_area:i64, pickup_census_tract:i64, "
    "pickup_community_area:i64, trip_seconds:i64, trip_start_day:i64, trip_start_hour:i64, trip_start_timestamp:i64, "
    "company:bytes, payment_type:bytes";

const Workload& workload(const std::string& name) {
  static std::map<std::string, Workload> made;
  if (const auto found = made.find(name); found != made.end()) return found->second;
  std::vector<std::byte> bytes;
  std::vector<std::int64_t> tokens(1024);
  const auto make = [&](const char* schema,
                        const std::function<void(format::ExampleEncoder&, Random&)>& fill) -> Workload& {
    return made.try_emplace(name, schema, fill).first->second;
  };
  if (name == "taxi") return make(kTaxi, fill_taxi);
  if (name == "mnist") {
    return make("image_raw:u8[28,28,1], label:i64", [&](format::ExampleEncoder& encoder, Random& random) {
      bytes = random_bytes(random, 784);
      encoder.add_bytes("image_raw", bytes);
      encoder.add_int("label", random.below(10));
    });
  }
  if (name == "jpeg") {
    return make("image/encoded:bytes, image/class/label:i64, image/class/text:bytes",
                [&](format::ExampleEncoder& encoder, Random& random) {
                  bytes = random_bytes(random, 90'000 + random.below(20'000));
                  encoder.add_bytes("image/encoded", bytes);
                  encoder.add_int("image/class/label", random.below(1000));
                  encoder.add_bytes("image/class/text", as_bytes("bullet train, bullet"));
                });
  }
  // Numbers of 1 to 3 bytes: small ones are frequent, as words are.
  return make(name == "tokens" ? "input_ids:i32[1024]" : "input_ids:i32[*]",
              [&](format::ExampleEncoder& encoder, Random& random) {
                for (std::int64_t& token : tokens) {
                  token = random.below(1u << (4 + random.below(12)));
                }
                encoder.add_ints("input_ids", tokens);
              });
}

void run_columns(benchmark::State& state, const Workload& work) {
  ColumnDecoder decoder = ColumnDecoder::make(work.schema).value();
  std::vector<std::uint64_t> memory(decoder.most_bytes(kRows, work.longest()) / 8 + 1);
  const std::span<std::byte> slab = std::as_writable_bytes(std::span(memory));
  std::size_t batch = 0;
  for (auto _ : state) {
    const auto records = std::span(work.views).subspan(batch * kRows, kRows);
    const auto decoded = decoder.decode(records, slab);
    if (!decoded) {
      state.SkipWithError(decoded.error().to_string().c_str());
      return;
    }
    benchmark::ClobberMemory();
    batch = (batch + 1) % (work.views.size() / kRows);
  }
}

/// Parses each record with `parse`, which says whether it could.
template <class Parse>
void run_records(benchmark::State& state, const Workload& work, Parse&& parse) {
  std::size_t next = 0;
  for (auto _ : state) {
    for (std::uint32_t row = 0; row < kRows; ++row) {
      if (!parse(work.views[next + row], row)) {
        state.SkipWithError("does not parse");
        return;
      }
    }
    benchmark::ClobberMemory();
    next = (next + kRows) % work.views.size();
  }
}

bool parse(Example& example, ByteView record) {
  const bool good = example.ParseFromArray(record.data(), static_cast<int>(record.size()));
  benchmark::DoNotOptimize(example);
  return good;
}

/// What a program does that has only the generated classes: find the features, and copy their
/// values to one slab for a batch, with the offsets of rows. How much room each column needs there
/// it is told in advance.
class ColumnsOfProtobuf {
 public:
  explicit ColumnsOfProtobuf(const Workload& work) : schema_(work.schema), columns_(schema_.columns.size()) {
    std::vector<std::byte> row(8 * work.longest());
    std::vector<std::size_t> most(columns_.size());
    Example example;
    for (const ByteView record : work.views) {
      if (!parse(example, record)) continue;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const Feature& feature = example.features().feature().at(schema_.columns[i].name);
        most[i] = std::max(most[i], copy(schema_.columns[i].dtype, feature, row.data()));
      }
    }
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      columns_[i] = {.values = bytes, .end = 0, .offsets = std::vector<std::int64_t>(kRows + 1)};
      bytes += (kRows * most[i] + 255) / 256 * 256;
    }
    slab_.resize(bytes);
  }

  bool add(const Example& example, std::uint32_t row) {
    const auto& features = example.features().feature();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      Place& place = columns_[i];
      const auto found = features.find(schema_.columns[i].name);
      if (found == features.end()) return false;
      if (row == 0) place.end = 0;
      place.end += copy(schema_.columns[i].dtype, found->second, slab_.data() + place.values + place.end);
      place.offsets[row + 1] = static_cast<std::int64_t>(place.end);
    }
    return true;
  }

 private:
  struct Place {
    std::size_t values = 0;  // in the slab
    std::size_t end = 0;     // of those that are there
    std::vector<std::int64_t> offsets;
  };

  /// Gives how many bytes it wrote.
  static std::size_t copy(Dtype dtype, const Feature& feature, std::byte* to) {
    std::byte* out = to;
    for (const std::string& value : feature.bytes_list().value()) {
      std::memcpy(out, value.data(), value.size());
      out += value.size();
    }
    const auto& floats = feature.float_list().value();
    if (!floats.empty()) std::memcpy(out, floats.data(), sizeof(float) * static_cast<std::size_t>(floats.size()));
    out += sizeof(float) * static_cast<std::size_t>(floats.size());
    const auto& ints = feature.int64_list().value();
    if (dtype == Dtype::i64 && !ints.empty()) {
      std::memcpy(out, ints.data(), sizeof(std::int64_t) * static_cast<std::size_t>(ints.size()));
      return static_cast<std::size_t>(out - to) + sizeof(std::int64_t) * static_cast<std::size_t>(ints.size());
    }
    for (const std::int64_t value : ints) {
      const auto narrow = static_cast<std::int32_t>(value);
      std::memcpy(out, &narrow, sizeof(narrow));
      out += sizeof(narrow);
    }
    return static_cast<std::size_t>(out - to);
  }

  const Schema& schema_;
  std::vector<Place> columns_;
  std::vector<std::byte> slab_;
};

void run_new(benchmark::State& state, const Workload& work) {
  run_records(state, work, [](ByteView record, std::uint32_t) {
    Example example;
    return parse(example, record);
  });
}

void run_reused(benchmark::State& state, const Workload& work) {
  Example example;
  run_records(state, work, [&](ByteView record, std::uint32_t) { return parse(example, record); });
}

void run_arena(benchmark::State& state, const Workload& work) {
  std::vector<char> first(4 * work.longest() + (64 << 10));
  google::protobuf::ArenaOptions options;
  options.initial_block = first.data();
  options.initial_block_size = first.size();
  google::protobuf::Arena arena(options);
  run_records(state, work, [&](ByteView record, std::uint32_t) {
    arena.Reset();
    return parse(*google::protobuf::Arena::CreateMessage<Example>(&arena), record);
  });
}

void run_protobuf_columns(benchmark::State& state, const Workload& work) {
  Example example;
  ColumnsOfProtobuf columns(work);
  run_records(state, work,
              [&](ByteView record, std::uint32_t row) { return parse(example, record) && columns.add(example, row); });
}

/// Copies each record, behind the one before or over it.
void run_copies(benchmark::State& state, const Workload& work, bool over) {
  std::vector<std::byte> slab(kRows * work.longest());
  std::byte* to = slab.data();
  run_records(state, work, [&](ByteView record, std::uint32_t row) {
    if (over || row == 0) to = slab.data();
    std::memcpy(to, record.data(), record.size());
    benchmark::DoNotOptimize(to);
    to += record.size();
    return true;
  });
}
void run_copied(benchmark::State& state, const Workload& work) {
  run_copies(state, work, false);
}
void run_copied_over(benchmark::State& state, const Workload& work) {
  run_copies(state, work, true);
}

void run(benchmark::State& state, const std::string& name, void (*contestant)(benchmark::State&, const Workload&)) {
  const Workload& work = workload(name);
  contestant(state, work);
  const auto records = static_cast<std::int64_t>(state.iterations()) * kRows;
  state.SetBytesProcessed(records * static_cast<std::int64_t>(work.bytes / work.records.size()));
  state.counters["per_record"] =
      benchmark::Counter(static_cast<double>(records), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void register_all() {
  const std::pair<const char*, void (*)(benchmark::State&, const Workload&)> contestants[] = {
      {"columns", run_columns},
      {"protobuf", run_new},
      {"protobuf_reused", run_reused},
      {"protobuf_arena", run_arena},
      {"protobuf_columns", run_protobuf_columns},
      {"copied", run_copied},
      {"copied_over", run_copied_over}};
  for (const std::string work : {"taxi", "mnist", "tokens", "tokens_ragged", "jpeg"}) {
    for (const auto& [name, contestant] : contestants) {
      benchmark::RegisterBenchmark((work + "/" + name).c_str(), run, work, contestant);
    }
  }
}

}  // namespace
}  // namespace dovetail::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  dovetail::bench::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
