#include "loadgen/client/http_protocol.h"

#include <strings.h>

#include <charconv>

#include "base/try.h"

namespace sluice::loadgen {
namespace {

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

template <class T>
bool to_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

HttpProtocol::HttpProtocol(const Payload& payload, std::size_t pipelined)
    : payload_(payload), pipelined_(pipelined) {}

bool HttpProtocol::start(const Call& call) {
  if (closing_ || waiting_.size() == pipelined_) return false;
  payload_.render(call.key, request_);
  to_send_ += request_;
  waiting_.push_back(call.intended_us);
  return true;
}

void HttpProtocol::write(std::string& out) {
  out += to_send_;
  to_send_.clear();
}

std::expected<void, std::string> HttpProtocol::read(std::string_view bytes,
                                                    std::vector<FinishedCall>& finished) {
  if (!partial_.empty()) {
    partial_ += bytes;
    bytes = partial_;
  }
  while (!bytes.empty()) {
    const auto answer = SLUICE_TRY(parse(bytes));
    if (answer.bytes == 0) break;
    if (waiting_.empty()) return std::unexpected("the server sent an answer without a request.");
    finished.push_back({waiting_.front(), outcome_of(answer)});
    waiting_.pop_front();
    closing_ = closing_ || answer.close;
    bytes.remove_prefix(answer.bytes);
  }
  if (bytes.size() > kAnswerBytesMax) return std::unexpected("an answer is larger than 1 MiB.");
  partial_ = std::string(bytes);
  return {};
}

std::expected<HttpProtocol::Answer, std::string> HttpProtocol::parse(std::string_view text) {
  const std::size_t head_end = text.find("\r\n\r\n");
  if (head_end == std::string_view::npos) return Answer{};
  std::string_view head = text.substr(0, head_end);
  Answer answer;
  if (!head.starts_with("HTTP/1.1 ") || head.size() < 12 || !to_number(head.substr(9, 3), answer.status))
    return std::unexpected("the server does not speak HTTP/1.1.");
  std::size_t length = 0;
  bool has_length = false;
  while (true) {
    const std::size_t line_end = head.find("\r\n");
    if (line_end == std::string_view::npos) break;
    head.remove_prefix(line_end + 2);
    const std::string_view line = head.substr(0, head.find("\r\n"));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, colon), value = trimmed(line.substr(colon + 1));
    if (same_ignoring_case(name, "content-length")) has_length = to_number(value, length);
    if (same_ignoring_case(name, "connection")) answer.close = same_ignoring_case(value, "close");
  }
  if (!has_length || length > kAnswerBytesMax)
    return std::unexpected("an answer has no usable Content-Length.");
  if (text.size() < head_end + 4 + length) return Answer{};
  answer.body = text.substr(head_end + 4, length);
  answer.bytes = head_end + 4 + length;
  return answer;
}

CallOutcome HttpProtocol::outcome_of(const Answer& answer) {
  if (answer.status == 200)
    return json_answer_allows(answer.body) ? CallOutcome::kAllowed : CallOutcome::kDenied;
  if (first_failure_.empty())
    first_failure_ =
        "HTTP status " + std::to_string(answer.status) + ": " + std::string(answer.body.substr(0, 200));
  return CallOutcome::kFailed;
}

void HttpProtocol::pending(std::vector<std::int64_t>& intended_us) const {
  intended_us.insert(intended_us.end(), waiting_.begin(), waiting_.end());
}

}  // namespace sluice::loadgen
