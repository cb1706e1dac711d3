#include "redis/inspect/server_facts.h"

#include <charconv>

#include "base/limits.h"

namespace sluice::redis {
namespace {

constexpr std::size_t kWordBytesMax = 40;  // for words that go into a sentence

// Removes the part before `separator`, and the separator, from the front of `text`, and returns that part.
std::string_view take_until(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// slave0, slave1, …; but not slave_priority.
bool names_replica(std::string_view name) {
  constexpr std::string_view kStart = "slave";
  return name.starts_with(kStart) && number_in(name.substr(kStart.size()));
}

// ip=127.0.0.1,port=6380,state=online,offset=1252,lag=0
ServerFacts::Replica read_replica(std::string_view text) {
  ServerFacts::Replica replica;
  std::string host, port;
  while (!text.empty()) {
    std::string_view value = take_until(text, ',');
    const std::string_view name = take_until(value, '=');
    if (name == "ip") host = value.substr(0, kHostBytesMax);
    if (name == "port") port = value.substr(0, kWordBytesMax);
    if (name == "state") replica.online = value == "online";
    if (name == "offset") replica.offset = number_in(value).value_or(0);
    if (name == "lag") replica.silent_s = number_in(value).value_or(0);
  }
  replica.place = host + ":" + port;
  return replica;
}

}  // namespace

void read_info(std::string_view text, ServerFacts& facts) {
  while (!text.empty()) {
    std::string_view value = take_until(text, '\n');
    if (value.ends_with('\r')) value.remove_suffix(1);
    const std::string_view name = take_until(value, ':');
    if (name == "redis_version") facts.version = value.substr(0, kWordBytesMax);
    if (name == "redis_mode") facts.is_cluster_node = value == "cluster";
    if (name == "maxmemory_policy") facts.eviction = value.substr(0, kWordBytesMax);
    if (name == "maxmemory") facts.memory_bytes_max = number_in(value);
    if (name == "used_memory") facts.memory_bytes = number_in(value);
    if (name == "master_link_status") facts.lost_its_master = value == "down";
    if (name == "role") facts.is_replica = value == "slave";
    if (name == "master_replid") facts.history = value.substr(0, kWordBytesMax);
    if (name == "slave_repl_offset") facts.heard_offset = number_in(value).value_or(0);
    if (name == "master_repl_offset") facts.offset = number_in(value).value_or(0);
    if (names_replica(name) && facts.replicas.size() < kReplicasMax)
      facts.replicas.push_back(read_replica(value));
  }
}

}  // namespace sluice::redis
