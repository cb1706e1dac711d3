#pragma once

#include <string>
#include <utility>
#include <vector>

#include "redis/address_source.h"

namespace sluice::redis {

// The node of a Cluster that has the slot of one user's keys, who keeps them all on one: begins with any node
// and goes where MOVED says. Belongs to one Connection and its thread.
class SlotAddress final : public AddressSource {
 public:
  // REQUIRES: at least one seed.
  explicit SlotAddress(std::vector<Address> seeds) : seeds_(std::move(seeds)), address_(seeds_.front()) {}

  // A node that was of no use may be gone: another one knows who has its slots now.
  void find(AddressEvents& events, bool another) override {
    if (another) address_ = seeds_[++tried_ % seeds_.size()];
    events.on_address(address_);
  }
  void tick(std::int64_t) override {}
  bool finds_masters() const override { return false; }
  std::string describe() const override { return address_.to_string(); }

  // From the next connection on.
  void move_to(std::string host, std::uint16_t port) {
    address_.host = std::move(host);
    address_.port = port;
  }

 private:
  const std::vector<Address> seeds_;
  Address address_;
  std::size_t tried_ = 0;
};

}  // namespace sluice::redis
