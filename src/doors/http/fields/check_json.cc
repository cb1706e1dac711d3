#include "doors/http/fields/check_json.h"

#include <array>
#include <functional>

#include "base/limits.h"
#include "base/text/json_reader.h"
#include "base/try.h"
#include "doors/http/fields/check_field.h"
#include "doors/text.h"

namespace sluice::doors {
namespace {

using Kind = JsonReader::Kind;

using Field = CheckField;

std::unexpected<Error> malformed(const JsonReader& reader) { return invalid("", reader.error()); }

Result<void> read_text(JsonReader& reader, std::string_view field, std::string_view& out) {
  if (reader.kind() != Kind::kString)
    return invalid(std::string(field), std::string(field) + " must be a string");
  out = reader.string();
  return {};
}

Result<void> read_tokens(JsonReader& reader, std::string_view name, std::optional<std::int64_t>& out) {
  if (reader.kind() == Kind::kNumber) out = reader.integer();
  if (!reader.ok()) return malformed(reader);
  if (!out || *out < 0 || *out > kCostMax) return invalid_tokens(name);
  return {};
}

// Any whole number: the engine knows the bounds.
Result<void> read_units(JsonReader& reader, std::string_view name, std::optional<std::int64_t>& out) {
  if (reader.kind() == Kind::kNumber) out = reader.integer();
  if (!reader.ok()) return malformed(reader);
  if (!out) return invalid(std::string(name), std::string(name) + " must be a whole number");
  return {};
}

Result<void> read_dimensions(JsonReader& reader, CheckList& out) {
  if (reader.kind() != Kind::kObject) return invalid("dimensions", "dimensions must be an object of strings");
  reader.enter_object();
  for (std::string_view name; reader.next_member(name);) {
    if (out.find_dimension(name)) return given_twice("dimensions." + std::string(name));
    if (out.dimension_count() == kDimensionsMax) return too_many_dimensions();
    if (reader.kind() != Kind::kString) {
      const std::string field = "dimensions." + std::string(name);
      return invalid(field, field + " must be a string");
    }
    out.put_dimension(name, reader.string());
  }
  return {};
}

Result<void> read_field(JsonReader& reader, Field field, std::string_view name, CheckRequest& check,
                        CheckList& out) {
  switch (field) {
    case Field::kPolicyId:
      return read_text(reader, name, check.policy_id);
    case Field::kTenantId:
      return read_text(reader, name, check.tenant);
    case Field::kResource:
      return read_text(reader, name, check.resource);
    case Field::kKey:
      return read_text(reader, name, check.key);
    case Field::kRequestId:
      return read_text(reader, name, check.request_id);
    case Field::kTokens:
      return read_tokens(reader, name, check.cost);
    case Field::kDimensions:
      return read_dimensions(reader, out);
    case Field::kUnknown:
      reader.skip();
      break;
  }
  return {};
}

}  // namespace

Result<void> require_fields(CheckRequest& check, const CheckRules& rules) {
  check.needs_key = true;
  if (!check.policy_id.empty()) return {};
  const auto missing = [](const char* name) {
    return invalid(name, std::string(name) + " is missing; give it, or name a policy_id");
  };
  if (check.tenant.empty() && !rules.has_default_tenant) return missing("tenant_id");
  if (check.resource.empty()) return missing("resource");
  return {};
}

namespace {

// A member that only a reset has.
Result<void> read_reset_member(JsonReader& reader, std::string_view name, ResetWish& wish) {
  constexpr std::array<std::string_view, 2> kNames = {"reason", "shared"};
  if (name == "reason") {
    if (wish.reason.data()) return given_twice("reason");
    return read_text(reader, name, wish.reason);
  }
  if (name == "shared") {
    if (wish.shared) return given_twice("shared");
    if (reader.kind() != Kind::kBoolean) return invalid("shared", "shared must be true or false");
    wish.shared = reader.plain() == "true";
    return {};
  }
  SLUICE_TRY(refuse_slip(name, kNames));
  reader.skip();
  return {};
}

// Reads a member that a check does not have.
using ReadMember = std::function<Result<void>(JsonReader& reader, std::string_view name)>;

// `more` reads the members that only a reset or a lease has; null for a check.
Result<void> read_one(JsonReader& reader, CheckList& out, const CheckRules& rules,
                      const ReadMember* more = nullptr) {
  CheckRequest& check = out.add();
  std::uint32_t seen = 0;
  if (!reader.enter_object()) return malformed(reader);
  for (std::string_view name; reader.next_member(name);) {
    const Field field = check_field(name);
    const std::uint32_t bit = 1u << static_cast<unsigned>(field);
    if (field != Field::kUnknown && (seen & bit)) return given_twice(field, name);
    seen |= bit;
    if (field == Field::kUnknown) [[unlikely]] {
      if (rules.refuses_slips) SLUICE_TRY(refuse_slip(name));
      if (more) {
        SLUICE_TRY((*more)(reader, name));
        continue;
      }
    }
    SLUICE_TRY(read_field(reader, field, name, check, out));
  }
  if (!reader.ok()) return malformed(reader);
  return rules.requires_fields ? require_fields(check, rules) : Result<void>();
}

Result<void> read_checks(JsonReader& reader, CheckList& out, const CheckRules& rules) {
  if (reader.kind() != Kind::kArray) return invalid("checks", "checks must be an array");
  reader.enter_array();
  while (reader.next_element()) {
    const std::size_t i = out.size();
    if (i == kBatchMax) return too_many_checks();
    if (reader.kind() != Kind::kObject)
      return std::unexpected(in_batch(i, {ErrorCode::kInvalidArgument, "a check must be an object", ""}));
    if (auto read = read_one(reader, out, rules); !read)
      return reader.ok() ? std::unexpected(in_batch(i, std::move(read.error()))) : std::move(read);
  }
  return {};
}

}  // namespace

Result<void> read_check(std::string_view body, std::string& scratch, CheckList& out,
                        const CheckRules& rules) {
  JsonReader reader(body, scratch);
  SLUICE_TRY(read_one(reader, out, rules));
  if (!reader.finish()) return malformed(reader);
  return {};
}

Result<void> read_reset(std::string_view body, std::string& scratch, CheckList& out, const CheckRules& rules,
                        ResetWish& wish) {
  JsonReader reader(body, scratch);
  wish = {};
  const ReadMember more = [&wish](JsonReader& at, std::string_view name) {
    return read_reset_member(at, name, wish);
  };
  SLUICE_TRY(read_one(reader, out, rules, &more));
  if (!reader.finish()) return malformed(reader);
  return {};
}

Result<void> read_lease(std::string_view body, std::string& scratch, CheckList& out,
                        const CheckRules& rules) {
  JsonReader reader(body, scratch);
  std::optional<std::int64_t> want;
  const ReadMember more = [&want](JsonReader& at, std::string_view name) -> Result<void> {
    constexpr std::array<std::string_view, 1> kNames = {"want"};
    if (name == "want") {
      if (want) return given_twice("want");
      return read_units(at, name, want);
    }
    SLUICE_TRY(refuse_slip(name, kNames));
    at.skip();
    return {};
  };
  SLUICE_TRY(read_one(reader, out, rules, &more));
  if (!reader.finish()) return malformed(reader);
  CheckRequest& lease = out.latest();
  if (lease.cost) return invalid("cost", "a lease has no cost; give the units to lease as want");
  if (!want) return invalid("want", "want is missing; give the units to lease, from 1");
  lease.cost = want;
  return {};
}

Result<LeaseReturn> read_lease_return(std::string_view body, std::string& scratch) {
  constexpr std::array<std::string_view, 2> kNames = {"lease_id", "unused"};
  JsonReader reader(body, scratch);
  LeaseReturn lease;
  std::optional<std::int64_t> unused;
  if (!reader.enter_object()) return malformed(reader);
  for (std::string_view name; reader.next_member(name);) {
    if (name == "lease_id") {
      if (lease.lease_id.data()) return given_twice("lease_id");
      SLUICE_TRY(read_text(reader, name, lease.lease_id));
    } else if (name == "unused") {
      if (unused) return given_twice("unused");
      SLUICE_TRY(read_units(reader, name, unused));
    } else {
      SLUICE_TRY(refuse_slip(name, kNames));
      reader.skip();
    }
  }
  if (!reader.finish()) return malformed(reader);
  if (!unused) return invalid("unused", "unused is missing; give the units that were not spent, from 0");
  lease.unused = *unused;
  return lease;
}

Result<void> read_check_batch(std::string_view body, std::string& scratch, CheckList& out,
                              const CheckRules& rules) {
  constexpr std::array<std::string_view, 1> kNames = {"checks"};
  JsonReader reader(body, scratch);
  bool seen = false;
  if (!reader.enter_object()) return malformed(reader);
  for (std::string_view name; reader.next_member(name);) {
    if (name != "checks") {
      SLUICE_TRY(refuse_slip(name, kNames));
      reader.skip();
      continue;
    }
    if (seen) return given_twice("checks");
    seen = true;
    SLUICE_TRY(read_checks(reader, out, rules));
  }
  if (!reader.finish()) return malformed(reader);
  if (!seen) return invalid("checks", "checks is missing; give an array of checks");
  return {};
}

void append_answer(const Decision& decision, std::string& out) {
  constexpr std::size_t kFixedRoom = 424 + json_string_room(kUnknownTierWarning);
  const std::string_view policy_id = decision.policy ? std::string_view(decision.policy->source.id) : "";
  const std::string_view limiting =
      decision.tightest ? std::string_view(decision.tightest->limit->name()) : "";
  append_text(out, kFixedRoom + json_string_room(policy_id) + json_string_room(limiting),
              [&](TextCursor& text) {
                text.literal("{\"allowed\":");
                text.boolean(decision.allowed);
                text.literal(",\"remaining\":");
                text.number(decision.remaining());
                text.literal(",\"retry_after_ms\":");
                text.number(decision.retry_after_ms());
                text.literal(",\"limit\":");
                text.number(decision.limit());
                text.literal(",\"reset_unix_ms\":");
                text.number(decision.reset_unix_ms());
                text.literal(",\"policy_id\":");
                text.json_string(policy_id);
                text.literal(",\"policy_version\":");
                text.number(decision.policy ? decision.policy->version_number() : 0);
                text.literal(",\"limiting\":");
                text.json_string(limiting);
                text.literal(",\"state\":\"");
                text.text(to_string(decision.pressure()));
                text.literal("\",\"reason\":\"");
                text.text(to_string(decision.reason));
                text.literal("\",\"degraded\":");
                text.boolean(decision.degraded);
                text.literal(",\"replayed\":");
                text.boolean(decision.replayed);
                if (decision.unknown_tier) [[unlikely]] {
                  text.literal(",\"warnings\":[");
                  text.json_string(kUnknownTierWarning);
                  text.character(']');
                }
                if (decision.lease_advised) [[unlikely]]
                  text.literal(",\"lease_advised\":true");
                text.character('}');
              });
}

}  // namespace sluice::doors
