#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice {

// How many bytes the first character of `text` has; 0 if it is not valid UTF-8, or the text is empty.
std::size_t utf8_length(std::string_view text);

// True if the bytes are UTF-8 without surrogates, overlong forms or values above U+10FFFF.
bool is_utf8(std::string_view bytes);

// The text, with U+FFFD for each byte that belongs to no character.
std::string as_utf8(std::string_view text);

}  // namespace sluice
