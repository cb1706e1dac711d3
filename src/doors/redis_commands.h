#pragma once

#include <algorithm>
#include <cctype>
#include <span>
#include <string>
#include <string_view>

// The commands that this server has over the Redis protocol, and how many arguments each takes.
namespace sluice::doors {

// Whether a word of a command is that one: they are the same in any case. REQUIRES: `upper` is in capitals.
inline bool is_redis_word(std::string_view word, std::string_view upper) {
  return std::ranges::equal(word, upper, [](char a, char b) {
    return std::toupper(static_cast<unsigned char>(a)) == static_cast<unsigned char>(b);
  });
}

// Whether there is such a command with so many arguments. If not, appends the error that Redis would answer.
// What Redis finds out only when it carries a command out is left to that. REQUIRES: there is a word.
bool is_redis_command(std::span<const std::string_view> words, std::string& out);

}  // namespace sluice::doors
