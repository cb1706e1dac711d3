#include "doors/http/fields/check_query.h"

#include <charconv>

#include "base/limits.h"
#include "base/try.h"
#include "doors/http/fields/query_string.h"

namespace sluice::doors {
namespace {

bool is_dimension(CheckField field) {
  return field == CheckField::kUnknown || field == CheckField::kDimensions;
}
// A common dimension, not a typo.
constexpr std::string_view kLikeCost = "host";

std::uint32_t bit(CheckField field) { return 1u << static_cast<unsigned>(field); }

}  // namespace

bool CheckBuilder::has(std::string_view name) const {
  name = canonical_name(name);
  const CheckField field = check_field(name);
  return is_dimension(field) ? list_.find_dimension(name) != nullptr : (seen_ & bit(field)) != 0;
}

Result<void> CheckBuilder::put(std::string_view name, std::string_view value) {
  name = canonical_name(name);
  const CheckField field = check_field(name);
  if (is_dimension(field)) {
    if (list_.dimension_count() == kDimensionsMax) return too_many_dimensions();
    list_.put_dimension(name, value);
    return {};
  }
  seen_ |= bit(field);
  if (field == CheckField::kTokens) return put_tokens(name, value);
  text_of(field) = value;
  return {};
}

std::string_view CheckBuilder::keep(std::string_view text) {
  const std::size_t start = scratch_.size();
  scratch_.append(text);
  return std::string_view(scratch_).substr(start);
}

std::string_view& CheckBuilder::text_of(CheckField field) {
  switch (field) {
    case CheckField::kPolicyId:
      return check_.policy_id;
    case CheckField::kTenantId:
      return check_.tenant;
    case CheckField::kResource:
      return check_.resource;
    case CheckField::kKey:
      return check_.key;
    default:
      return check_.request_id;
  }
}

Result<void> CheckBuilder::put_tokens(std::string_view name, std::string_view digits) {
  std::int64_t tokens = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), tokens);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  if (!whole || tokens < 0 || tokens > kCostMax) return invalid_tokens(name);
  check_.cost = tokens;
  return {};
}

Result<void> read_query(std::string_view text, std::string& scratch, CheckBuilder& check) {
  QueryReader query(text, scratch);
  while (query.next()) {
    if (query.name().empty()) return invalid("", "a query parameter has no name");
    const CheckField field = check_field(query.name());
    if (check.has(query.name())) return given_twice(field, query.name());
    if (field == CheckField::kUnknown && query.name() != kLikeCost) SLUICE_TRY(refuse_slip(query.name()));
    SLUICE_TRY(check.put(query.name(), query.value()));
  }
  if (!query.ok()) return invalid("", "the query is not valid percent-encoded UTF-8");
  return {};
}

}  // namespace sluice::doors
