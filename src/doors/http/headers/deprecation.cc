#include "doors/http/headers/deprecation.h"

#include <algorithm>

#include "base/time_units.h"
#include "base/try.h"
#include "document/literals.h"
#include "net/http/http_text.h"
#include "telemetry/prometheus.h"

namespace sluice::doors {
namespace {

// Removes and returns the text before the separator; everything if there is none.
std::string_view take(std::string_view& rest, std::string_view separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + separator.size(), rest.size()));
  return part;
}

// Whether `path` is `prefix` or below it. A star on either side matches any segment.
bool is_below(std::string_view path, std::string_view prefix) {
  while (!prefix.empty()) {
    if (path.empty()) return false;
    const std::string_view wanted = take(prefix, "/"), given = take(path, "/");
    if (wanted != given && wanted != "*" && given != "*") return false;
  }
  return true;
}

// Parses a day or an instant.
Result<std::int64_t> parse_when(std::string_view text) {
  constexpr std::size_t kDayLength = sizeof "2026-12-01" - 1;
  std::string instant(text);
  if (text.size() == kDayLength) instant += "T00:00:00Z";
  if (const auto us = parse_instant_us(instant)) return *us;
  return invalid("", shown(text) + " is not a date; write 2026-12-01 or 2026-12-01T00:00:00Z");
}

Result<void> check_path(std::string_view path, std::span<const std::string> api) {
  if (!path.starts_with('/') || path.ends_with('/'))
    return invalid("", shown(path) + " is not a path; write /v1/rules, or /v1/rules=2026-11-01..2027-05-01");
  if (std::ranges::any_of(api, [&](const std::string& known) { return is_below(known, path); })) return {};
  return invalid("", "the API has no path " + shown(path) + "; /openapi.yaml lists its paths");
}

Result<void> check_link(std::string_view link) {
  const auto is_fine = [](char c) { return c > ' ' && c < '\x7f' && c != '<' && c != '>' && c != '"'; };
  if (!link.empty() && std::ranges::all_of(link, is_fine)) return {};
  return invalid("", "the link must be a URL or a path, without spaces, quotes and angle brackets");
}

}  // namespace

DeprecationNotice::DeprecationNotice(std::string path, std::int64_t since_us, std::int64_t sunset_us,
                                     std::string_view link)
    : path_(std::move(path)),
      since_('@' + std::to_string(since_us / kSecondUs)),
      sunset_(sunset_us == 0 ? "" : net::http_date(sunset_us / kSecondUs)),
      link_('<' + std::string(link) + ">; rel=\"deprecation\"") {}

void DeprecationNotice::add_headers(net::HttpResponse& response) const {
  response.headers.emplace_back("deprecation", since_);
  if (!sunset_.empty()) response.headers.emplace_back("sunset", sunset_);
  response.headers.emplace_back("link", link_);
}

Result<std::shared_ptr<const Deprecations>> Deprecations::parse(std::string_view list,
                                                                const Context& context) {
  SLUICE_TRY(check_link(context.link));
  auto all = std::make_shared<Deprecations>();
  while (!list.empty()) {
    std::string_view when = take(list, ",");
    const std::string path(take(when, "="));
    SLUICE_TRY(check_path(path, context.api));
    if (std::ranges::any_of(all->notices_, [&](const auto& other) { return other->path() == path; }))
      return invalid("", shown(path) + " is there twice");
    const std::string_view since_text = take(when, "..");
    const std::int64_t since_us = SLUICE_TRY(since_text.empty() ? context.now_us : parse_when(since_text));
    const std::int64_t sunset_us = SLUICE_TRY(when.empty() ? 0 : parse_when(when));
    if (sunset_us != 0 && sunset_us < since_us)
      return invalid("", shown(path) + " has a sunset before its deprecation; write the earlier date first");
    all->notices_.push_back(
        std::make_unique<const DeprecationNotice>(path, since_us, sunset_us, context.link));
  }
  std::ranges::stable_sort(all->notices_, std::greater(),
                           [](const auto& notice) { return notice->path().size(); });
  return all;
}

const DeprecationNotice* Deprecations::find(std::string_view path) const {
  for (const auto& notice : notices_)
    if (is_below(path, notice->path())) return notice.get();
  return nullptr;
}

std::string Deprecations::metrics() const {
  if (notices_.empty()) return {};
  PrometheusText text;
  text.family("rate_limiter_deprecated_calls_total", "counter",
              "Calls of paths that are marked as deprecated.");
  for (const auto& notice : notices_) text.sample({{"path", notice->path()}}, notice->calls());
  return std::move(text).take();
}

}  // namespace sluice::doors
