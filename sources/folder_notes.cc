// SPDX-License-Identifier: Apache-2.0
#include "sources/folder_notes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "format/text/count_of.h"
#include "format/text/lower_case.h"

namespace dovetail::detail {
namespace {

bool is_letter_or_digit(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// Whether one of the words is in the path. Numbers at its end do not count, as in `val2017`.
template <std::size_t N>
bool has_word(const std::string& path, const std::array<std::string_view, N>& words) {
  for (auto begin = path.begin(); begin != path.end();) {
    begin = std::find_if(begin, path.end(), is_letter_or_digit);
    const auto end = std::find_if_not(begin, path.end(), is_letter_or_digit);
    std::string_view word(begin, end);
    while (!word.empty() && is_digit(word.back())) word.remove_suffix(1);
    if (std::find(words.begin(), words.end(), word) != words.end()) return true;
    begin = end;
  }
  return false;
}

}  // namespace

std::vector<std::string> notes_on_files(const SourceListing& listing) {
  constexpr std::array<std::string_view, 2> kTraining = {"train", "training"};
  constexpr std::array<std::string_view, 7> kEvaluation = {"test", "val", "valid", "validation", "dev", "eval", "t10k"};
  const ListedFile* training = nullptr;
  const ListedFile* evaluation = nullptr;
  const ListedFile* empty = nullptr;
  std::uint64_t empties = 0;
  for (const ListedFile& file : listing.files) {
    if (file.size == 0 && empties++ == 0) empty = &file;
    if (training != nullptr && evaluation != nullptr) continue;
    const std::string name = format::lower_case(file.name);
    if (has_word(name, kTraining)) {
      if (training == nullptr) training = &file;
    } else if (evaluation == nullptr && has_word(name, kEvaluation)) {
      evaluation = &file;
    }
  }
  std::vector<std::string> notes;
  if (training != nullptr && evaluation != nullptr) {
    notes.push_back("files of training and of evaluation become one dataset, such as " + listing.folder +
                    training->name + " and " + listing.folder + evaluation->name +
                    "; --include or --exclude chooses some");
  }
  if (empty != nullptr) {
    notes.push_back(format::count_of(empties, "file") + (empties == 1 ? " is empty: " : " are empty, such as ") +
                    listing.folder + empty->name);
  }
  return notes;
}

}  // namespace dovetail::detail
