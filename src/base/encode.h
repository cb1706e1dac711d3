#pragma once

#include <optional>
#include <string>
#include <string_view>

// Bytes as text that fits into URLs, headers and logs.
namespace sluice {

// Two lower-case digits a byte.
std::string to_hex(std::string_view bytes);
// What to_hex() made this of, in either case of letters; nothing if it did not.
std::optional<std::string> from_hex(std::string_view text);

// Five bits a letter of a–z and 2–7, the first bits first; what does not fill a letter is left out.
std::string to_base32(std::string_view bytes);

// As URLs have it: letters, digits, - . _ ~ and what is `also_kept` stay, every other byte becomes %2F.
std::string percent_encode(std::string_view bytes, std::string_view also_kept = {});

}  // namespace sluice
