#include "doors/http/fields/check_field.h"

#include "base/limits.h"
#include "base/text/near_name.h"

namespace sluice::doors {

CheckField check_field(std::string_view name) {
  using Field = CheckField;
  const auto if_is = [name](std::string_view text, Field field) {
    return name == text ? field : Field::kUnknown;
  };
  switch (name.size()) {
    case 3:
      return if_is("key", Field::kKey);
    case 4:
      return if_is("cost", Field::kTokens);
    case 6:
      return if_is("tokens", Field::kTokens);
    case 8:
      return if_is("resource", Field::kResource);
    case 9:
      return name[0] == 't' ? if_is("tenant_id", Field::kTenantId) : if_is("policy_id", Field::kPolicyId);
    case 10:
      return name[0] == 'd' ? if_is("dimensions", Field::kDimensions)
                            : if_is("request_id", Field::kRequestId);
    default:
      return Field::kUnknown;
  }
}

std::string_view canonical_name(std::string_view name) {
  if (name == "tenant") return "tenant_id";
  return name == "route" ? "resource" : name;
}

std::unexpected<Error> given_twice(std::string field) {
  std::string message = field + " is given twice";
  return invalid(std::move(field), std::move(message));
}

std::unexpected<Error> given_twice(CheckField field, std::string_view name) {
  if (field != CheckField::kTokens) return given_twice(std::string(name));
  return invalid(std::string(name), "tokens and cost mean the same; send only one of them, once");
}

std::unexpected<Error> invalid_tokens(std::string_view name) {
  return invalid(std::string(name),
                 std::string(name) + " must be an integer from 0 to " + std::to_string(kCostMax));
}

Result<void> refuse_slip(std::string_view name, std::span<const std::string_view> known) {
  const std::string_view meant = near_name(name, known);
  if (meant.empty()) return {};
  std::string field(name);
  std::string message = "there is no field " + field + "; did you mean " + std::string(meant) + "?";
  return invalid(std::move(field), std::move(message));
}

std::unexpected<Error> too_many_dimensions() {
  return invalid("dimensions", "at most " + std::to_string(kDimensionsMax) + " dimensions are allowed");
}

std::unexpected<Error> too_many_checks() {
  return invalid("checks", "at most " + std::to_string(kBatchMax) + " checks fit in a batch");
}

Error in_batch(std::size_t i, Error error) {
  const std::string check = "checks[" + std::to_string(i) + "]";
  error.field = error.field.empty() ? check : check + "." + error.field;
  return error;
}

}  // namespace sluice::doors
