#pragma once

#include <string_view>

namespace sluice {

// True if the bytes are UTF-8 without surrogates, overlong forms or values above U+10FFFF.
bool is_utf8(std::string_view bytes);

}  // namespace sluice
