// SPDX-License-Identifier: Apache-2.0
#include "tests/plan/random_case.h"

#include <algorithm>
#include <sstream>

namespace dovetail::test {
namespace {

void add_shards(DatasetShape& dataset, RandomSource& random) {
  const std::uint32_t largest = random.one_of<std::uint32_t>({1, 6, 20, 60});
  const std::uint32_t usual_run = random.one_of<std::uint32_t>({1, 2, 3, 5, 7, 16, 100});
  for (std::uint32_t shards = random.between(1, random.one_of<std::uint32_t>({1, 4, 9, 30})); shards > 0; --shards) {
    ShardShape shard;
    shard.records = random.chance(15) ? random.below(2) : random.below(largest + 1);
    shard.run_records = random.chance(80) ? usual_run : random.between(1, 20);
    shard.raw_bytes = shard.records * random.below(100);
    dataset.shards.push_back(shard);
  }
}

void add_mix(RandomCase& made, RandomSource& random) {
  auto left = static_cast<std::uint32_t>(made.dataset->shards.size());
  while (left > 0 && made.dataset->source_shards.size() < 4) {
    const std::uint32_t shards = random.between(1, left);
    made.dataset->source_shards.push_back(shards);
    left -= shards;
  }
  made.dataset->source_shards.back() += left;
  Mix& mix = made.options.mix;
  mix.stop = random.one_of({MixStop::first, MixStop::all, MixStop::steps});
  if (mix.stop == MixStop::steps) mix.steps = random.between(1, 30);
  std::uint64_t step = 0;
  for (int entries = random.chance(50) ? 1 : 3; entries > 0; --entries) {
    MixWeights weights{step, {}};
    for (std::size_t source = 0; source < made.dataset->source_shards.size(); ++source) {
      weights.weights.push_back(random.chance(10) ? 0 : random.between(1, random.one_of<std::uint32_t>({1, 5, 100})));
    }
    weights.weights[random.below(weights.weights.size())] += 1;
    mix.schedule.push_back(weights);
    step += random.between(1, 9);
  }
}

}  // namespace

std::string RandomCase::describe() const {
  std::ostringstream text;
  text << "shards ";
  for (const ShardShape& shard : dataset->shards) {
    text << shard.records << ':' << shard.run_records << ' ';
  }
  text << "world " << options.world << " batch " << options.batch << " replicate " << options.replicate << " lanes "
       << options.lanes << " order " << static_cast<int>(options.order) << " assign "
       << static_cast<int>(options.assign) << " tail " << static_cast<int>(options.tail) << " open_runs "
       << options.open_runs << " pool " << options.pool << " seed " << options.seed << " sticky " << options.sticky
       << " epoch " << epoch;
  if (!options.mix.enabled()) return text.str();
  text << " sources";
  for (const std::uint32_t shards : dataset->source_shards) text << ' ' << shards;
  text << " stop " << static_cast<int>(options.mix.stop) << " mix steps " << options.mix.steps << " weights";
  for (const MixWeights& entry : options.mix.schedule) {
    text << ' ' << entry.from_step << '=';
    for (const std::uint32_t weight : entry.weights) text << weight << ':';
  }
  return text.str();
}

RandomCase random_case(RandomSource& random) {
  RandomCase made;
  add_shards(*made.dataset, random);
  made.dataset->fingerprint = {random.word(), random.word()};
  PlanOptions& options = made.options;
  options.order = random.one_of(
      {OrderKind::shuffle, OrderKind::shuffle, OrderKind::shuffle, OrderKind::sequential, OrderKind::global});
  options.tail = random.one_of({Tail::drop, Tail::pad, Tail::wrap});
  options.open_runs = random.one_of<std::uint32_t>({1, 2, 3, 5, 32});
  options.pool = random.one_of<std::uint32_t>({1, 2, 3, 8, 30, 256});
  options.seed = random.word();
  options.sticky = options.order == OrderKind::shuffle && random.chance(20);
  change_world(options, random);
  if (random.chance(12)) {
    add_mix(made, random);
  } else if (options.order != OrderKind::global) {
    options.assign = random.chance(65) ? Assign::even : Assign::files;
  }
  if (options.order == OrderKind::shuffle && random.chance(25)) {
    options.assign = Assign::runs;
    const std::uint64_t run_records = made.dataset->shards.front().run_records;
    for (ShardShape& shard : made.dataset->shards) shard.run_records = run_records;
  }
  made.epoch = static_cast<std::uint32_t>(random.word());
  return made;
}

void change_world(PlanOptions& options, RandomSource& random) {
  const std::uint32_t readers = random.between(1, random.one_of<std::uint32_t>({1, 3, 6}));
  const std::uint32_t lanes_each = random.one_of<std::uint32_t>({1, 1, 2, 3});
  options.replicate = random.one_of<std::uint32_t>({1, 1, 1, 2, 3});
  options.world = readers * options.replicate;
  options.lanes = lanes_each == 1 && random.chance(50) ? 0 : readers * lanes_each;
  options.batch = lanes_each * random.between(1, random.one_of<std::uint32_t>({1, 4, 40}));
}

}  // namespace dovetail::test
