#pragma once

#include <optional>
#include <string>
#include <string_view>

// Encodes bytes as text for URLs, headers and logs.
namespace sluice {

// Two lower-case digits per byte.
std::string to_hex(std::string_view bytes);
// The inverse of to_hex(), in either case; nothing if the text is not hexadecimal.
std::optional<std::string> from_hex(std::string_view text);

// Five bits per character, a–z and 2–7, high bits first; bits that do not fill a character are dropped.
std::string to_base32(std::string_view bytes);

// As in URLs: letters, digits, - . _ ~ and the bytes in `also_kept` stay; every other byte is written as %2F.
std::string percent_encode(std::string_view bytes, std::string_view also_kept = {});

}  // namespace sluice
