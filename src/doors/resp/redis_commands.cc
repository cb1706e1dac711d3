#include "doors/resp/redis_commands.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>

#include "base/limits.h"
#include "doors/resp/redis_reply.h"

namespace sluice::doors {
namespace {

struct Command {
  std::string_view name;
  std::size_t arguments_min = 0;
  std::size_t arguments_max = kRedisCommandWordsMax;
};
constexpr std::array<Command, 15> kCommands = {{{"AUTH", 1, 2},
                                                {"CL.THROTTLE", 4, 5},
                                                {"CLIENT", 1},
                                                {"COMMAND"},
                                                {"CONFIG", 1},
                                                {"DEL", 1},
                                                {"DISCARD", 0, 0},
                                                {"ECHO", 1, 1},
                                                {"EXEC", 0, 0},
                                                {"HELLO"},
                                                {"INFO"},
                                                {"MULTI", 0, 0},
                                                {"PING", 0, 1},
                                                {"RESET", 0, 0},
                                                {"SELECT", 1, 1}}};

constexpr std::size_t kShownBytesMax = 64;

}  // namespace

bool is_redis_command(std::span<const std::string_view> words, std::string& out) {
  const std::size_t arguments = words.size() - 1;
  const auto* const command = std::ranges::find_if(
      kCommands, [&](const Command& each) { return is_redis_word(words[0], each.name); });
  std::string shown(words[0].substr(0, kShownBytesMax));
  if (command == kCommands.end()) {
    std::ranges::replace_if(shown, [](char c) { return c < ' ' || c == 0x7f; }, '?');
    redis_reply::error(out, "ERR",
                       "unknown command '" + shown +
                           "'; supported: CL.THROTTLE, DEL, PING and what clients need to connect");
    return false;
  }
  if (arguments >= command->arguments_min && arguments <= command->arguments_max) return true;
  std::ranges::transform(shown, shown.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  redis_reply::error(out, "ERR", "wrong number of arguments for '" + shown + "' command");
  return false;
}

}  // namespace sluice::doors
