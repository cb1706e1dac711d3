#include "doors/text.h"

namespace sluice::doors {

void TextCursor::json_string(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  *at_++ = '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && c != '"' && c != '\\') [[likely]] {
      *at_++ = c;
    } else if (byte >= 0x20) {
      *at_++ = '\\';
      *at_++ = c;
    } else {
      literal("\\u00");
      *at_++ = kHex[byte >> 4];
      *at_++ = kHex[byte & 15];
    }
  }
  *at_++ = '"';
}

}  // namespace sluice::doors
