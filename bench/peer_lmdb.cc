// SPDX-License-Identifier: Apache-2.0
#include <lmdb.h>

#include <memory>
#include <stdexcept>

#include "bench/contestants.h"
#include "bench/shuffled_rows.h"

namespace dovetail::bench {

namespace {

void check(int code, const char* what) {
  if (code != 0) throw std::runtime_error(std::string(what) + ": " + mdb_strerror(code));
}

struct Close {
  void operator()(MDB_env* env) const { mdb_env_close(env); }
  void operator()(MDB_txn* txn) const { mdb_txn_abort(txn); }
  void operator()(MDB_cursor* cursor) const { mdb_cursor_close(cursor); }
};
using Environment = std::unique_ptr<MDB_env, Close>;
using Transaction = std::unique_ptr<MDB_txn, Close>;
using Cursor = std::unique_ptr<MDB_cursor, Close>;

Environment open(const std::string& path, std::size_t map_bytes, unsigned flags) {
  MDB_env* raw = nullptr;
  check(mdb_env_create(&raw), "mdb_env_create");
  Environment environment(raw);
  check(mdb_env_set_mapsize(raw, map_bytes), "mdb_env_set_mapsize");
  check(mdb_env_open(raw, path.c_str(), MDB_NOSUBDIR | flags, 0644), "mdb_env_open");
  return environment;
}

Transaction begin(MDB_env* environment, unsigned flags) {
  MDB_txn* raw = nullptr;
  check(mdb_txn_begin(environment, nullptr, flags, &raw), "mdb_txn_begin");
  return Transaction(raw);
}

MDB_dbi open_table(MDB_txn* transaction, unsigned flags) {
  MDB_dbi table = 0;
  check(mdb_dbi_open(transaction, nullptr, MDB_INTEGERKEY | flags, &table), "mdb_dbi_open");
  return table;
}

}  // namespace

std::string lmdb_missing() {
  return {};
}

void write_lmdb(const std::string& path, std::uint64_t records, std::uint64_t bytes,
                const std::function<ByteView(std::uint64_t)>& record) {
  // Pages are 4 KiB: a record may leave the most of one empty, beside what the tree takes.
  const Environment environment = open(path, 2 * bytes + records * 4096 + (64u << 20), MDB_NOSYNC);
  constexpr std::uint64_t kCommitBytes = 64 << 20;
  std::uint64_t key_value = 0;
  while (key_value < records) {
    Transaction transaction = begin(environment.get(), 0);
    const MDB_dbi table = open_table(transaction.get(), MDB_CREATE);
    for (std::uint64_t written = 0; key_value < records && written < kCommitBytes; ++key_value) {
      const ByteView bytes_of = record(key_value);
      MDB_val key{sizeof(key_value), &key_value};
      MDB_val value{bytes_of.size(), const_cast<std::byte*>(bytes_of.data())};
      check(mdb_put(transaction.get(), table, &key, &value, MDB_APPEND), "mdb_put");
      written += bytes_of.size();
    }
    check(mdb_txn_commit(transaction.release()), "mdb_txn_commit");
  }
  check(mdb_env_sync(environment.get(), 1), "mdb_env_sync");
}

Outcome run_lmdb(const Job& job) {
  Outcome outcome;
  Start start;
  ShuffledRows rows(job, start);
  start.wait();
  // Mapped as large as it is; nobody else has it open, so it needs no lock.
  const Environment environment = open(job.data, 0, MDB_RDONLY | MDB_NOLOCK);
  const Transaction transaction = begin(environment.get(), MDB_RDONLY);
  const MDB_dbi table = open_table(transaction.get(), 0);
  MDB_cursor* raw = nullptr;
  check(mdb_cursor_open(transaction.get(), table, &raw), "mdb_cursor_open");
  const Cursor cursor(raw);
  for (std::uint32_t epoch = 0; epoch < job.epochs; ++epoch) {
    std::uint64_t at = job.records * job.rank / job.world;
    const std::uint64_t end = job.records * (job.rank + 1) / job.world;
    MDB_cursor_op operation = MDB_SET_KEY;
    const auto next = [&](std::string& record) {
      if (at == end) return false;
      MDB_val key{sizeof(at), &at};
      MDB_val value{};
      check(mdb_cursor_get(cursor.get(), &key, &value, operation), "mdb_cursor_get");
      operation = MDB_NEXT;
      ++at;
      record.assign(static_cast<const char*>(value.mv_data), value.mv_size);
      return true;
    };
    rows.epoch(next, outcome);
  }
  rows.finish(outcome);
  outcome.seconds = start.seconds();
  outcome.cpu_seconds = start.cpu_seconds();
  return outcome;
}

}  // namespace dovetail::bench
