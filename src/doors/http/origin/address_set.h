#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::doors {

// An IP address. IPv4 is stored in its mapped IPv6 form, so that 192.0.2.1 and ::ffff:192.0.2.1 are equal.
// A plain value.
class IpAddress {
 public:
  // "192.0.2.1" or "2001:db8::1", and nothing else.
  static std::optional<IpAddress> parse(std::string_view text);
  // The canonical form: lower case, shortest, IPv4 with dots.
  std::string to_string() const;
  bool is_v4() const;
  // The network that one owner normally has as a whole: the /64 of an IPv6 address, an IPv4 address itself.
  IpAddress site() const;

  friend bool operator==(const IpAddress&, const IpAddress&) = default;

 private:
  friend class AddressSet;
  std::array<std::uint8_t, 16> bytes_{};
};

// A list of networks, like "10.0.0.0/8,::1". Immutable once made; thread-safe.
class AddressSet {
 public:
  AddressSet() = default;
  // Addresses and networks (CIDR), separated by commas or spaces. Bits set beyond the prefix are refused:
  // they are a typo.
  static Result<AddressSet> parse(std::string_view text);
  static AddressSet loopback();

  bool contains(const IpAddress& address) const;
  bool contains(std::string_view address) const;

 private:
  struct Network {
    IpAddress base;
    int prefix_bits = 128;
  };
  static std::optional<Network> parse_network(std::string_view text);
  std::vector<Network> networks_;
};

}  // namespace sluice::doors
