#include "plan/report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text/number_text.h"
#include "base/time_units.h"
#include "document/literals.h"
#include "plan/report/shown_text.h"

namespace sluice::plan {
namespace {

Peak peak_of(const PeakWindow& windows, std::int64_t width_us) {
  return {windows.most(), windows.most_window() * width_us};
}

std::string allows_text(const LimitParams& numbers) {
  std::string text = rate_text(numbers.rate);
  if (numbers.is_bucket() && numbers.capacity != numbers.rate.count)
    text += ", burst " + grouped(static_cast<std::uint64_t>(numbers.capacity));
  return text;
}

// 317 within the period of 100/s: "317/s"
std::string asked_text(std::uint64_t amount, const Rate& rate) {
  const std::string text = rate_text(rate);
  return grouped(amount) + text.substr(text.find('/'));
}

std::vector<ReportLimit> limits_of(const Tally& tally) {
  std::vector<ReportLimit> rows;
  for (const LimitTally& one : tally.limits()) {
    if (one.happened.denied == 0) continue;
    rows.push_back({one.policy->source.id, one.limit->name(), allows_text(*one.limit->numbers), one.happened,
                    one.keys, peak_of(one.seconds, kSecondUs), peak_of(one.minutes, kMinuteUs)});
  }
  std::ranges::sort(rows, [](const ReportLimit& a, const ReportLimit& b) {
    return std::tie(b.happened.denied, a.policy, a.limit) < std::tie(a.happened.denied, b.policy, b.limit);
  });
  return rows;
}

ReportKey key_row(const Tally& tally, const KeyTally& key) {
  const LimitTally& of = tally.limits()[key.limit];
  const Rate& rate = of.limit->numbers->rate;
  const Peak asked = peak_of(key.asked, rate.period_us);
  return {tally.labels()[key.label],      of.policy->source.id, of.limit->name(), rate_text(rate), asked,
          asked_text(asked.amount, rate), key.happened};
}

void add_keys(const Tally& tally, std::size_t top, Report& report) {
  std::vector<const KeyTally*> denied;
  for (const auto& [hash, key] : tally.keys())
    if (key.happened.denied > 0) denied.push_back(&key);
  report.keys_denied = denied.size();
  const auto shown = denied.begin() + static_cast<std::ptrdiff_t>(std::min(top, denied.size()));
  std::partial_sort(denied.begin(), shown, denied.end(), [&](const KeyTally* a, const KeyTally* b) {
    if (a->happened.denied != b->happened.denied) return a->happened.denied > b->happened.denied;
    return tally.labels()[a->label] < tally.labels()[b->label];
  });
  for (auto at = denied.begin(); at != shown; ++at) report.keys.push_back(key_row(tally, **at));
}

// A caller may be denied by several limits.
void add_newly_denied(const Tally& tally, Report& report) {
  std::map<std::string_view, std::uint64_t> callers;
  for (const auto& [hash, key] : tally.keys())
    if (key.happened.newly_denied > 0) callers[tally.labels()[key.label]] += key.happened.newly_denied;
  report.newly_denied.keys = callers.size();
  report.newly_denied.is_complete = tally.keys_are_complete();
  for (const auto& [label, count] : callers)
    if (count > report.newly_denied.of_most) {
      report.newly_denied.most = label;
      report.newly_denied.of_most = count;
    }
}

void add_resources(const Tally& tally, std::size_t top, Report& report) {
  std::vector<const Tally::ResourceMap::value_type*> denied;
  for (const auto& entry : tally.resources())
    if (entry.second.denied > 0) denied.push_back(&entry);
  report.resources_denied = denied.size();
  const auto shown = denied.begin() + static_cast<std::ptrdiff_t>(std::min(top, denied.size()));
  std::partial_sort(denied.begin(), shown, denied.end(), [](const auto* a, const auto* b) {
    return std::tie(b->second.denied, a->first) < std::tie(a->second.denied, b->first);
  });
  for (auto at = denied.begin(); at != shown; ++at)
    report.resources.push_back({presentable((*at)->first), (*at)->second});
}

void note_order(const Disorder& disorder, Report& report) {
  if (disorder.late == 0) return;
  std::string note =
      fmt::format("{} requests are out of order, by up to {}; they were replayed at the newest time so far.",
                  grouped(disorder.late), duration_text(disorder.latest_by_us));
  if (disorder.latest_by_us > kMinuteUs)
    note += " This makes the result inaccurate: sort the log, or pass each worker's log as a separate file.";
  report.notes.push_back(std::move(note));
}

void note_engine(PolicySet& policies, Report& report) {
  for (const auto& [id, sum] : policies.counted().by_policy) {
    if (const std::uint64_t would_deny = sum.fields[DecisionCounters::kShadowDenied]; would_deny > 0)
      report.shadows.push_back({id, would_deny});
    for (const auto& [limit, skipped] : sum.dimension_missing)
      report.notes.push_back(fmt::format(
          "Limit {} of policy {} was skipped for {} requests, which lack a dimension of its key; see --map.",
          limit, id, grouped(skipped)));
  }
  policies.snapshot().policies().for_each([&](const auto& policy) {
    if (policy->source.rollout.valid_from_us > report.totals.first_us)
      report.notes.push_back(fmt::format("Policy {} applies only from {} on, as its valid_from says.",
                                         policy->source.id,
                                         instant_text(policy->source.rollout.valid_from_us)));
  });
}

void note_requests(const Tally& tally, Report& report) {
  const Totals& totals = report.totals;
  if (totals.no_policy == totals.requests)
    report.notes.emplace_back(
        "No policy matches any request; if the policies are for specific tenants, set one with --tenant or "
        "--tenant-from.");
  if (totals.refused > 0)
    report.notes.push_back(
        fmt::format("{} requests would have got an error instead of an answer; the first: {}.",
                    grouped(totals.refused), presentable(tally.first_refusal())));
  if (!tally.keys_are_complete())
    report.notes.push_back(
        fmt::format("Only the first {} keys were tracked individually.", grouped(kPlanKeysMax)));
  if (report.lines.without_request > 0)
    report.notes.push_back(
        fmt::format("{} lines contain no request and were skipped.", grouped(report.lines.without_request)));
}

}  // namespace

std::string verdict_text(const Report& report) {
  const Totals& totals = report.totals;
  const NewlyDenied& who = report.newly_denied;
  std::string text = "Nothing is newly denied";
  if (totals.newly_denied > 0)
    text = fmt::format("{} newly denied", percentage(totals.newly_denied, totals.requests));
  if (who.keys > 0) {
    text += fmt::format(", {}{} key{}", who.is_complete ? "" : "at least ", grouped(who.keys),
                        who.keys == 1 ? "" : "s");
    text += who.keys == 1 ? ": " + who.most
                          : fmt::format("; {} is {}", percentage(who.of_most, totals.newly_denied), who.most);
  }
  if (totals.newly_allowed > 0)
    text += fmt::format("; {} newly allowed", percentage(totals.newly_allowed, totals.requests));
  return text;
}

Report make_report(const Tally& tally, const LogCounts& lines, const Disorder& disorder, PolicySet& policies,
                   std::size_t top) {
  Report report;
  report.lines = lines;
  for (BadLine& bad : report.lines.first_bad) {
    bad.log = presentable(bad.log);
    bad.reason = presentable(bad.reason);
  }
  report.totals = tally.totals();
  report.timeline = tally.timeline();
  report.disorder = disorder;
  report.limits = limits_of(tally);
  add_keys(tally, top, report);
  add_newly_denied(tally, report);
  add_resources(tally, top, report);
  note_requests(tally, report);
  note_order(disorder, report);
  note_engine(policies, report);
  return report;
}

}  // namespace sluice::plan
