// SPDX-License-Identifier: Apache-2.0
// `dovetail show`: the records of any past or future step, computed from the plan.
#include <array>
#include <memory>
#include <string_view>

#include <dovetail/dataset.h>

#include "format/text/utf8.h"
#include "format/try.h"
#include "inspect/record_picker.h"
#include "tools/command/arguments.h"
#include "tools/command/commands.h"
#include "tools/command/json.h"
#include "tools/command/messages.h"
#include "tools/command/render.h"
#include "tools/command/sink.h"
#include "tools/plan/plan_arguments.h"
#include "tools/plan/step_rows.h"
#include "tools/records/output_form.h"
#include "tools/records/record_json.h"

namespace dovetail::tools {

namespace {

struct ShowArguments {
  std::vector<std::string> paths;
  StepQuery query;
  PlanFlags plan;
  OutputForm form = OutputForm::text;
  bool cat = false;
  bool json = false;
};

std::string_view word_of(RowStatus status) {
  // As planned; the delivered status may differ.
  constexpr std::array<std::string_view, 3> kWords{"empty", "first", "repeated"};
  return kWords[static_cast<std::size_t>(status)];
}

boost::json::object to_json(const Dataset& dataset, const StepRow& row) {
  boost::json::object object;
  if (row.rank) object["rank"] = *row.rank;
  object["row"] = row.row;
  object["status"] = static_cast<unsigned>(row.record.status);
  if (row.record.id == kNoId) {
    for (const char* name : {"id", "shard", "name", "record"}) object[name] = nullptr;
    return object;
  }
  const Dataset::Place place = dataset.locate(row.record.id);
  object["id"] = row.record.id;
  object["shard"] = place.shard;
  object["name"] = format::to_utf8(dataset.shards()[place.shard].name);
  object["record"] = place.record;
  return object;
}

std::string to_json_text(const Dataset& dataset, const StepRows& rows) {
  boost::json::array list;
  for (const StepRow& row : rows.rows) list.push_back(to_json(dataset, row));
  return to_line(boost::json::object{{"plan_id", rows.plan_id.to_hex()},
                                     {"epoch", rows.position.epoch},
                                     {"step", rows.position.step},
                                     {"steps", rows.steps},
                                     {"rows", std::move(list)}});
}

std::string to_text(const Dataset& dataset, const StepRows& rows) {
  Listing listing;
  listing.add("plan", rows.plan_id.to_hex());
  listing.add("epoch", rows.position.epoch);
  listing.add("step", std::to_string(rows.position.step) + " of " + std::to_string(rows.steps));
  Table table({"rank", "row", "id", "status", "record", "shard"}, true);
  for (const StepRow& row : rows.rows) {
    std::vector<std::string> cells{row.rank ? std::to_string(*row.rank) : "-",
                                   std::to_string(row.row),
                                   "-",
                                   std::string(word_of(row.record.status)),
                                   "-",
                                   "-"};
    if (row.record.id != kNoId) {
      const Dataset::Place place = dataset.locate(row.record.id);
      cells[2] = std::to_string(row.record.id);
      cells[4] = std::to_string(place.record);
      cells[5] = dataset.shards()[place.shard].name;
    }
    table.add(std::move(cells));
  }
  return listing.to_text() + '\n' + table.to_text();
}

Result<void> write_records(Sink& out, const Dataset& dataset, const StepRows& rows, const ShowArguments& arguments) {
  inspect::RecordPicker picker(dataset);
  const OutputForm form = form_for_output(arguments.form);
  for (const StepRow& row : rows.rows) {
    if (!out.good()) break;
    if (row.record.id == kNoId) {
      if (arguments.json) out.write(to_line(to_json(dataset, row)));
      continue;
    }
    const Dataset::Place place = dataset.locate(row.record.id);
    DOVETAIL_ASSIGN(const ByteView bytes, picker.read(place));
    const PlacedRecord record{row.record.id, place.shard, place.record, bytes};
    if (!arguments.json) {
      std::string text;
      append_record(text, record, form);
      out.write(text);
      continue;
    }
    boost::json::object object = to_json(dataset, row);
    for (const auto& field : to_json(record)) object.emplace(field.key(), field.value());
    out.write(to_line(object));
  }
  return {};
}

Result<int> run(const ShowArguments& arguments) {
  DOVETAIL_ASSIGN(const Dataset dataset, open_datasets(arguments.paths));
  DOVETAIL_ASSIGN(const StepRows rows, rows_of_step(arguments.plan, dataset.shape(), arguments.query));

  Sink out = Sink::standard_output();
  Result<void> read;
  if (arguments.cat) {
    read = write_records(out, dataset, rows, arguments);
  } else {
    out.write(arguments.json ? to_json_text(dataset, rows) : to_text(dataset, rows));
  }
  // Write the records before a failure first; they are good.
  const Result<void> written = out.finish();
  if (!read) return read.error();
  if (!written) return written.error();
  return kExitGood;
}

}  // namespace

void add_show(CommandLine& line) {
  const auto arguments = std::make_shared<ShowArguments>();
  Flags flags = line.subcommand("show", "List or print the records of any step of a run, without reading the others",
                                {"dovetail show data --step 3 --world 8 --batch 16",
                                 "dovetail show data --step 3 --world 8 --batch 16 --rank 0 --cat --format hex"},
                                [arguments] { return run(*arguments); });
  add_paths(flags, arguments->paths);
  flags.add("--step", arguments->query.step, "The step, from 0");
  flags.add("--rank", arguments->query.rank, "List only this rank; for replicas, which read the same, the first one");
  flags.add("--cat", arguments->cat, "Print the records themselves");
  add_output_form(flags, arguments->form);
  flags.add("--json", arguments->json, "Print JSON; with --cat one object per row");
  flags.group("What was read");
  flags
      .add("--world", arguments->plan.world,
           "Number of ranks; without it and --batch, the listing of --from-state has no ranks")
      .preset("1");
  add_plan_arguments(flags, arguments->plan);
  flags.add("--epoch", arguments->query.epoch, "The epoch; default: 0, or that of the state");
}

}  // namespace dovetail::tools
