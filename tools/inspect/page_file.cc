// SPDX-License-Identifier: Apache-2.0
#include "tools/inspect/page_file.h"

#include <utility>

#include "format/try.h"
#include "inspect/open_input.h"
#include "tools/command/text_file.h"
#include "tools/inspect/inspection_page.h"
#include "tools/inspect/page_records.h"

namespace dovetail::tools {

namespace {

/// The total bytes of the images on a page.
constexpr std::size_t kPageImageBytes = std::size_t{8} << 20;

}  // namespace

Result<void> check_page_file(const std::string& file, const std::string& inspected) {
  return check_outputs({file}, {inspected});
}

Result<PageFile> write_page(const std::string& file, const inspect::Inspection& inspection, SourceFormat from,
                            std::function<bool()> cancelled) {
  if (inspection.unfinished) return *inspection.unfinished;
  DOVETAIL_ASSIGN(inspect::Input input, inspect::open_input(inspection.path, from, std::move(cancelled)));
  PageRecords records(kPageImageBytes);
  DOVETAIL_TRY(take_records(std::move(input), inspection.records, records));
  const std::string page = inspection_page(inspection, records);
  DOVETAIL_TRY(replace_text(file, page));
  return PageFile{.bytes = page.size(), .records = records.cards.records(), .images = records.cards.images()};
}

}  // namespace dovetail::tools
