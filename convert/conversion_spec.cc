// SPDX-License-Identifier: Apache-2.0
#include "convert/conversion_spec.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <unordered_map>

#include <dovetail/dataset.h>

#include "format/try.h"
#include "sources/bytes/folder_names.h"
#include "sources/bytes/hashes.h"
#include "sources/bytes/names.h"
#include "sources/left_out.h"

namespace dovetail::detail {

namespace fs = std::filesystem;

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
    } else {
      ++i;
      out += text[i] == 'n' ? '\n' : text[i];
    }
  }
  return out;
}

std::string in_quotes(std::string_view text) {
  return text.empty() ? std::string("not given") : "'" + std::string(text) + "'";
}

struct SeenFile {
  std::string name;
  std::uint64_t size = 0;
  std::string written;  // modification time in seconds and nanoseconds, for any year
};

Result<SeenFile> look_at(const fs::path& path, std::string name) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return Error::from_errno(errno, "cannot examine the file").in_file(path.native());
  const std::string written = std::to_string(status.st_mtim.tv_sec) + '.' + std::to_string(status.st_mtim.tv_nsec);
  return SeenFile{std::move(name), static_cast<std::uint64_t>(status.st_size), written};
}

// Adds the files below a folder. `below` is a path relative to `folder`; both are empty or end with
// a slash. Does not follow links to folders.
Result<void> look_below(const std::string& folder, const std::string& below, const SourceOptions& options,
                        std::vector<SeenFile>& seen) {
  DOVETAIL_ASSIGN(auto found, names_in(folder + below));
  for (const std::string& name : found.names) {
    std::string relative = below + name;
    const std::string path = folder + relative;
    std::error_code unknown;
    const bool is_folder = fs::is_directory(fs::symlink_status(path, unknown));
    if (reason_to_leave(relative, is_folder, options) != nullptr) continue;
    if (is_folder) {
      DOVETAIL_TRY(look_below(folder, relative + '/', options, seen));
    } else if (fs::is_regular_file(path, unknown)) {
      DOVETAIL_ASSIGN(auto file, look_at(path, std::move(relative)));
      seen.push_back(std::move(file));
    }
  }
  return {};
}

Result<void> look_into_folder(const std::string& folder, const SourceOptions& options, std::vector<SeenFile>& seen) {
  DOVETAIL_TRY(look_below((fs::path(folder) / "").native(), {}, options, seen));
  std::sort(seen.begin(), seen.end(), [](const SeenFile& a, const SeenFile& b) { return a.name < b.name; });
  return {};
}

// Adds a source that is a file, and the files beside it that are read together with it.
Result<void> look_beside(const std::string& path, std::vector<SeenFile>& seen) {
  std::vector<std::string> paths = {path};
  std::error_code failed;
  if (format_of_name(path) == SourceFormat::recordio) paths.push_back(fs::path(path).replace_extension(".idx"));
  for (std::string& labels : labels_of_images(path)) paths.push_back(std::move(labels));
  for (const std::string& each : paths) {
    if (&each != &paths.front() && !fs::exists(each, failed)) continue;
    DOVETAIL_ASSIGN(auto file, look_at(each, fs::path(each).filename().native()));
    seen.push_back(std::move(file));
  }
  return {};
}

Result<void> look_at_shards(const std::string& path, std::vector<SeenFile>& seen) {
  DOVETAIL_ASSIGN(auto dataset, Dataset::open(path));
  for (std::uint32_t i = 0; i != dataset.shards().size(); ++i) {
    const std::string shard = dataset.shard_path(i);
    std::error_code failed;
    if (!fs::exists(shard, failed)) continue;  // a missing shard may lie outside the converted range
    DOVETAIL_ASSIGN(auto file, look_at(shard, fs::path(shard).filename().native()));
    seen.push_back(std::move(file));
  }
  return {};
}

}  // namespace

const std::string& ConversionSpec::operator[](std::string_view name) const noexcept {
  static const std::string kNone;
  const auto found = std::find_if(texts_.begin(), texts_.end(), [&](const auto& fact) { return fact.first == name; });
  return found == texts_.end() ? kNone : found->second;
}

std::string ConversionSpec::to_text() const {
  std::string text;
  for (const auto& [name, value] : texts_) text += name + ' ' + escaped(value) + '\n';
  return text;
}

Result<ConversionSpec> ConversionSpec::parse(std::string_view text) {
  ConversionSpec spec;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t space = text.find(' ');
    if (end == std::string_view::npos || space >= end) {
      return Error(Errc::bad_message, "not the description of a conversion");
    }
    spec.add(std::string(text.substr(0, space)), unescaped(text.substr(space + 1, end - space - 1)));
    text.remove_prefix(end + 1);
  }
  return spec;
}

std::optional<std::string> ConversionSpec::difference_from(const ConversionSpec& other,
                                                           std::string_view skipped) const {
  // Maps, because each source has a text, and there may be a million sources. If a name occurs
  // twice, its first text counts.
  using Texts = std::unordered_map<std::string_view, std::string_view>;
  const Texts texts(texts_.begin(), texts_.end());
  const Texts other_texts(other.texts_.begin(), other.texts_.end());
  const auto text_in = [](const Texts& all, const std::string& name) {
    const auto found = all.find(name);
    return found == all.end() ? std::string_view() : found->second;
  };
  for (const ConversionSpec* const spec : {this, &other}) {
    for (const auto& [name, text] : spec->texts_) {
      const std::string_view mine = text_in(texts, name);
      const std::string_view theirs = text_in(other_texts, name);
      if (mine == theirs || (!skipped.empty() && name.starts_with(skipped))) continue;
      const std::string shown = name.starts_with(kLocal) ? name.substr(kLocal.size()) : name;
      return shown + " is " + in_quotes(mine) + " here, but " + in_quotes(theirs) + " there";
    }
  }
  return std::nullopt;
}

DatasetId ConversionSpec::derived_id() const {
  ConversionSpec shared;
  for (const auto& [name, value] : texts_) {
    if (!name.starts_with(kLocal)) shared.add(name, value);
  }
  const std::string text = shared.to_text();
  return *DatasetId::from_hex(hash128(as_bytes(text)).to_hex());
}

Result<InputIdentity> identify_inputs(const std::vector<std::string>& paths, const SourceOptions& options) {
  std::string content;
  std::string times;
  for (const std::string& path : paths) {
    std::vector<SeenFile> seen;
    std::error_code failed;
    const bool exists = fs::exists(path, failed);
    const bool folder = exists && fs::is_directory(path, failed);
    auto looked = folder ? look_into_folder(path, options, seen) : Result<void>();
    if (exists && !folder) looked = look_beside(path, seen);
    // A glob or the manifest of a dataset stands for its shards.
    if (!exists || (!folder && format_of_name(path) == SourceFormat::dovetail)) looked = look_at_shards(path, seen);
    if (!looked) return looked.error();
    for (const SeenFile& file : seen) {
      content += file.name + '\0' + std::to_string(file.size) + '\n';
      times += file.written + '\n';
    }
    content += '\n';
  }
  return InputIdentity{hash128(as_bytes(content)).to_hex(), hash128(as_bytes(times)).to_hex()};
}

}  // namespace dovetail::detail
