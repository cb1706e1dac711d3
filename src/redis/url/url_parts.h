#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "redis/url/redis_url.h"

// The parts of a store's URL; store_url.h puts them together. Messages never repeat the input, except the
// name of an option: it may be a password in the wrong place.
namespace sluice::redis {

// A sentence about what is wrong, or nothing.
using Problem = std::optional<std::string>;

std::vector<std::string_view> split(std::string_view text, char by);

// Absent if the text is not a number from 0 to max.
std::optional<int> number_up_to(std::string_view text, int max);

// %40 becomes @. Absent if a % is not followed by two hex digits, or for a NUL, which would truncate a file
// name.
std::optional<std::string> percent_decoded(std::string_view text);
// Encodes any text, so that it can stand anywhere in a URL.
std::string percent_encoded(std::string_view text);

// Reads "user:password".
Problem read_credentials(std::string_view text, Address& address);

// Reads "host", "host:port" or "[IPv6]:port"; without a port the address keeps the one it has.
Problem read_host_and_port(std::string_view text, Address& address);

Problem read_database(std::string_view text, Address& address);

// What follows the ? of a store's URL. Empty: not given.
struct UrlOptions {
  std::string ca, cert, key, server_name;
  std::string sentinel_user, sentinel_password;
  std::string db;
  std::string read_from;

  bool any_of_tls() const { return !(ca + cert + key + server_name).empty(); }
  bool any_of_sentinel() const { return !(sentinel_user + sentinel_password).empty(); }
};

// Reads "name=value&name=value".
Problem read_options(std::string_view text, UrlOptions& options);

}  // namespace sluice::redis
