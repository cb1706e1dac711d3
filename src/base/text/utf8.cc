#include "base/text/utf8.h"

#include <cstdint>
#include <cstring>

namespace sluice {
namespace {

// Length of the UTF-8 sequence at `text`, or 0 if there is none.
std::size_t utf8_sequence(const unsigned char* text, std::size_t left) {
  const auto tail = [&](std::size_t i) { return i < left && (text[i] & 0xc0) == 0x80; };
  const unsigned char lead = text[0];
  if (lead < 0x80) return 1;
  if (lead < 0xc2) return 0;
  if (lead < 0xe0) return tail(1) ? 2 : 0;
  if (lead < 0xf0) {
    if (!tail(1) || !tail(2)) return 0;
    if (lead == 0xe0 && text[1] < 0xa0) return 0;   // overlong
    if (lead == 0xed && text[1] >= 0xa0) return 0;  // surrogates
    return 3;
  }
  if (lead > 0xf4 || !tail(1) || !tail(2) || !tail(3)) return 0;
  if (lead == 0xf0 && text[1] < 0x90) return 0;   // overlong
  if (lead == 0xf4 && text[1] >= 0x90) return 0;  // above U+10FFFF
  return 4;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  return text.empty() ? 0 : utf8_sequence(reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

bool is_utf8(std::string_view bytes) {
  const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  while (left != 0) {
    std::uint64_t word = 0;
    if (left >= sizeof(word)) {
      std::memcpy(&word, at, sizeof(word));
      if ((word & 0x8080808080808080u) == 0) {  // nearly all text is ASCII
        at += sizeof(word);
        left -= sizeof(word);
        continue;
      }
    }
    const std::size_t length = utf8_sequence(at, left);
    if (length == 0) return false;
    at += length;
    left -= length;
  }
  return true;
}

std::string as_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = utf8_length(text);
    out.append(size != 0 ? text.substr(0, size) : "\xef\xbf\xbd");
    text.remove_prefix(size != 0 ? size : 1);
  }
  return out;
}

}  // namespace sluice
