#include "doors/http/fields/query_string.h"

#include <cassert>

#include "base/text/utf8.h"

namespace sluice::doors {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

bool percent_decode(std::string_view text, bool plus_is_space, std::string& out) {
  const std::size_t start = out.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i] == '+' && plus_is_space ? ' ' : text[i]);
      continue;
    }
    if (text.size() - i < 3) return false;
    const int high = hex_digit(text[i + 1]);
    const int low = hex_digit(text[i + 2]);
    if (high < 0 || low < 0) return false;
    out.push_back(static_cast<char>(high << 4 | low));
    i += 2;
  }
  return is_utf8(std::string_view(out).substr(start));
}

QueryReader::QueryReader(std::string_view query, std::string& scratch) : rest_(query), scratch_(scratch) {
  assert(scratch.capacity() >= scratch.size() + query.size());
}

bool QueryReader::decode(std::string_view text, std::string_view& out) {
  const std::size_t start = scratch_.size();
  ok_ = percent_decode(text, true, scratch_);
  out = std::string_view(scratch_).substr(start);
  return ok_;
}

bool QueryReader::next() {
  while (ok_ && !rest_.empty()) {
    const std::size_t end = rest_.find('&');
    const std::string_view pair = rest_.substr(0, end);
    rest_ = end == std::string_view::npos ? std::string_view() : rest_.substr(end + 1);
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : pair.substr(equals + 1);
    return decode(pair.substr(0, equals), name_) && decode(value, value_);
  }
  return false;
}

}  // namespace sluice::doors
