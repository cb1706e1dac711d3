#include "redis/sentinel/sentinel_replies.h"

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

// One Sentinel or server: name, value, name, value, …
using Fields = std::span<const RespValue>;

std::string_view field(Fields fields, std::string_view name) {
  for (std::size_t i = 0; i + 1 < fields.size(); i += 2)
    if (fields[i].bytes == name) return fields[i + 1].bytes;
  return {};
}

std::vector<HostAndPort> read_list(std::span<const RespValue> reply, std::size_t most,
                                   bool (*wanted)(Fields fields)) {
  std::vector<HostAndPort> found;
  if (reply.empty() || reply.front().type != RespValue::Type::kArray) return found;
  reply = reply.subspan(1);
  while (!reply.empty() && found.size() < most) {
    const auto count = static_cast<std::size_t>(reply.front().integer);
    if (reply.size() < count + 1 || !is_array_of_bytes(reply.first(count + 1), count)) break;
    const Fields fields = reply.subspan(1, count);
    if (auto place = make(field(fields, "ip"), field(fields, "port")); place && wanted(fields))
      found.push_back(*std::move(place));
    reply = reply.subspan(count + 1);
  }
  return found;
}

// Flags are words like slave,s_down,disconnected.
bool is_in_order(Fields replica) {
  const std::string_view flags = field(replica, "flags");
  return !flags.contains("down") && !flags.contains("disconnected") &&
         field(replica, "master-link-status") == "ok";
}

}  // namespace

std::optional<HostAndPort> read_master_address(std::span<const RespValue> reply) {
  if (!is_array_of_bytes(reply, 2)) return std::nullopt;
  return make(reply[1].bytes, reply[2].bytes);
}

std::vector<HostAndPort> read_other_sentinels(std::span<const RespValue> reply) {
  return read_list(reply, kSentinelsMax, [](Fields) { return true; });
}

std::vector<HostAndPort> read_good_replicas(std::span<const RespValue> reply) {
  return read_list(reply, kReplicasMax, is_in_order);
}

bool tells_of_switch(std::span<const RespValue> reply, std::string_view master_name) {
  if (!is_array_of_bytes(reply, 3) || reply[1].bytes != "message" || reply[2].bytes != "+switch-master")
    return false;
  const std::string_view text = reply[3].bytes;  // name, old host and port, new host and port
  return text.size() > master_name.size() && text.starts_with(master_name) && text[master_name.size()] == ' ';
}

}  // namespace sluice::redis
