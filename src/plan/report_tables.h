#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/report.h"

namespace sluice::plan {

// A part of a report as rows of text: the same words for the terminal and for the browser.
struct ReportTable {
  std::string title;
  std::size_t names = 1;                       // so many columns hold names, the rest numbers
  std::vector<std::vector<std::string>> rows;  // the first names the columns; none at all: nothing to tell
};

// What, how many, and their share of all requests; without a row of names.
ReportTable totals_table(const Report& report);

ReportTable limits_table(const Report& report);
ReportTable keys_table(const Report& report);
ReportTable resources_table(const Report& report);
ReportTable shadows_table(const Report& report);
ReportTable bad_lines_table(const Report& report);

}  // namespace sluice::plan
