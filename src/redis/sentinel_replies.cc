#include "redis/sentinel_replies.h"

#include <algorithm>
#include <charconv>

#include "base/limits.h"

namespace sluice::redis {
namespace {

std::optional<HostAndPort> make(std::string_view host, std::string_view port) {
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool whole = error == std::errc() && end == port.data() + port.size() && number != 0;
  if (!whole || host.empty() || host.size() > kHostBytesMax) return std::nullopt;
  return HostAndPort{std::string(host), number};
}

bool is_array_of_bytes(std::span<const RespValue> values, std::size_t count) {
  return values.size() == count + 1 && values[0].type == RespValue::Type::kArray &&
         std::ranges::all_of(values.subspan(1),
                             [](const RespValue& value) { return value.type == RespValue::Type::kBytes; });
}

// One Sentinel: name, value, name, value, …
std::optional<HostAndPort> read_fields(std::span<const RespValue> fields) {
  std::string_view host, port;
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i].bytes == "ip") host = fields[i + 1].bytes;
    if (fields[i].bytes == "port") port = fields[i + 1].bytes;
  }
  return make(host, port);
}

}  // namespace

std::optional<HostAndPort> read_master_address(std::span<const RespValue> reply) {
  if (!is_array_of_bytes(reply, 2)) return std::nullopt;
  return make(reply[1].bytes, reply[2].bytes);
}

std::vector<HostAndPort> read_other_sentinels(std::span<const RespValue> reply) {
  std::vector<HostAndPort> found;
  if (reply.empty() || reply.front().type != RespValue::Type::kArray) return found;
  reply = reply.subspan(1);
  while (!reply.empty() && found.size() < kSentinelsMax) {
    const auto fields = static_cast<std::size_t>(reply.front().integer);
    if (reply.size() < fields + 1 || !is_array_of_bytes(reply.first(fields + 1), fields)) break;
    if (auto sentinel = read_fields(reply.subspan(1, fields))) found.push_back(*std::move(sentinel));
    reply = reply.subspan(fields + 1);
  }
  return found;
}

bool tells_of_switch(std::span<const RespValue> reply, std::string_view master_name) {
  if (!is_array_of_bytes(reply, 3) || reply[1].bytes != "message" || reply[2].bytes != "+switch-master")
    return false;
  const std::string_view text = reply[3].bytes;  // name, old host and port, new host and port
  return text.size() > master_name.size() && text.starts_with(master_name) && text[master_name.size()] == ' ';
}

}  // namespace sluice::redis
