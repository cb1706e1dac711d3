#include "plan/log/common_log.h"

#include <algorithm>
#include <optional>

#include "base/try.h"
#include "doors/http/origin/forwarded.h"
#include "plan/log/log_time.h"

namespace sluice::plan {
namespace {

// Consumes fields from the front of a line.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  // Up to the next space, or to the end.
  std::string_view word() {
    const std::string_view taken = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(std::min(taken.size() + 1, rest_.size()));
    return taken;
  }

  // Up to `end` and the space after it, if `end` is there.
  std::optional<std::string_view> until(std::string_view end) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view taken = rest_.substr(0, at);
    rest_.remove_prefix(at + end.size());
    skip_space();
    return taken;
  }

  // "…", in which a quote is written as \".
  std::optional<std::string_view> quoted() {
    if (!rest_.starts_with('"')) return std::nullopt;
    for (std::size_t at = 1; (at = rest_.find_first_of("\"\\", at)) != std::string_view::npos; at += 2) {
      if (rest_[at] == '\\') continue;
      const std::string_view taken = rest_.substr(1, at - 1);
      rest_.remove_prefix(at + 1);
      skip_space();
      return taken;
    }
    return std::nullopt;
  }

 private:
  void skip_space() {
    if (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  std::string_view rest_;
};

bool is_status(std::string_view text) {
  return text.size() == 3 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_count(std::string_view text) {
  return text == "-" || (!text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos);
}

Reading read_common_part(Fields& fields, AccessEntry& entry) {
  entry.fields = {};
  entry[LogField::kIp] = without_dash(fields.word());
  fields.word();  // the identd field, which is not reliable
  const auto user = fields.until("[");
  const auto time = user ? fields.until("]") : std::nullopt;
  if (!time) return std::unexpected("it has no [time]");
  const auto at_us = clf_instant_us(*time);
  if (!at_us) return std::unexpected("its time must look like [10/Oct/2026:13:55:36 -0700]");
  entry.at_us = *at_us;
  entry[LogField::kUser] = without_dash(user->substr(0, user->find_last_not_of(' ') + 1));
  const auto request = fields.quoted();
  if (!request) return std::unexpected("no \"request\" after the time");
  read_request_line(*request, entry);
  entry[LogField::kStatus] = fields.word();
  entry[LogField::kBytes] = fields.word();
  if (!is_status(entry[LogField::kStatus]) || !is_count(entry[LogField::kBytes]))
    return std::unexpected("no status and number of bytes after the request");
  return {};
}

}  // namespace

void read_request_line(std::string_view text, AccessEntry& entry) {
  const std::size_t method_end = text.find(' ');
  if (method_end == 0 || method_end == std::string_view::npos) return;
  const std::string_view method = text.substr(0, method_end);
  if (!std::ranges::all_of(method, [](char c) { return (c >= 'A' && c <= 'Z') || c == '-' || c == '_'; }))
    return;
  std::string_view target = text.substr(method_end + 1);
  if (const std::size_t end = target.rfind(" HTTP/"); end != std::string_view::npos) {
    entry[LogField::kProtocol] = target.substr(end + 1);
    target = target.substr(0, end);
  }
  entry[LogField::kMethod] = method;
  entry[LogField::kPath] = doors::path_of_uri(target);
}

Reading read_common(std::string_view line, AccessEntry& entry) {
  Fields fields(line);
  return read_common_part(fields, entry);
}

Reading read_combined(std::string_view line, AccessEntry& entry) {
  Fields fields(line);
  SLUICE_TRY(read_common_part(fields, entry));
  const auto referer = fields.quoted();
  const auto user_agent = referer ? fields.quoted() : std::nullopt;
  if (!user_agent) return std::unexpected("no \"referer\" and \"user agent\" after the number of bytes");
  entry[LogField::kReferer] = without_dash(*referer);
  entry[LogField::kUserAgent] = without_dash(*user_agent);
  return {};
}

}  // namespace sluice::plan
