#include "plan/log/usage_event.h"

#include <optional>

#include "base/text/json_reader.h"
#include "document/literals.h"
#include "doors/http/fields/check_json.h"

namespace sluice::plan {
namespace {

using Kind = JsonReader::Kind;

std::optional<std::int64_t> read_at_us(JsonReader& reader) {
  if (reader.kind() == Kind::kNumber) {
    const auto ms = reader.integer();
    return ms && *ms >= 0 && *ms < kExactMax / 1000 ? std::optional(*ms * 1000) : std::nullopt;
  }
  if (reader.kind() != Kind::kString) return std::nullopt;
  const auto instant = parse_instant_us(reader.string());
  return instant ? std::optional(*instant) : std::nullopt;
}

}  // namespace

std::expected<bool, std::string> UsageEventReader::read(std::string_view line, std::string_view tenant,
                                                        TrafficEntry& entry) {
  checks_.clear();
  const doors::CheckRules rules{
      .has_default_tenant = !tenant.empty(), .refuses_slips = false, .requires_fields = false};
  if (const auto read = doors::read_check(line, check_scratch_, checks_, rules); !read)
    return std::unexpected(read.error().message);
  entry.request = checks_.finish().front();
  entry.denied_then = false;

  JsonReader reader(line, scratch_);
  reader.enter_object();
  bool has_at = false, is_ours = false, is_return = false;
  for (std::string_view name; reader.next_member(name);) {
    const bool is_text = reader.kind() == Kind::kString;
    if (name == "event_id") {
      is_ours = true;
      reader.skip();
    } else if (name == "kind" && is_text) {
      is_return = reader.string() == "return";
    } else if (name == "tenant" && is_text) {
      const std::string_view text = reader.string();
      if (entry.request.tenant.empty()) entry.request.tenant = text;
    } else if (name == "at" || name == "ts") {
      const auto at_us = read_at_us(reader);
      if (!at_us)
        return std::unexpected(std::string(name) +
                               " must be Unix time in milliseconds, or like \"2026-10-10T13:55:36Z\"");
      entry.at_us = *at_us;
      has_at = true;
    } else if (name == "allowed") {
      if (reader.kind() != Kind::kBoolean) return std::unexpected("allowed must be true or false");
      entry.denied_then = reader.plain() == "false";
    } else {
      reader.skip();
    }
  }
  if (is_ours && is_return) return false;
  if (!has_at) return std::unexpected("at is missing; add the time of the event");
  if (!tenant.empty()) entry.request.tenant = tenant;
  // A server has decided what it sent, and needed no more for that.
  if (is_ours) return true;
  if (const auto complete = doors::require_fields(entry.request, rules); !complete)
    return std::unexpected(complete.error().message);
  return true;
}

bool UsageEventReader::is_event(std::string_view line) {
  std::string scratch;
  JsonReader reader(line, scratch);
  if (!reader.enter_object()) return false;
  for (std::string_view name; reader.next_member(name); reader.skip())
    if (name == "at" || name == "event_id") return true;
  return false;
}

}  // namespace sluice::plan
