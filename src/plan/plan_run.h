#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/secret/pseudonyms.h"
#include "plan/log/line_parser.h"
#include "plan/log/request_maker.h"
#include "plan/report/report.h"
#include "policy/model.h"

namespace sluice::plan {

// Which logs to replay, and against which policies.
struct PlanOptions {
  std::vector<std::string> logs;      // files, gzipped or not; "-" is standard input
  std::vector<std::string> policies;  // files and directories
  std::vector<std::string> against;   // the policies in force today; empty: the log says what was denied then
  // The policies in force on a server, to compare with. Those of `policies` are tried together with them, in
  // place of the ones with the same ids, as if they were applied there. REQUIRES: `against` names the server.
  std::optional<std::vector<Policy>> in_force;
  std::optional<LogFormat> format;  // absent: the first line of each log decides
  RequestRules rules;
  std::shared_ptr<const Pseudonyms> pseudonyms;  // for keys, users and addresses; null: shown as they are
  std::string denials_file;                      // empty: none
  std::size_t top = 10;                          // rows of the longer tables
  std::function<void(std::uint64_t)> progress;   // told the number of requests, now and then; may be empty
};

// Replays the logs and returns the summary. The error is a sentence: a file that cannot be read, invalid
// policies, or no request at all.
std::expected<Report, std::string> run_plan(const PlanOptions& options);

}  // namespace sluice::plan
