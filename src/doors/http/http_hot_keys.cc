// GET /v1/hotkeys?policy_id=&tenant_id=&by=rate|denied&limit=
//
//   {"hotkeys":[{"policy_id":"api.read","limit":"burst","key":"user_123","rate":812.5,"denied_rate":12.0,
//                "leased":false,"tenant_id":"search-service",
//                "dimensions":{"tenant":"search-service","user":"user_123"}}]}
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include "base/text/big_endian.h"
#include "base/text/encode.h"
#include "doors/access/caller.h"
#include "doors/access/policy_access.h"
#include "doors/handlers.h"
#include "doors/http/fields/check_field.h"
#include "doors/http/fields/query_string.h"
#include "doors/text.h"

namespace sluice::doors {
namespace {

using control::Principal;
using control::Role;

constexpr std::string_view kLimitUnlessGiven = "20";

struct HotKeysWanted {
  std::optional<std::string_view> policy_id, tenant_id, by, limit;
};

Result<HotKeysWanted> read_hot_query(std::string_view query, std::string& scratch) {
  scratch.clear();
  scratch.reserve(query.size());
  HotKeysWanted wanted;
  QueryReader reader(query, scratch);
  while (reader.next()) {
    const std::string_view name = reader.name();
    std::optional<std::string_view>* const into = name == "policy_id"   ? &wanted.policy_id
                                                  : name == "tenant_id" ? &wanted.tenant_id
                                                  : name == "by"        ? &wanted.by
                                                  : name == "limit"     ? &wanted.limit
                                                                        : nullptr;
    if (!into)
      return invalid(std::string(name), "not a parameter here; policy_id, tenant_id, by and limit are");
    if (*into) return given_twice(std::string(name));
    *into = reader.value();
  }
  if (!reader.ok()) return invalid("", "the query is malformed");
  return wanted;
}

Result<HotQuery::By> read_by(std::string_view text) {
  if (text == "rate") return HotQuery::By::kRate;
  if (text == "denied") return HotQuery::By::kDenied;
  return invalid("by", "must be rate or denied");
}

Result<std::size_t> read_limit(std::string_view text) {
  std::size_t limit = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, limit);
  if (error != std::errc() || stop != end || limit < 1 || limit > kHotKeysListedMax)
    return invalid("limit", "must be a number from 1 to " + std::to_string(kHotKeysListedMax));
  return limit;
}

std::string hash_text_of(const KeyHash& key) {
  std::string bytes;
  append_number(bytes, key.high, sizeof key.high);
  append_number(bytes, key.low, sizeof key.low);
  return "~" + to_hex(bytes);
}

// The values that the limit counts by; none if it counts everybody together. The tenant has a field of its
// own, and is left out unless it is all.
std::string shown_key(const HotKey& key) {
  if (key.values.empty()) return key.dimensions->empty() ? "" : hash_text_of(key.key);
  std::string text;
  std::string_view values = key.values;
  for (const CompiledDimension& dimension : *key.dimensions) {
    const std::string_view value = take_value(values);
    if (dimension.kind == DimensionKind::kTenant && key.dimensions->size() > 1) continue;
    text.append(text.empty() ? "" : ", ").append(value);
  }
  return text;
}

void append_dimensions(const HotKey& key, std::string& out) {
  out.append(",\"dimensions\":{");
  if (!key.values.empty()) {
    std::string_view values = key.values;
    for (const CompiledDimension& dimension : *key.dimensions) {
      if (&dimension != key.dimensions->data()) out.push_back(',');
      append_json_string(out, dimension.name);
      out.push_back(':');
      append_json_string(out, take_value(values));
    }
  }
  out.push_back('}');
}

// "812.5"
std::string tenths(double rate) {
  const std::int64_t count = std::llround(rate * 10);
  return std::to_string(count / 10) + '.' + std::to_string(count % 10);
}

void append_hot_key(const HotKey& key, std::string& out) {
  out.append("{\"policy_id\":");
  append_json_string(out, key.policy_id);
  out.append(",\"limit\":");
  append_json_string(out, key.limit);
  out.append(",\"key\":");
  append_json_string(out, shown_key(key));
  out.append(",\"rate\":").append(tenths(key.rate));
  out.append(",\"denied_rate\":").append(tenths(key.denied_rate));
  out.append(key.is_leased ? ",\"leased\":true" : ",\"leased\":false");
  out.append(",\"tenant_id\":");
  append_json_string(out, key.tenant);
  append_dimensions(key, out);
  out.push_back('}');
}

}  // namespace

Result<void> http_hot_keys(DoorContext& context, const Caller& caller, const HttpCall& call) {
  const HotKeysWanted wanted = SLUICE_TRY(read_hot_query(call.request.query, context.scratch));
  HotQuery query;
  query.by = SLUICE_TRY(read_by(wanted.by.value_or("rate")));
  query.most = SLUICE_TRY(read_limit(wanted.limit.value_or(kLimitUnlessGiven)));
  query.policy_id = wanted.policy_id.value_or("");
  const Principal principal = SLUICE_TRY(caller.reader());
  const std::string_view only = wanted.tenant_id.value_or("");
  if (!only.empty()) SLUICE_TRY(principal.may(Role::kRead, only));
  if (!query.policy_id.empty()) SLUICE_TRY(may_read_policy(context, principal, query.policy_id));
  if (!context.admit_read(principal, call.reply.response)) return {};
  query.of_tenant = [&](std::string_view tenant) {
    if (!only.empty()) return tenant == only;
    return principal.tenants.empty() || (!tenant.empty() && principal.sees_tenant(tenant));
  };
  std::string& out = call.reply.response.body;
  out.append("{\"hotkeys\":[");
  bool is_first = true;
  for (const HotKey& key : context.options.hot_keys->list(query, context.options.clock->now_us())) {
    if (!std::exchange(is_first, false)) out.push_back(',');
    append_hot_key(key, out);
  }
  out.append("]}");
  return {};
}

}  // namespace sluice::doors
