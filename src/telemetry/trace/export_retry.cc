#include "telemetry/trace/export_retry.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace sluice {
namespace {

template <class T>
std::optional<T> whole_number(std::string_view text) {
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

// The value of a header in the lines of a head; empty: it is not there.
std::string_view value_in(std::string_view head, std::string_view lower_name) {
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    std::string_view line = head.substr(0, end);
    head = end == std::string_view::npos ? std::string_view() : head.substr(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !equals_ignoring_case(line.substr(0, colon), lower_name)) continue;
    line.remove_prefix(colon + 1);
    while (line.starts_with(' ')) line.remove_prefix(1);
    while (line.ends_with(' ')) line.remove_suffix(1);
    return line;
  }
  return {};
}

bool may_be_tried_again(int status) {
  return status == 0 || status == 429 || status == 502 || status == 503 || status == 504;
}

}  // namespace

std::optional<OtlpAnswer> read_otlp_answer(std::string_view bytes, bool ended) {
  constexpr std::size_t kStatusAt = 9, kStatusBytes = 3;  // "HTTP/1.1 200 OK"
  const std::size_t head_end = bytes.find("\r\n\r\n");
  if (head_end == std::string_view::npos) return ended ? std::optional(OtlpAnswer{}) : std::nullopt;
  if (!bytes.starts_with("HTTP/1.") || head_end < kStatusAt + kStatusBytes) return OtlpAnswer{};
  const auto status = whole_number<int>(bytes.substr(kStatusAt, kStatusBytes));
  if (!status) return OtlpAnswer{};
  if (*status / 100 == 1) return read_otlp_answer(bytes.substr(head_end + 4), ended);
  const std::string_view head = bytes.substr(0, head_end), body = bytes.substr(head_end + 4);
  const auto length = whole_number<std::size_t>(value_in(head, "content-length"));
  OtlpAnswer answer{.status = *status, .body = {}};
  if (const auto seconds = whole_number<std::int64_t>(value_in(head, "retry-after"));
      seconds && *seconds >= 0)
    answer.retry_after_s = seconds;
  const bool is_whole = length ? body.size() >= *length : ended;
  if (!is_whole && !ended) return std::nullopt;
  if (is_whole) answer.body = length ? body.substr(0, *length) : body;
  return answer;
}

ExportRetry::Next ExportRetry::after(const OtlpAnswer& answer, std::int64_t now_us) {
  if (!may_be_tried_again(answer.status)) {
    began_us_ = 0;
    attempts_ = 0;
    return answer.status / 100 == 2 ? Next::kDone : Next::kDropped;
  }
  if (began_us_ == 0) began_us_ = now_us;
  if (now_us - began_us_ >= kGiveUpUs) {
    began_us_ = 0;
    attempts_ = 0;
    next_try_us_ = now_us + kFirstPauseUs;
    return Next::kDropped;
  }
  const std::int64_t longest = std::min(kFirstPauseUs << std::min(attempts_, 10), kPauseUsMax);
  ++attempts_;
  // Nodes that lost the collector at the same time do not come back at the same time.
  std::int64_t pause_us =
      longest / 2 + static_cast<std::int64_t>(random_(static_cast<std::uint64_t>(longest / 2) + 1));
  if (answer.retry_after_s)
    pause_us = std::max(pause_us, std::min(*answer.retry_after_s, kPauseUsMax / 1'000'000) * 1'000'000);
  next_try_us_ = now_us + pause_us;
  return Next::kAgain;
}

}  // namespace sluice
