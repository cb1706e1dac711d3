#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/log/traffic.h"
#include "plan/policy_set.h"
#include "plan/replay.h"
#include "plan/report/tally.h"
#include "plan/report/timeline.h"

namespace sluice::plan {

// The highest amount in one window of time, and when that window began.
struct Peak {
  std::uint64_t amount = 0;
  std::int64_t begin_us = 0;
};

// A limit that denied.
struct ReportLimit {
  std::string policy;
  std::string limit;
  std::string allows;  // "100/s, burst 20"
  Happened happened;
  std::uint64_t keys = 0;
  Peak worst_second;  // denials
  Peak worst_minute;
};

// A key that was denied: the counter that had no room. Most denied first.
struct ReportKey {
  std::string label;  // "user alice"
  std::string policy;
  std::string limit;
  std::string rate;  // "100/s": the rate it is allowed
  Peak asked;        // the most it requested within one period of the rate
  std::string peak;  // "317/s"
  Happened happened;
};

// The resources that one pattern of a policy matches, or one resource that policies for any apply to.
struct ReportResource {
  std::string resource;
  ResourceTally tally;
};

// A shadow policy, which denies no request.
struct ReportShadow {
  std::string policy;
  std::uint64_t would_deny = 0;
};

// Who is behind the requests that are newly denied.
struct NewlyDenied {
  std::uint64_t keys = 0;   // how many callers
  bool is_complete = true;  // false: at least that many
  std::string most;         // the label of the one with most of them; empty: none is newly denied
  std::uint64_t of_most = 0;
};

// The contents of a report, whatever its format. All texts can be shown as they are, except for what the
// format itself must escape.
struct Report {
  std::vector<std::string> logs;
  std::vector<std::string> policies;
  std::vector<std::string> against;  // empty: the log says what was denied then
  LogCounts lines;
  Totals totals;
  NewlyDenied newly_denied;
  Timeline timeline;
  Disorder disorder;
  std::vector<ReportLimit> limits;  // most denials first
  std::vector<ReportKey> keys;      // the first of `keys_denied`
  std::uint64_t keys_denied = 0;
  std::vector<ReportResource> resources;  // with denials; the first of `resources_denied`
  std::uint64_t resources_denied = 0;
  std::vector<ReportShadow> shadows;
  std::vector<std::string> notes;  // sentences that the reader should know
};

// The results in order of importance, with the longer lists cut to `top`. The caller fills in the names of
// logs and policies, and `against`.
Report make_report(const Tally& tally, const LogCounts& lines, const Disorder& disorder, PolicySet& policies,
                   std::size_t top);

// The answer in a sentence: "10.8 % newly denied, 3 keys; 82 % is user batch-importer".
std::string verdict_text(const Report& report);

// The report for a terminal, for programs, and for a browser (one self-contained file).
std::string to_table(const Report& report);
std::string to_json(const Report& report);
std::string to_html(const Report& report);

}  // namespace sluice::plan
