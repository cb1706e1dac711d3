#include "redis/cluster/cluster_slots.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/limits.h"

namespace sluice::redis {
namespace {

using Type = RespValue::Type;

constexpr auto kCrcTable = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000u) != 0 ? crc << 1 ^ 0x1021u : crc << 1;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

std::optional<std::uint16_t> number_below(std::string_view text, std::uint32_t end) {
  std::uint32_t number = 0;
  const auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || last != text.data() + text.size() || number >= end) return std::nullopt;
  return static_cast<std::uint16_t>(number);
}

// Reads the values of a reply in the order of the wire.
class Reader {
 public:
  explicit Reader(std::span<const RespValue> values) : values_(values) {}

  // The next value, with nothing skipped; null at the end.
  const RespValue* next() { return at_ < values_.size() ? &values_[at_++] : nullptr; }

  // The length of the array that comes next; -1 if the next value is not an array.
  std::int64_t enter_array() {
    const RespValue* value = next();
    return value != nullptr && value->type == Type::kArray ? value->integer : -1;
  }

  // Skips whole values, arrays with all their elements.
  bool skip(std::int64_t count) {
    for (; count > 0; --count) {
      const RespValue* value = next();
      if (value == nullptr) return false;
      if (value->type == Type::kArray) count += value->integer;
    }
    return true;
  }

  std::optional<std::uint16_t> number(std::uint32_t end) {
    const RespValue* value = next();
    if (value == nullptr || value->type != Type::kInteger || value->integer < 0 || value->integer >= end)
      return std::nullopt;
    return static_cast<std::uint16_t>(value->integer);
  }

 private:
  std::span<const RespValue> values_;
  std::size_t at_ = 0;
};

struct NodeWithId {
  Endpoint endpoint;  // port 0: it has no known name
  std::string_view id;
};

// host, port, id, and more in newer versions.
std::optional<NodeWithId> read_node(Reader& reader, const Endpoint& asked) {
  const std::int64_t fields = reader.enter_array();
  if (fields < 2) return std::nullopt;
  const RespValue* host = reader.next();
  if (host == nullptr || (host->type != Type::kBytes && host->type != Type::kNothing)) return std::nullopt;
  const auto port = reader.number(65'536);
  if (!port) return std::nullopt;
  const RespValue* id = fields > 2 ? reader.next() : nullptr;
  if (fields > 2 && (id == nullptr || id->type != Type::kBytes || !reader.skip(fields - 3)))
    return std::nullopt;
  NodeWithId node{.endpoint = {}, .id = id != nullptr ? id->bytes : std::string_view()};
  if (host->bytes != "?" && *port != 0)
    node.endpoint = {host->bytes.empty() ? asked.host : std::string(host->bytes), *port};
  return node;
}

std::uint16_t place_in(std::vector<Endpoint>& all, Endpoint endpoint) {
  const auto found = std::ranges::find(all, endpoint);
  const auto place = static_cast<std::uint16_t>(found - all.begin());
  if (found == all.end()) all.push_back(std::move(endpoint));
  return place;
}

// first slot, last slot, master, replicas …
bool read_range(Reader& reader, const Endpoint& asked, SlotMap& map) {
  const std::int64_t fields = reader.enter_array();
  const auto first = reader.number(kSlots), last = reader.number(kSlots);
  if (fields < 2 || !first || !last || *first > *last) return false;
  std::uint16_t master = SlotMap::kNobody;
  for (std::int64_t i = 2; i < fields; ++i) {
    auto node = read_node(reader, asked);
    if (!node) return false;
    if (node->endpoint.port == 0) continue;
    if (map.masters.size() + map.replicas.size() >= kRedisClusterNodesMax) return false;
    if (i > 2) {
      const std::uint16_t place = place_in(map.replicas, std::move(node->endpoint));
      map.replica_of.resize(map.replicas.size());
      map.replica_of[place] = master;
    } else {
      master = place_in(map.masters, std::move(node->endpoint));
      map.ids.resize(map.masters.size());
      map.ids[master] = node->id;
      std::fill(map.owner.begin() + *first, map.owner.begin() + *last + 1, master);
    }
  }
  return true;
}

}  // namespace

std::uint16_t crc16(std::string_view bytes) {
  unsigned crc = 0;
  for (const char byte : bytes)
    crc = (crc << 8 ^ kCrcTable[(crc >> 8 ^ static_cast<unsigned char>(byte)) & 0xff]) & 0xffff;
  return static_cast<std::uint16_t>(crc);
}

std::uint16_t key_slot(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != std::string_view::npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  return crc16(key) % kSlots;
}

std::string Endpoint::to_string() const {
  return (host.contains(':') ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

std::string cluster_command(std::string_view about) {
  std::string command;
  append_command(command, {"CLUSTER", about});
  return command;
}

std::optional<SlotMap> read_slot_map(std::span<const RespValue> reply, const Endpoint& asked) {
  Reader reader(reply);
  const std::int64_t ranges = reader.enter_array();
  if (ranges < 0) return std::nullopt;
  SlotMap map;
  map.owner.assign(kSlots, SlotMap::kNobody);
  for (std::int64_t i = 0; i < ranges; ++i)
    if (!read_range(reader, asked, map)) return std::nullopt;
  if (map.masters.empty()) return std::nullopt;
  return map;
}

std::optional<Redirect> read_redirect(std::string_view error, const Endpoint& asked) {
  const std::size_t first = error.find(' ');
  const std::string_view code = error.substr(0, first);
  if (first == std::string_view::npos || (code != "MOVED" && code != "ASK")) return std::nullopt;
  const std::size_t second = error.find(' ', first + 1), colon = error.rfind(':');
  if (second == std::string_view::npos || colon == std::string_view::npos || colon < second)
    return std::nullopt;
  const auto slot = number_below(error.substr(first + 1, second - first - 1), kSlots);
  const auto port = number_below(error.substr(colon + 1), 65'536);
  const std::string_view host = error.substr(second + 1, colon - second - 1);
  if (!slot || !port || *port == 0 || host == "?" || host.contains(' ')) return std::nullopt;
  return Redirect{*slot, {host.empty() ? asked.host : std::string(host), *port}};
}

}  // namespace sluice::redis
