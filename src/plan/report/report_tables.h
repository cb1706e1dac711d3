#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan/report/report.h"

namespace sluice::plan {

// A part of a report as rows of text: the same wording for the terminal and the browser.
struct ReportTable {
  std::string title;
  std::size_t names = 1;                       // this many columns hold names, the rest numbers
  std::vector<std::vector<std::string>> rows;  // the first row has the column titles; none: nothing to report
};

// Label, count, and share of all requests; without a title row.
ReportTable totals_table(const Report& report);

ReportTable limits_table(const Report& report);
ReportTable keys_table(const Report& report);
ReportTable resources_table(const Report& report);
ReportTable shadows_table(const Report& report);
ReportTable bad_lines_table(const Report& report);

}  // namespace sluice::plan
