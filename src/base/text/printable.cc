#include "base/text/printable.h"

#include <algorithm>

#include "base/text/utf8.h"

namespace sluice {

std::string printable(std::string_view text, std::size_t bytes_max) {
  std::string out;
  while (!text.empty() && out.size() < bytes_max) {
    const std::size_t size = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    // C1 controls are two bytes, and can move a terminal's cursor just like C0.
    const bool control = size == 1 ? first < 0x20 || first == 0x7f
                                   : size == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (size == 0 || control)
      out += '?';
    else
      out += text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  if (!text.empty()) out += "…";
  return out;
}

}  // namespace sluice
