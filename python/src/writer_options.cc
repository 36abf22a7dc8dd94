// SPDX-License-Identifier: Apache-2.0
#include "python/src/writer_options.h"

#include <string>

#include <pybind11/stl.h>

#include "format/words/convert_words.h"
#include "python/src/option_table.h"

namespace dovetail::python {

namespace py = pybind11;

namespace {

void set_dataset_id(WriterOptions& options, const char* name, py::handle given) {
  options.dataset_id = to_dataset_id(name, given);
}

void set_schema(WriterOptions& options, const char* name, py::handle given) {
  options.schema = parse_schema(to_option<std::string>(name, given)).value();
}

void set_metadata(WriterOptions& options, const char* name, py::handle given) {
  if (!py::isinstance<py::dict>(given))
    throw py::type_error(std::string(name) + " must be a dict of strings, not " + type_name(given));
  options.metadata.clear();
  for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(given)) {
    options.metadata.emplace(to_utf8("a name in metadata", key), to_utf8("a text in metadata", value));
  }
}

// `schema` is left to the caller: `convert` can infer it.
constexpr const char* kPackingDoc = R"(    codec: "none", "snappy" or "zstd".
    codec_level: of zstd, 1 to 19.
    block_bytes: records that are compressed together.
    run_bytes: records that are read together.
    run_records: the same as a number of records; 0 goes by run_bytes.
    dataset_id: 32 hex digits, for output that is reproducible; random by default.
    record_type: text that describes a record, kept in the file.
    metadata: texts by name, kept in the file.
    max_record_bytes: larger records are refused.
    overwrite: whether what is there may be replaced.
)";

constexpr OptionSetter<WriterOptions> kPackingSetters[] = {
    {"codec", set_word<format::kCodecWords, &WriterOptions::codec>},
    {"codec_level", set_field<&WriterOptions::codec_level>},
    {"block_bytes", set_field<&WriterOptions::block_bytes>},
    {"run_bytes", set_field<&WriterOptions::run_bytes>},
    {"run_records", set_field<&WriterOptions::run_records>},
    {"dataset_id", set_dataset_id},
    {"record_type", set_field<&WriterOptions::record_type>},
    {"schema", set_schema},
    {"metadata", set_metadata},
    {"max_record_bytes", set_field<&WriterOptions::max_record_bytes>},
    {"overwrite", set_field<&WriterOptions::overwrite>},
};

/// A dataset numbers its shards itself.
constexpr OptionSetter<WriterOptions> kShardSetters[] = {
    {"shard_number", set_field<&WriterOptions::shard_number>},
    {"check_schema", set_field<&WriterOptions::check_schema>},
};

constexpr OptionSetter<DatasetWriterOptions> kDatasetSetters[] = {
    {"shard_bytes", set_field<&DatasetWriterOptions::shard_bytes>},
    {"shards", set_field<&DatasetWriterOptions::shards>},
    {"expected_records", set_field<&DatasetWriterOptions::expected_records>},
    {"encode_threads", set_field<&DatasetWriterOptions::encode_threads>},
    {"check_schema", set_field<&DatasetWriterOptions::shard, &WriterOptions::check_schema>},
};

}  // namespace

DatasetId to_dataset_id(const char* name, py::handle given) {
  const Result<DatasetId> id = DatasetId::from_hex(to_option<std::string>(name, given));
  if (!id.has_value()) refuse(std::string(name) + ": " + id.error().detail());
  return *id;
}

bool set_packing_option(WriterOptions& options, const std::string& name, py::handle given) {
  return set_option<WriterOptions>(kPackingSetters, options, name, given);
}

std::string with_packing_doc(const char* head, const char* tail) {
  return std::string(head) + kPackingDoc + tail;
}

std::string packing_option_names() {
  return option_names<WriterOptions>(kPackingSetters);
}

void set_options(WriterOptions& options, const py::dict& given) {
  for (const auto& [key, value] : given) {
    const std::string name = option_name(key);
    const bool known =
        set_packing_option(options, name, value) || set_option<WriterOptions>(kShardSetters, options, name, value);
    if (!known) refuse_option(key, option_names<WriterOptions>(kShardSetters) + ", " + packing_option_names());
  }
}

void set_options(DatasetWriterOptions& options, const py::dict& given) {
  for (const auto& [key, value] : given) {
    const std::string name = option_name(key);
    const bool known = set_option<DatasetWriterOptions>(kDatasetSetters, options, name, value) ||
                       set_packing_option(options.shard, name, value);
    if (!known) refuse_option(key, option_names<DatasetWriterOptions>(kDatasetSetters) + ", " + packing_option_names());
  }
}

}  // namespace dovetail::python
