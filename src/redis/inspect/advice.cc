#include "redis/inspect/advice.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace sluice::redis {
namespace {

constexpr std::int64_t kReplicaSilenceSMax = 10;           // it reports once a second
constexpr std::int64_t kReplicaBytesBehindMax = 16 << 20;  // some hundred thousand charges
constexpr std::int64_t kClockDeltaUsMax = 1'000'000;
constexpr std::pair<int, int> kVersionMin = {6, 2};

bool lags(const ServerFacts::Replica& replica, const ServerFacts& facts) {
  return !replica.online || replica.silent_s > kReplicaSilenceSMax ||
         facts.offset - replica.offset > kReplicaBytesBehindMax;
}

bool is_nearly_full(const ServerFacts& facts) {
  const std::int64_t most = facts.memory_bytes_max.value_or(0);
  return most > 0 && facts.memory_bytes.value_or(0) > most - most / 10;
}

bool too_old(std::string_view version) {
  std::pair<int, int> number = {0, 0};
  const char* const end = version.data() + version.size();
  const auto [after, error] = std::from_chars(version.data(), end, number.first);
  if (error != std::errc() || after == end || *after != '.') return false;
  if (std::from_chars(after + 1, end, number.second).ec != std::errc()) return false;
  return number < kVersionMin;
}

}  // namespace

bool is_loopback(const Address& address) {
  const std::string_view host = address.host;
  const bool is_ipv4 = std::ranges::all_of(host, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
  return !address.unix_path.empty() || host == "localhost" || host.ends_with(".localhost") || host == "::1" ||
         host.starts_with("::ffff:127.") || (is_ipv4 && host.starts_with("127."));
}

std::vector<std::string> advise(const Address& address, const ServerFacts& facts, const ClockDelta& clock) {
  std::vector<std::string> advice;
  if (!address.tls && !is_loopback(address))
    advice.push_back("the password and all keys travel unencrypted; use rediss://");
  if (too_old(facts.version))
    advice.push_back("version " + facts.version +
                     " is older than 6.2, the oldest supported version; upgrade it");
  if (!facts.eviction.empty() && facts.eviction != "noeviction" && facts.memory_bytes_max != 0)
    advice.push_back("maxmemory-policy is " + facts.eviction +
                     ": Redis may evict counters of keys that are over their limit; set it to noeviction");
  if (is_nearly_full(facts))
    advice.push_back(
        "more than 90 % of maxmemory is used; when it is full, checks that need new counters are decided by "
        "on_failure: raise maxmemory, or shorten the periods of limits with many keys");
  if (facts.is_cluster_node && facts.needs_all_slots)
    advice.push_back(
        "cluster-require-full-coverage is yes: if one master is lost, the whole cluster refuses commands; "
        "set it to no, so that only the slots of that master are down");
  if (facts.lost_its_master)
    advice.push_back("it is a replica that has lost its master; connect to the master");
  for (const ServerFacts::Replica& replica : facts.replicas)
    if (lags(replica, facts))
      advice.push_back("its replica " + replica.place +
                       " lags behind, so a failover would lose counts; check its load and its network");
  const auto delta = clock.estimate();
  if (delta && delta->beyond(kClockDeltaUsMax))
    advice.push_back(std::string("its clock is more than 1 s ") +
                     (delta->ahead_us > 0 ? "ahead of" : "behind") +
                     " ours, so windows would jump in a failover; check NTP on both machines");
  return advice;
}

}  // namespace sluice::redis
