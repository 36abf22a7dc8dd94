// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "reader/delivery/rank_reader.h"

namespace dovetail::detail {

namespace {

// Bytes of run pieces fetched per lock acquisition.
constexpr std::uint64_t kFetchedAtOnce = 256 << 10;

}  // namespace

RankReader::Clock::time_point RankReader::run_walk(Flight& flight, Clock::time_point began) {
  FlightStart start = flight;
  const Result<bool> begun = start.batches > 0 ? Result<bool>(true) : rows_.begin(start);
  const std::uint64_t changes = store_.changes();
  const bool walks = begun.has_value() && *begun && !start.end_of_epoch;
  const Result<std::uint32_t> walked =
      walks ? rows_.walk(start, flight.rows, flight.walked) : Result<std::uint32_t>(0U);
  const std::uint32_t rows = walked.has_value() ? *walked : 0;
  const bool blocked = begun.has_value() && *begun && flight.walked + rows < start.row_count;
  // Ask after the walk, which gives the rows before the runs that failed.
  const std::optional<Error> failure = blocked ? store_.failure() : std::nullopt;
  damage_.report();
  const Clock::time_point ended = Clock::now();
  trace({.kind = TimelineEvent::Kind::plan, .begin = began, .end = ended});
  Lock lock(*this);
  tally_.time_planning += ended - began;
  static_cast<FlightStart&>(flight) = std::move(start);
  flight.busy = false;
  flight.walked += rows;
  walked_.rows += rows;
  walked_.blocked_at = blocked ? std::optional(changes) : std::nullopt;
  if (failure.has_value()) walked_.failure = *failure;
  if (!begun.has_value()) walked_.failure = begun.error();
  if (!walked.has_value()) walked_.failure = walked.error();
  if (!begun.has_value() || !*begun) flights_.pop_back();  // the walked flight is the last one
  if (begun.has_value() && !*begun) walked_.all = true;
  hand_over_locked();
  kick_locked();
  return ended;
}

RankReader::Clock::time_point RankReader::run_fetch(Job job, Clock::time_point began) {
  Clock::time_point now = began;
  std::uint64_t bytes = fetch_piece(job, now);
  while (bytes < kFetchedAtOnce) {
    std::optional<RunStore::Work> next = store_.claim();
    if (!next.has_value()) break;
    job = {.kind = Job::Kind::fetch, .fetch = std::move(*next)};
    bytes += fetch_piece(job, now);
  }
  damage_.report();
  kick();
  return now;
}

std::uint64_t RankReader::fetch_piece(Job& job, Clock::time_point& now) {
  const bool arrived = job.answer != nullptr;
  if (arrived) {
    note_waited(*job.answer, job.fetch.run->run.shard, job.fetch.of().stored_bytes);
    job.fetch.read = &job.answer->read;
  }
  const std::optional<RunStore::Done> done = store_.run(job.fetch, now);
  if (job.fetch.waits()) {
    const InputFile& file = job.fetch.file();
    const std::uint64_t offset = job.fetch.of().file_offset;
    const ReadInto into{job.fetch.into};
    read_later(std::move(job), file, offset, into);
  }
  if (!done.has_value()) return 0;
  now = done->ended;
  if (setup_.options.timeline != nullptr) {
    using Kind = TimelineEvent::Kind;
    const auto trace_part = [&](Kind kind, Clock::time_point begin, Clock::time_point end) {
      trace({.kind = kind, .begin = begin, .end = end, .bytes = done->bytes, .shard = done->shard});
    };
    if (!arrived) trace_part(Kind::load, done->began, done->ended);
    if (!arrived) trace_part(Kind::read, done->began, done->read);
    trace_part(Kind::decode, done->read, done->ended);
  }
  return done->bytes;
}

RankReader::Clock::time_point RankReader::run_fill(Flight& flight, Clock::time_point began) {
  const std::uint64_t changes = shards_.changes();
  SlotFill& fill = flight.fill;
  if (fill.lease() == nullptr) fill.begin(flight.lease, flight.epoch, flight.step, flight.batches);
  {
    const std::shared_ptr<void> scope = setup_.options.transform.scope ? setup_.options.transform.scope() : nullptr;
    while (flight.filled < flight.walked && fill_part(flight)) continue;
  }
  fill.let_go();
  const Clock::time_point ended = Clock::now();
  flight.filling_time += ended - began;
  trace_rows({.kind = setup_.options.transform ? TimelineEvent::Kind::transform : TimelineEvent::Kind::gather,
              .begin = began,
              .end = ended},
             flight, flight.settled);
  flight.shards_at = fill.waits_for_shard() ? std::optional(changes) : std::nullopt;
  if (const std::vector<RowRead*> reads = fill.waiting(); !reads.empty()) {
    read_rows_later(flight, reads);
  } else {
    finish_fill(flight);
  }
  return ended;
}

bool RankReader::fill_part(Flight& flight) {
  SlotFill& fill = flight.fill;
  // The walk may have extended the last part.
  while (flight.rows.parts[flight.next_part].end == flight.filled) ++flight.next_part;
  const WalkedRows::Part part = flight.rows.parts[flight.next_part];
  const std::uint32_t rows = std::min(part.end, flight.walked) - flight.filled;
  std::size_t done = 0;
  if (part.status == RowStatus::empty) {
    done = fill.fill_empty(rows);
  } else if (rules_.record_bytes != 0) {
    done = fill.fill(std::span<const Entry>(flight.rows.same).subspan(flight.filled, rows), part.status);
  } else {
    done = fill.fill(std::span<const SizedEntry>(flight.rows.sized).subspan(flight.filled, rows), part.status);
  }
  flight.filled += static_cast<std::uint32_t>(done);
  return done == rows;
}

void RankReader::read_rows_later(Flight& flight, const std::vector<RowRead*>& reads) {
  {
    const std::lock_guard lock(mutex_);
    flight.reads_left = static_cast<std::uint32_t>(reads.size());
  }
  // The last read may finish the flight before the loop ends, so the loop must not use `flight`
  // after that call.
  for (RowRead* const read : reads) {
    read_later({.kind = Job::Kind::check, .flight = &flight, .read = read}, read->file->file(), read->offset(),
               read->destination());
  }
}

void RankReader::read_later(Job job, const InputFile& file, std::uint64_t offset, ReadInto into) {
  const int fetches = job.kind == Job::Kind::fetch ? 1 : 0;
  job.answer = std::make_unique<Answer>(Answer{.read = {}, .asked = Clock::now(), .arrived = {}});
  std::list<Job> waiting;  // allocated here, so that an arrival needs no memory
  waiting.push_back(std::move(job));
  {
    const std::lock_guard lock(mutex_);
    ++tally_.waiting_reads;
    fetches_out_ += fetches;
  }
  setup_.storage->read(file, offset, into, [this, fetches, waiting = std::move(waiting)](Result<void> read) mutable {
    Answer& answer = *waiting.front().answer;
    answer.read = std::move(read);
    answer.arrived = Clock::now();
    const Lock lock(*this);
    fetches_out_ -= fetches;
    arrived_.splice(arrived_.end(), waiting);
    kick_locked();
  });
}

RankReader::Clock::time_point RankReader::run_check(Job job, Clock::time_point began) {
  Flight& flight = *job.flight;
  RowRead& read = *job.read;
  read.read = job.answer->read;
  note_waited(*job.answer, read.shard, read.into.size());
  flight.fill.check(read);
  const Clock::time_point ended = Clock::now();
  trace_rows({.kind = TimelineEvent::Kind::check,
              .begin = began,
              .end = ended,
              .bytes = read.into.size(),
              .shard = read.shard},
             flight, read.row);
  {
    const std::lock_guard lock(mutex_);
    tally_.time_decoding += ended - began;
    if (--flight.reads_left > 0) return ended;
  }
  flight.fill.resume();
  finish_fill(flight);
  return ended;
}

void RankReader::finish_fill(Flight& flight) {
  SlotFill& fill = flight.fill;
  const FillCounts counts = fill.take_counts();
  const std::uint32_t ready = fill.ready_batches();
  damage_.report();
  std::uint64_t filled = 0;
  {
    const Lock lock(*this);
    tally_.reads += counts.direct_reads;
    tally_.direct_reads += counts.direct_reads;
    tally_.read_bytes += counts.direct_bytes;
    tally_.direct_bytes += counts.direct_bytes;
    tally_.retried_reads += counts.retried_reads;
    tally_.unfit_records += counts.unfit_records;
    (setup_.options.transform ? tally_.time_transforming : tally_.time_gathering) +=
        std::exchange(flight.filling_time, {});
    flight.busy = false;
    flight.settled = flight.filled;
    flight.ready = ready;
    flight.error = fill.error();
    flight.lease = fill.lease();
    if (ready == flight.batches) fill.take_lease();
    filled = filled_rows_locked();
    hand_over_locked();
  }
  store_.filled_to(filled);
  kick();
}

void RankReader::trace(TimelineEvent event) const {
  if (setup_.options.timeline == nullptr) return;
  event.rank = setup_.options.ranks.rank;
  event.by_trainer = !setup_.workers->executor().running_in_this_thread();
  setup_.options.timeline->record(event);
}

void RankReader::trace_rows(TimelineEvent event, const Flight& flight, std::uint32_t row) const {
  if (setup_.options.timeline == nullptr) return;
  const std::uint32_t last = std::max(flight.filled, row + 1) - 1;
  event.epoch = flight.epoch;
  event.step = flight.step + row / rules_.batch_rows;
  event.steps = last / rules_.batch_rows - row / rules_.batch_rows + 1;
  trace(event);
}

void RankReader::note_waited(const Answer& answer, std::uint32_t shard, std::uint64_t bytes) {
  const std::chrono::nanoseconds waited = answer.arrived - answer.asked;
  {
    const std::lock_guard lock(mutex_);
    ShardReads& sum = waited_[shard];
    sum.shard = shard;
    ++sum.reads;
    sum.bytes += bytes;
    sum.mean += waited;
    sum.longest = std::max(sum.longest, waited);
  }
  trace({.kind = TimelineEvent::Kind::storage_read,
         .begin = answer.asked,
         .end = answer.arrived,
         .bytes = bytes,
         .shard = shard});
}

std::uint64_t RankReader::filled_rows_locked() const {
  for (const std::unique_ptr<Flight>& flight : flights_) {
    if (flight->batches > 0 && (flight->busy || flight->settled < flight->row_count)) {
      return flight->first_row + flight->settled;
    }
  }
  return walked_.rows;
}

}  // namespace dovetail::detail
