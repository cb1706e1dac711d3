#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sluice::doors {

// An IP address. Version 4 is kept as its mapped version 6 form, so that 192.0.2.1 and ::ffff:192.0.2.1 are
// one.
class IpAddress {
 public:
  // "192.0.2.1" or "2001:db8::1"; nothing else around it.
  static std::optional<IpAddress> parse(std::string_view text);
  // One form for each address: lower case, shortest, version 4 with dots.
  std::string to_string() const;
  bool is_v4() const;
  // Where it belongs to, as far as one owner has all of it: of version 6 the network of 64 bits, of version 4
  // the address itself.
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
  // Addresses and networks (CIDR), separated by commas or spaces. Refuses bits set beyond the prefix: that is
  // a typo.
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
