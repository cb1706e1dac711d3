#include "plan/plan_run.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "base/text/number_text.h"
#include "plan/log/field_names.h"
#include "plan/log/log_file.h"
#include "plan/log/traffic.h"
#include "plan/policy_set.h"
#include "plan/replay.h"
#include "plan/report/denial_list.h"
#include "plan/report/shown_text.h"
#include "plan/report/shown_values.h"
#include "plan/report/tally.h"

namespace sluice::plan {
namespace {

using Failure = std::unexpected<std::string>;
using Policies = std::expected<std::unique_ptr<PolicySet>, std::string>;

constexpr std::uint64_t kProgressRequests = 1 << 17;  // between two calls of `progress`

// The policies to try.
Policies tried(const PlanOptions& options, const Clock& clock) {
  if (!options.in_force) return PolicySet::load(options.policies, clock);
  auto all = PolicySet::read(options.policies);
  if (!all) return Failure(all.error());
  std::set<std::string, std::less<>> ids;
  for (const Policy& policy : *all) ids.insert(policy.id);
  for (const Policy& policy : *options.in_force)
    if (!ids.contains(policy.id)) all->push_back(policy);
  return PolicySet::of(*std::move(all), clock);
}

// Those to compare with.
Policies reference(const PlanOptions& options, const Clock& clock) {
  return options.in_force ? PolicySet::of(*options.in_force, clock) : PolicySet::load(options.against, clock);
}

std::vector<std::string> presentable_all(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) out.push_back(name == "-" ? "standard input" : presentable(name));
  return out;
}

std::string nothing_replayed(const LogCounts& counts) {
  std::string sentence = "no requests found in " + grouped(counts.lines) + " lines";
  if (counts.first_bad.empty()) return sentence + "; give an access log or usage events.";
  const BadLine& first = counts.first_bad.front();
  return sentence + "; " + presentable(first.log) + " line " + std::to_string(first.number) + ": " +
         presentable(first.reason) + " (see --format).";
}

std::expected<void, std::string> replay_all(Traffic& traffic, Replay& replay,
                                            const std::function<void(std::uint64_t)>& progress) {
  for (std::uint64_t count = 0;; ++count) {
    if (progress && count % kProgressRequests == 0) progress(count);
    const auto entry = traffic.next();
    if (!entry) return Failure(entry.error());
    if (!*entry) return {};
    if (!replay.add(**entry))
      return Failure("too many keys in use at once for 1 GiB of counters; replay a part of the log.");
  }
}

std::expected<void, std::string> open_all(const std::vector<std::string>& logs, Traffic& traffic) {
  if (logs.size() > kLogsMax)
    return Failure("at most " + std::to_string(kLogsMax) + " logs can be replayed together.");
  if (std::ranges::count(logs, "-") > 1) return Failure("standard input (-) can be read only once.");
  for (const std::string& path : logs) {
    auto opened = open_log(path);
    if (!opened) return Failure(opened.error());
    traffic.add(path == "-" ? "standard input" : path, std::move(*opened));
  }
  return {};
}

}  // namespace

std::expected<Report, std::string> run_plan(const PlanOptions& options) {
  ManualClock clock(0);
  const auto policies = tried(options, clock);
  if (!policies) return Failure(policies.error());
  std::unique_ptr<PolicySet> against;
  std::vector<std::string> dimensions = (*policies)->used_dimensions();
  if (!options.against.empty()) {
    auto loaded = reference(options, clock);
    if (!loaded) return Failure(loaded.error());
    against = std::move(*loaded);
    std::ranges::copy(against->used_dimensions(), std::back_inserter(dimensions));
  }

  FieldNames names;
  const auto maker = RequestMaker::make(options.rules, names, dimensions);
  if (!maker) return Failure(maker.error());
  Traffic traffic(options.format, names, *maker);
  if (const auto opened = open_all(options.logs, traffic); !opened) return Failure(opened.error());

  const ShownValues shown(*maker, options.pseudonyms.get());
  Replay::OnDenial on_denial;
  std::optional<DenialList> denials;
  if (!options.denials_file.empty()) {
    auto created = DenialList::create(options.denials_file, shown);
    if (!created) return Failure(created.error());
    denials = std::move(*created);
    on_denial = [&denials](const Replay::Denial& denial) { denials->add(denial); };
  }

  Tally tally((*policies)->hasher(), shown);
  Replay replay({clock, **policies, against.get(), tally, on_denial});
  if (const auto replayed = replay_all(traffic, replay, options.progress); !replayed)
    return Failure(replayed.error());
  if (denials)
    if (const auto written = denials->finish(); !written) return Failure(written.error());
  if (tally.totals().requests == 0) return Failure(nothing_replayed(traffic.counts()));

  Report report = make_report(tally, traffic.counts(), replay.disorder(), **policies, options.top);
  report.logs = presentable_all(options.logs);
  report.policies = presentable_all(options.policies);
  report.against = presentable_all(options.against);
  return report;
}

}  // namespace sluice::plan
