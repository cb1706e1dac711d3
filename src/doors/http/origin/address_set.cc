#include "doors/http/origin/address_set.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace sluice::doors {
namespace {

constexpr std::array<std::uint8_t, 12> kV4Prefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

std::array<std::uint8_t, 16> masked(std::array<std::uint8_t, 16> bytes, int prefix_bits) {
  for (int i = 0; i < 16; ++i) {
    const int kept = std::clamp(prefix_bits - 8 * i, 0, 8);
    bytes[static_cast<std::size_t>(i)] &= static_cast<std::uint8_t>(0xff00 >> kept);
  }
  return bytes;
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  char terminated[INET6_ADDRSTRLEN];
  if (text.empty() || text.size() >= sizeof terminated) return std::nullopt;
  std::memcpy(terminated, text.data(), text.size());
  terminated[text.size()] = '\0';
  IpAddress address;
  if (inet_pton(AF_INET6, terminated, address.bytes_.data()) == 1) return address;
  std::ranges::copy(kV4Prefix, address.bytes_.begin());
  if (inet_pton(AF_INET, terminated, address.bytes_.data() + kV4Prefix.size()) == 1) return address;
  return std::nullopt;
}

bool IpAddress::is_v4() const { return std::equal(kV4Prefix.begin(), kV4Prefix.end(), bytes_.begin()); }

IpAddress IpAddress::site() const {
  constexpr int kSiteBits = 64;
  IpAddress site = *this;
  if (!is_v4()) site.bytes_ = masked(bytes_, kSiteBits);
  return site;
}

std::string IpAddress::to_string() const {
  char text[INET6_ADDRSTRLEN];
  if (is_v4())
    inet_ntop(AF_INET, bytes_.data() + kV4Prefix.size(), text, sizeof text);
  else
    inet_ntop(AF_INET6, bytes_.data(), text, sizeof text);
  return text;
}

std::optional<AddressSet::Network> AddressSet::parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto base = IpAddress::parse(text.substr(0, slash));
  if (!base) return std::nullopt;
  Network network{*base, 128};
  if (slash == std::string_view::npos) return network;

  const std::string_view digits = text.substr(slash + 1);
  int bits = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  // The prefix of "::ffff:10.0.0.0/104" counts IPv6 bits, that of "10.0.0.0/8" IPv4 bits.
  const bool v4 = text.find(':') == std::string_view::npos;
  if (error != std::errc() || end != digits.data() + digits.size() || bits < 0 || bits > (v4 ? 32 : 128))
    return std::nullopt;
  network.prefix_bits = v4 ? bits + 96 : bits;
  if (masked(base->bytes_, network.prefix_bits) != base->bytes_) return std::nullopt;
  return network;
}

Result<AddressSet> AddressSet::parse(std::string_view text) {
  AddressSet set;
  constexpr std::string_view kSeparators = ", ";
  for (std::size_t at = text.find_first_not_of(kSeparators); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSeparators, at), text.size());
    const std::string_view item = text.substr(at, end - at);
    const auto network = parse_network(item);
    if (!network)
      return invalid("",
                     "\"" + std::string(item) +
                         "\" is not an address or network; write it like 10.0.0.0/8, 192.0.2.7 or fd00::/8");
    set.networks_.push_back(*network);
    at = text.find_first_not_of(kSeparators, end);
  }
  return set;
}

AddressSet AddressSet::loopback() { return *parse("127.0.0.0/8,::1"); }

bool AddressSet::contains(const IpAddress& address) const {
  return std::ranges::any_of(networks_, [&](const Network& network) {
    return masked(address.bytes_, network.prefix_bits) == network.base.bytes_;
  });
}

bool AddressSet::contains(std::string_view address) const {
  const auto parsed = IpAddress::parse(address);
  return parsed && contains(*parsed);
}

}  // namespace sluice::doors
