#include "redis/protocol/resp.h"

#include <charconv>
#include <cstring>

#include "base/limits.h"

namespace sluice::redis {
namespace {

constexpr std::size_t kLineBytesMax = 64u << 10;  // errors may quote a script

void append_header(std::string& out, char mark, std::size_t number) {
  char text[24] = {mark};
  char* end = std::to_chars(text + 1, text + sizeof(text), number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(text, end);
}

bool read_integer(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void append_array(std::string& out, std::size_t words) { append_header(out, '*', words); }

void append_bulk(std::string& out, std::string_view word) {
  append_header(out, '$', word.size());
  out.append(word);
  out.append("\r\n");
}

void append_command(std::string& out, std::span<const std::string_view> words) {
  append_array(out, words.size());
  for (const std::string_view word : words) append_bulk(out, word);
}

void RespParser::clear() { *this = RespParser(); }

void RespParser::feed(std::string_view bytes) {
  drop_last_reply();
  if (start_ > 0 && (start_ == buffer_.size() || start_ > buffer_.capacity() / 2)) {
    buffer_.erase(0, start_);
    at_ -= start_;
    scanned_ = scanned_ > start_ ? scanned_ - start_ : 0;
    for (Located& place : places_)
      if (place.size > 0) place.offset -= start_;
    start_ = 0;
  }
  buffer_.append(bytes);
}

RespParser::Status RespParser::next() {
  drop_last_reply();
  const Status status = parse();
  if (status != Status::kReply) return status;
  complete_ = true;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (places_[i].size > 0) values_[i].bytes = {buffer_.data() + places_[i].offset, places_[i].size};
  return status;
}

void RespParser::drop_last_reply() {
  if (!complete_) return;
  complete_ = false;
  start_ = at_;
  values_.clear();
  places_.clear();
}

RespParser::Status RespParser::parse() {
  if (*problem_ != '\0') return Status::kBroken;
  do {
    const Status status = parse_value();
    if (status != Status::kReply) return status;
    while (!missing_.empty() && missing_.back() == 0) missing_.pop_back();
  } while (!missing_.empty());
  return Status::kReply;
}

bool RespParser::find_line(std::string_view& line) {
  if (scanned_ < at_) scanned_ = at_;
  const std::size_t end = buffer_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = buffer_.size();
    return false;
  }
  scanned_ = end;
  line = std::string_view(buffer_).substr(at_, end + 1 - at_);
  return true;
}

// One value without its elements. kReply here means: the value is complete.
RespParser::Status RespParser::parse_value() {
  if (at_ - start_ > kRespReplyBytesMax) return broken("a reply is too long");
  std::string_view line;
  if (!find_line(line)) {
    return buffer_.size() - at_ > kLineBytesMax ? broken("a line is too long") : Status::kNeedMore;
  }
  if (line.size() < 3 || line.size() > kLineBytesMax || line[line.size() - 2] != '\r')
    return broken("a malformed line");
  const char mark = line[0];
  const std::string_view text = line.substr(1, line.size() - 3);
  const std::size_t text_at = at_ + 1, after_line = at_ + line.size();
  if (mark == '+' || mark == '-') {
    at_ = after_line;
    return add(mark == '+' ? RespValue::Type::kStatus : RespValue::Type::kError, 0, {text_at, text.size()});
  }
  std::int64_t number = 0;
  if (mark != ':' && mark != '$' && mark != '*') return broken("a value of an unknown type");
  if (!read_integer(text, number)) return broken("an invalid number");
  if (mark == '$' && number >= 0) return parse_bulk(number, after_line);
  at_ = after_line;
  if (mark == ':') return add(RespValue::Type::kInteger, number, {});
  if (number >= 0) return parse_array(number);
  return number == -1 ? add(RespValue::Type::kNothing, 0, {}) : broken("a negative size");
}

RespParser::Status RespParser::parse_bulk(std::int64_t size, std::size_t after_line) {
  if (static_cast<std::uint64_t>(size) > kRespReplyBytesMax) return broken("a string is too long");
  const std::size_t bytes = static_cast<std::size_t>(size);
  if (buffer_.size() - after_line < bytes + 2) return Status::kNeedMore;
  if (std::memcmp(buffer_.data() + after_line + bytes, "\r\n", 2) != 0)
    return broken("a string that does not end with CRLF");
  at_ = after_line + bytes + 2;
  return add(RespValue::Type::kBytes, 0, {after_line, bytes});
}

RespParser::Status RespParser::parse_array(std::int64_t count) {
  if (static_cast<std::uint64_t>(count) > kRespValuesMax) return broken("an array is too long");
  if (missing_.size() >= kRespDepthMax) return broken("arrays are nested too deeply");
  const Status status = add(RespValue::Type::kArray, count, {});
  missing_.push_back(count);
  return status;
}

RespParser::Status RespParser::add(RespValue::Type type, std::int64_t integer, Located bytes) {
  if (values_.size() >= kRespValuesMax) return broken("a reply has too many values");
  if (!missing_.empty()) --missing_.back();
  values_.push_back({type, integer, {}});
  places_.push_back(bytes);
  return Status::kReply;
}

RespParser::Status RespParser::broken(const char* problem) {
  problem_ = problem;
  values_.clear();
  places_.clear();
  return Status::kBroken;
}

}  // namespace sluice::redis
