#pragma once

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <string_view>

// The commands that this server supports over the Redis protocol, and how many arguments each takes.
namespace sluice::doors {

// Compares a command word, ignoring case. REQUIRES: `upper` is in capitals.
inline bool is_redis_word(std::string_view word, std::string_view upper) {
  return std::ranges::equal(word, upper, [](char a, char b) {
    return std::toupper(static_cast<unsigned char>(a)) == static_cast<unsigned char>(b);
  });
}

// Whether there is such a command with this number of arguments. If not, appends the error that Redis would
// send. Errors that Redis detects only on execution are left to the execution. REQUIRES: `words` is not
// empty.
bool is_redis_command(std::span<const std::string_view> words, std::string& out);

}  // namespace sluice::doors
