#include "admin/routes.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "admin/audit_scope.h"
#include "admin/policies/policy_views.h"
#include "base/limits/control_limits.h"
#include "base/text/encode.h"
#include "base/try.h"
#include "document/document_builder.h"
#include "document/document_text.h"
#include "document/literals.h"

namespace sluice::admin {
namespace {

using ledger::Kind;
using ledger::Record;

// At most this many records are read for one page, whatever the filter.
constexpr std::int64_t kLookedAtMax = 20'000;
// And for at most this many of them the version before.
constexpr std::int64_t kLookupsMax = 2'000;
constexpr std::int64_t kReadAtATime = kRecordsAtATime;

bool is_same(const DocumentNode& a, const DocumentNode& b) {
  std::string text_of_a, text_of_b;
  append_json(a, text_of_a);
  append_json(b, text_of_b);
  return text_of_a == text_of_b;
}

// The entry as the caller may see it; none: they may not see it. Adds what was read for that to `lookups`.
Result<std::optional<DocumentNode>> entry_view(AdminContext& context, const AuditScope& scope,
                                               const Record& record, std::int64_t& lookups) {
  DocumentNode after = scope.visible(record.kind, record.body, record.name), before = null_node();
  const bool is_shown = scope.is_everything() || after.kind != DocumentNode::Kind::kNull;
  // Of a user, a change may concern only what others have agreed.
  const bool depends = !scope.is_everything() && (record.is_withdrawn() || record.kind == Kind::kUser);
  if (!is_shown && !depends) return std::nullopt;
  if (record.version > 1) {
    ++lookups;
    const auto previous =
        SLUICE_TRY(context.follower.ledger().find(record.kind, record.name, record.version - 1));
    if (previous) before = scope.visible(record.kind, previous->body, record.name);
  }
  if (depends && is_same(before, after)) return std::nullopt;
  DocumentNode view = map_node();
  put(view, "revision", number_node(record.revision));
  put(view, "at", text_node(instant_text(record.at_us)));
  put(view, "actor", text_node(record.actor));
  put(view, "action", text_node(record.action));
  put(view, "kind", text_node(to_string(record.kind)));
  put(view, "name", text_node(record.name));
  if (record.version != 0) put(view, "version", number_node(record.version));
  put_text(view, "reason", record.reason);
  put(view, "before", std::move(before));
  put(view, "after", std::move(after));
  // It covers what the caller may not see, too, which could be guessed with it.
  if (scope.is_everything()) put(view, "hash", text_node(to_hex(record.hash)));
  return view;
}

// The records from revision `begin` up to before `end`; old ones may be missing.
Result<std::vector<Record>> read_range(ledger::Ledger& ledger, std::int64_t begin, std::int64_t end) {
  std::vector<Record> records;
  for (std::int64_t at = begin - 1; at < end - 1;) {
    auto page = SLUICE_TRY(ledger.read_after(at, static_cast<std::size_t>(end - 1 - at)));
    if (page.empty()) break;
    at = page.back().revision;
    std::ranges::move(page, std::back_inserter(records));
  }
  std::erase_if(records, [&](const Record& record) { return record.revision >= end; });
  return records;
}

bool fits(const AdminCall& call, const Record& record) {
  const auto is = [&](std::string_view name, std::string_view value) {
    const std::string_view wanted = call.parameter(name);
    return wanted.empty() || wanted == value;
  };
  return is("kind", to_string(record.kind)) && is("name", record.name) && is("actor", record.actor) &&
         is("action", record.action);
}

}  // namespace

Result<AdminAnswer> list_audit(AdminContext& context, const AdminCall& call) {
  const auto limit = SLUICE_TRY(call.number("limit", 1, kPageMax, kPageDefault));
  const auto newest = SLUICE_TRY(context.follower.ledger().revision());
  const auto below = SLUICE_TRY(call.number("below", 1, INT64_MAX, newest + 1));

  const auto oldest = SLUICE_TRY(context.follower.ledger().read_after(0, 1));
  const std::int64_t first = oldest.empty() ? 1 : oldest.front().revision;  // older records were removed

  const AuditScope scope(context, call);
  std::int64_t lookups = 0;
  PageItems items;
  bool is_full = false;
  std::int64_t end = std::min(below, newest + 1);  // records from here on were already listed
  const std::int64_t stop = std::max(end - kLookedAtMax, first);
  while (end > stop && !is_full && items.size() < limit && lookups < kLookupsMax) {
    const std::int64_t begin = std::max(end - kReadAtATime, stop);
    const auto records = SLUICE_TRY(read_range(context.follower.ledger(), begin, end));
    for (auto record = records.rbegin();
         record != records.rend() && items.size() < limit && lookups < kLookupsMax; ++record) {
      if (fits(call, *record)) {
        auto entry = SLUICE_TRY(entry_view(context, scope, *record, lookups));
        if (is_full = entry && !items.add(*std::move(entry)); is_full) break;
      }
      end = record->revision;
    }
    if (!is_full && items.size() < limit && lookups < kLookupsMax) end = begin;
  }
  AdminAnswer answer;
  answer.body = map_node();
  put(answer.body, "entries", items.take());
  put(answer.body, "next", end > first ? number_node(end) : null_node());
  return answer;
}

}  // namespace sluice::admin
