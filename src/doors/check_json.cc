#include "doors/check_json.h"

#include "base/json_reader.h"
#include "base/limits.h"
#include "doors/check_field.h"
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

Result<void> read_tokens(JsonReader& reader, std::optional<std::int64_t>& out) {
  if (reader.kind() == Kind::kNumber) out = reader.integer();
  if (!reader.ok()) return malformed(reader);
  if (!out || *out < 0 || *out > kCostMax) return invalid_tokens();
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
      return read_tokens(reader, check.cost);
    case Field::kDimensions:
      return read_dimensions(reader, out);
    case Field::kUnknown:
      reader.skip();
      break;
  }
  return {};
}

}  // namespace

Result<void> require_fields(const CheckRequest& check) {
  if (!check.policy_id.empty()) return {};
  struct Required {
    const char* name;
    std::string_view value;
  };
  for (const Required& field :
       {Required{"tenant_id", check.tenant}, {"resource", check.resource}, {"key", check.key}})
    if (field.value.empty())
      return invalid(field.name, std::string(field.name) + " is missing; give it, or name a policy_id");
  return {};
}

namespace {

// `reason`: where a member of that name goes; null: it is one of those that a check does not know.
Result<void> read_one(JsonReader& reader, CheckList& out, std::string_view* reason = nullptr) {
  CheckRequest& check = out.add();
  std::uint32_t seen = 0;
  if (!reader.enter_object()) return malformed(reader);
  for (std::string_view name; reader.next_member(name);) {
    const Field field = check_field(name);
    const std::uint32_t bit = 1u << static_cast<unsigned>(field);
    if (field != Field::kUnknown && (seen & bit)) return given_twice(std::string(name));
    seen |= bit;
    if (field == Field::kUnknown && reason && name == "reason") {
      if (reason->data()) return given_twice("reason");
      if (auto read = read_text(reader, name, *reason); !read) return read;
      continue;
    }
    if (auto read = read_field(reader, field, name, check, out); !read) return read;
  }
  if (!reader.ok()) return malformed(reader);
  return require_fields(check);
}

Result<void> read_checks(JsonReader& reader, CheckList& out) {
  if (reader.kind() != Kind::kArray) return invalid("checks", "checks must be an array");
  reader.enter_array();
  while (reader.next_element()) {
    const std::size_t i = out.size();
    if (i == kBatchMax) return too_many_checks();
    if (reader.kind() != Kind::kObject)
      return std::unexpected(in_batch(i, {ErrorCode::kInvalidArgument, "a check must be an object", ""}));
    if (auto read = read_one(reader, out); !read)
      return reader.ok() ? std::unexpected(in_batch(i, std::move(read.error()))) : std::move(read);
  }
  return {};
}

}  // namespace

Result<void> read_check(std::string_view body, std::string& scratch, CheckList& out) {
  JsonReader reader(body, scratch);
  if (auto read = read_one(reader, out); !read) return read;
  if (!reader.finish()) return malformed(reader);
  return {};
}

Result<void> read_reset(std::string_view body, std::string& scratch, CheckList& out,
                        std::string_view& reason) {
  JsonReader reader(body, scratch);
  reason = {};
  if (auto read = read_one(reader, out, &reason); !read) return read;
  if (!reader.finish()) return malformed(reader);
  return {};
}

Result<void> read_check_batch(std::string_view body, std::string& scratch, CheckList& out) {
  JsonReader reader(body, scratch);
  bool seen = false;
  if (!reader.enter_object()) return malformed(reader);
  for (std::string_view name; reader.next_member(name);) {
    if (name != "checks") {
      reader.skip();
      continue;
    }
    if (seen) return given_twice("checks");
    seen = true;
    if (auto read = read_checks(reader, out); !read) return read;
  }
  if (!reader.finish()) return malformed(reader);
  if (!seen) return invalid("checks", "checks is missing; give an array of checks");
  return {};
}

void append_answer(const Decision& decision, std::string& out) {
  constexpr std::size_t kFixedRoom = 400;
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
                text.number(decision.policy ? decision.policy->source.version : 0);
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
                text.character('}');
              });
}

}  // namespace sluice::doors
