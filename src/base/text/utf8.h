#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

// The length in bytes of the first character of `text`; 0 if it is not valid UTF-8, or the text is empty.
std::size_t utf8_length(std::string_view text);

// True if the bytes are UTF-8 without surrogates, overlong forms or values above U+10FFFF.
bool is_utf8(std::string_view bytes);

// The text, with U+FFFD for each byte that is not part of a valid character.
std::string as_utf8(std::string_view text);

}  // namespace sluice
