#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "redis/url/redis_url.h"

namespace sluice::redis {

// Whether two addresses lead to the same server.
inline bool same_place(const Address& a, const Address& b) {
  return a.host == b.host && a.port == b.port && a.unix_path == b.unix_path;
}

// Callbacks of an AddressSource. They may destroy neither the source nor themselves.
class AddressEvents {
 public:
  // The answer to find(), or a later change: the server is there now.
  virtual void on_address(const Address& address) = 0;
  // The answer to find(): the address is not known.
  virtual void on_no_address(std::string_view why) = 0;

 protected:
  ~AddressEvents() = default;
};

// Tells a Connection where to connect, before each attempt. Belongs to one Connection and its thread.
class AddressSource {
 public:
  virtual ~AddressSource() = default;

  // Looks for the server; the answer comes within bounded time, perhaps before this returns. `another`: the
  // last address did not work. Later changes go to the same `events`.
  virtual void find(AddressEvents& events, bool another) = 0;

  // Called with each tick of the connection.
  virtual void tick(std::int64_t now_us) = 0;

  // Whether the server must report that it is a master before it is used.
  virtual bool finds_masters() const = 0;

  // For messages: the address, as far as known; never with a password.
  virtual std::string describe() const = 0;

  // What an operator should know about the source, a sentence; empty: nothing.
  virtual std::string problem() const { return ""; }
};

// A server with a fixed address. Immutable.
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
