#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "redis/redis_url.h"

namespace sluice::redis {

// Whether two addresses lead to the same server.
inline bool same_place(const Address& a, const Address& b) {
  return a.host == b.host && a.port == b.port && a.unix_path == b.unix_path;
}

// Hears where to connect. May destroy neither the source nor itself.
class AddressEvents {
 public:
  // The answer to find(), or news: the server is there now.
  virtual void on_address(const Address& address) = 0;
  // The answer to find(): nobody knows.
  virtual void on_no_address(std::string_view why) = 0;

 protected:
  ~AddressEvents() = default;
};

// Knows where a Connection is to go, each time anew. Belongs to one Connection and its thread.
class AddressSource {
 public:
  virtual ~AddressSource() = default;

  // Looks where the server is; the answer comes within bounded time, perhaps before this returns. `another`:
  // the last address was of no use. News go to the same `events` from then on.
  virtual void find(AddressEvents& events, bool another) = 0;

  // Time passes. Called with each tick of the connection.
  virtual void tick(std::int64_t now_us) = 0;

  // Whether the server must say that it is a master before it is used.
  virtual bool finds_masters() const = 0;

  // For messages: where it is, as far as known; never with a password.
  virtual std::string describe() const = 0;

  // What an operator should know of those who tell the address, a sentence; empty: nothing.
  virtual std::string problem() const { return ""; }
};

// A server that stays where it is.
class FixedAddress final : public AddressSource {
 public:
  explicit FixedAddress(Address address) : address_(std::move(address)) {}

  void find(AddressEvents& events, bool) override { events.on_address(address_); }
  void tick(std::int64_t) override {}
  bool finds_masters() const override { return false; }
  std::string describe() const override { return address_.to_string(); }

 private:
  const Address address_;
};

}  // namespace sluice::redis
