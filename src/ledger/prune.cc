#include "ledger/prune.h"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/try.h"
#include "ledger/anchor.h"

namespace sluice::ledger {
namespace {

constexpr std::size_t kRecordsAtATime = 1000;
// Clocks differ: a few new records must not keep the old ones after them from being removed. After so many in
// a row there are no old ones. They may be on many pages, because a page ends where its bodies are large.
constexpr std::size_t kNewInARow = 1000;

// The records to remove, and the anchor that takes their place.
struct Step {
  Anchor anchor;
  std::vector<Record> removed;  // in order, without bodies
};

// Goes through the old records and decides which to remove.
class Planner {
 public:
  Planner(Ledger& ledger, const std::optional<AnchorRecord>& before, std::int64_t before_us)
      : ledger_(ledger), before_us_(before_us) {
    if (before) step_.anchor = before->anchor;
    step_.anchor.before_us = before_us;
  }

  Result<Step> run() {
    SLUICE_TRY(ledger_.for_each_listing([&](Listing&& listing) { in_force_.insert(listing.revision); }));
    std::size_t new_in_a_row = 0;
    for (std::int64_t at = 0;;) {
      auto page = SLUICE_TRY(ledger_.read_after(at, kRecordsAtATime));
      if (page.empty()) break;
      at = page.back().revision;
      for (Record& record : page) {
        new_in_a_row = record.at_us < before_us_ ? 0 : new_in_a_row + 1;
        decide(std::move(record));
      }
      if (at > step_.anchor.revision && (new_in_a_row >= kNewInARow || is_full())) break;
    }
    finish();
    return std::move(step_);
  }

 private:
  bool is_full() const { return std::ssize(step_.removed) >= kPrunedPerStep; }
  bool must_stay(const Record& record) const {
    return record.at_us >= before_us_ || record.kind == Kind::kPolicy || in_force_.contains(record.revision);
  }

  void decide(Record&& record) {
    const bool stays = must_stay(record) || is_full();
    if (stays) {
      stay_.add(record);
    } else if (record.revision > step_.anchor.revision) {
      step_.anchor.revision = record.revision;
      step_.anchor.hash = record.hash;
    }
    // Records after the last removed one stay in the chain.
    if (record.revision <= step_.anchor.revision) kept_ = stay_;
    if (stays) return;
    record.body.clear();  // the record has its hash
    step_.removed.push_back(std::move(record));
  }

  void finish() {
    step_.anchor.kept = kept_.count();
    step_.anchor.kept_hash = kept_.hash();
    step_.anchor.removed = std::ssize(step_.removed);
  }

  Ledger& ledger_;
  const std::int64_t before_us_;
  std::unordered_set<std::int64_t> in_force_;  // revisions of newest versions
  KeptHash stay_;                              // of all records seen that stay
  KeptHash kept_;                              // of those up to the anchor
  Step step_;
};

// Whether some record that was not examined yet is old enough.
Result<bool> is_due(Ledger& ledger, const std::optional<AnchorRecord>& anchor, std::int64_t before_us) {
  std::int64_t at = anchor ? anchor->anchor.revision : 0;
  for (std::size_t seen = 0; seen < kNewInARow;) {
    const auto page = SLUICE_TRY(ledger.read_after(at, kRecordsAtATime));
    if (page.empty()) break;
    if (std::ranges::any_of(page,
                            [&](const Record& record) { return record.at_us < before_us - kPruneSlackUs; }))
      return true;
    at = page.back().revision;
    seen += page.size();
  }
  return false;
}

}  // namespace

Result<std::int64_t> prune(Ledger& ledger, std::int64_t before_us, std::int64_t now_us) {
  const auto anchor = SLUICE_TRY(find_anchor(ledger));
  const bool due = SLUICE_TRY(is_due(ledger, anchor, before_us));
  if (!due) return 0;
  const auto step = SLUICE_TRY(Planner(ledger, anchor, before_us).run());
  if (step.removed.empty()) return 0;
  const Change change{.drafts = {draft_of(step.anchor, anchor ? anchor->record.version : 0)},
                      .actor = "retention",
                      .reason = "",
                      .at_us = now_us,
                      .request_id = ""};
  const auto written = ledger.append(change, step.removed);
  if (written) return std::ssize(step.removed);
  if (written.error().code == ErrorCode::kStale) return 0;
  return std::unexpected(written.error());
}

}  // namespace sluice::ledger
