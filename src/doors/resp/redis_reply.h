#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

// Replies in the Redis protocol, as a server writes them; appended to a string.
namespace sluice::doors::redis_reply {

inline void line(std::string& out, char kind, std::int64_t number) {
  char text[24];
  text[0] = kind;
  char* const end = std::to_chars(text + 1, text + sizeof(text) - 2, number).ptr;
  end[0] = '\r';
  end[1] = '\n';
  out.append(text, static_cast<std::size_t>(end + 2 - text));
}

inline void integer(std::string& out, std::int64_t number) { line(out, ':', number); }
inline void array(std::string& out, std::size_t size) { line(out, '*', static_cast<std::int64_t>(size)); }
// Starts a map of this many pairs. RESP2 has no maps: there it is an array.
inline void map(std::string& out, std::size_t pairs, bool is_resp3) {
  line(out, is_resp3 ? '%' : '*', static_cast<std::int64_t>(is_resp3 ? pairs : 2 * pairs));
}
inline void status(std::string& out, std::string_view text) { out.append("+").append(text).append("\r\n"); }
inline void text(std::string& out, std::string_view bytes) {
  line(out, '$', static_cast<std::int64_t>(bytes.size()));
  out.append(bytes).append("\r\n");
}
inline void nothing(std::string& out, bool is_resp3) { out.append(is_resp3 ? "_\r\n" : "$-1\r\n"); }

// `kind` is "ERR" or another word in capitals. Characters that would end the line become spaces.
void error(std::string& out, std::string_view kind, std::string_view sentence);

inline constexpr std::string_view kSendAuth =
    "Authentication required: send AUTH with a token, as `AUTH sluice_…`";

// Sluice errors in the format of Redis.
void refuse(std::string& out, const Error& why);

}  // namespace sluice::doors::redis_reply
