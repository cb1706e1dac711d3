#include "usage/event_encoder.h"

#include <algorithm>
#include <array>

#include "base/text/utf8.h"
#include "base/time_units.h"
#include "doors/text.h"

namespace sluice::usage {
namespace {

// These say what was asked for, and not by whom.
constexpr std::array<std::string_view, 4> kAboutNobody = {"tenant", "resource", "route", "tier"};

std::string_view to_string(Kind kind) {
  constexpr std::string_view kNames[] = {"check", "lease", "return"};
  return kNames[static_cast<std::size_t>(kind)];
}

void append_quoted(std::string& out, std::string_view text) {
  if (is_utf8(text)) [[likely]]
    return doors::append_json_string(out, text);
  doors::append_json_string(out, as_utf8(text));
}

void append_number(std::string& out, std::string_view name, std::int64_t value) {
  out += name;
  out += std::to_string(value);
}

}  // namespace

void EventEncoder::append_text(std::string& out, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  out += name;
  append_quoted(out, text);
}

void EventEncoder::append_who(std::string& out, std::string_view name, std::string_view text) {
  if (!text.empty()) append_text(out, name, name_of(text));
}

std::string_view EventEncoder::name_of(std::string_view who) {
  if (!pseudonyms_) return who;
  return scratch_ = pseudonyms_->of(who);
}

// Names are valid for one day, and so is their salt.
void EventEncoder::follow_secrets(std::int64_t at_us) {
  if (!secrets_) return;
  const std::int64_t day = at_us / kDayUs;
  const int version = secrets_->version();
  if (day == day_ && version == secret_version_) return;
  pseudonyms_.emplace(secrets_->secret(), at_us);
  day_ = day;
  secret_version_ = version;
}

void EventEncoder::append_dimensions(std::string& out, const UsageEvent& event) {
  if (event.dimensions.empty()) return;
  out += ",\"dimensions\":{";
  bool is_first = true;
  for (const Dimension& dimension : event.dimensions) {
    if (!is_first) out += ',';
    is_first = false;
    append_quoted(out, dimension.name);
    out += ':';
    const bool is_harmless = std::ranges::find(kAboutNobody, dimension.name) != kAboutNobody.end();
    append_quoted(out, is_harmless ? dimension.value : name_of(dimension.value));
  }
  out += '}';
}

void EventEncoder::append(std::string& out, const QueuedEvent& queued, std::size_t queue) {
  const UsageEvent& event = queued.event;
  follow_secrets(event.at_us);
  out += "{\"event_id\":\"";
  out += node_;
  out += '-';
  out += std::to_string(queue);
  out += '-';
  out += std::to_string(queued.number);
  out += "\",\"kind\":\"";
  out += to_string(event.kind);
  append_number(out, "\",\"ts\":", event.at_us / 1'000);
  append_text(out, ",\"tenant\":", event.tenant);
  append_text(out, ",\"policy\":", event.policy);
  if (event.policy_version > 0) append_number(out, ",\"policy_version\":", event.policy_version);
  append_text(out, ",\"resource\":", event.resource);
  append_who(out, ",\"key\":", event.key);
  append_dimensions(out, event);
  append_number(out, ",\"cost\":", event.cost);
  out += event.allowed ? ",\"allowed\":true" : ",\"allowed\":false";
  if (event.degraded) out += ",\"degraded\":true";
  if (event.replayed) out += ",\"replayed\":true";
  append_text(out, ",\"request_id\":", event.request_id);
  out += '}';
}

void EventEncoder::append_key(std::string& out, const QueuedEvent& queued) {
  const UsageEvent& event = queued.event;
  follow_secrets(event.at_us);
  out += as_utf8(event.tenant);
  out += '/';
  if (!event.key.empty()) out += as_utf8(name_of(event.key));
}

}  // namespace sluice::usage
