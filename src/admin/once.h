#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "admin/admin_call.h"
#include "base/try.h"

namespace sluice::admin {

// The records of one change, in order. Never empty.
using Written = std::span<const ledger::Record>;

// Makes a change once for each idempotency key of a caller, however often the call is sent:
//
//   return once(context, call, [&](Written then) { return answer_again(then); }, [&] { return make_it(); });
//
// `change()` makes the change and returns its answer. A repeated call gets what `again(written)` makes of the
// records of the first one: the same answer, or none if they are not what the caller asks for now. Then the
// key was used for another change, which is an error. The state may have changed since, so `again` must not
// depend on it. The ledger alone also recognises a repetition, but only if its records would be the same.
template <class Again, class Change>
auto once(AdminContext& context, const AdminCall& call, const Again& again, const Change& change)
    -> std::invoke_result_t<const Change&> {
  if (call.idempotency_key.empty()) return change();
  const auto written =
      SLUICE_TRY(context.follower.ledger().find_request(call.principal.name, call.idempotency_key));
  if (written.empty()) return change();
  using Answer = typename std::invoke_result_t<const Change&>::value_type;
  std::optional<Answer> answer = SLUICE_TRY(Result<std::optional<Answer>>(again(Written(written))));
  if (!answer) return std::unexpected(key_of_another_change(call));
  return *std::move(answer);
}

// The document that a change is about.
struct Subject {
  ledger::Kind kind;
  const std::string& name;
};

// The same for a change of one document: `again(record)` gets the version that the first call wrote.
template <class Again, class Change>
Result<AdminAnswer> once(AdminContext& context, const AdminCall& call, const Subject& subject,
                         const Again& again, const Change& change) {
  const auto again_with_record = [&](Written written) -> Result<std::optional<AdminAnswer>> {
    const auto record = std::ranges::find_if(written, [&](const ledger::Record& each) {
      return each.kind == subject.kind && each.name == subject.name;
    });
    if (record == written.end()) return std::nullopt;
    return again(*record);
  };
  return once(context, call, again_with_record, change);
}

// For `again` of a deletion.
inline std::optional<AdminAnswer> no_content_if_withdrawn(const ledger::Record& record) {
  if (!record.is_withdrawn()) return std::nullopt;
  return no_content();
}

}  // namespace sluice::admin
