#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/pseudonyms.h"
#include "plan/line_parser.h"
#include "plan/report.h"
#include "plan/request_maker.h"

namespace sluice::plan {

// What to replay against what.
struct PlanOptions {
  std::vector<std::string> logs;      // files, gzip or not; "-" is standard input
  std::vector<std::string> policies;  // files and directories
  std::vector<std::string> against;   // those in force today; empty: the log tells who was denied then
  std::optional<LogFormat> format;    // absent: each log's own first line decides
  RequestRules rules;
  std::shared_ptr<const Pseudonyms> pseudonyms;  // of keys, users and addresses; null: they are shown
  std::string denials_file;                      // empty: none
  std::size_t top = 10;                          // rows of the longer tables
};

// Replays the logs and sums up. The error is a sentence: a file that can't be read, policies that are not
// valid, no request at all.
std::expected<Report, std::string> run_plan(const PlanOptions& options);

}  // namespace sluice::plan
