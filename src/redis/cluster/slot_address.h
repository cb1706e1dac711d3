#pragma once

#include <string>
#include <utility>
#include <vector>

#include "redis/connection/address_source.h"

namespace sluice::redis {

// The node of a Cluster that has one slot, for a user that keeps all its keys in one slot: starts with any
// node and follows MOVED. Belongs to one Connection and its thread.
class SlotAddress final : public AddressSource {
 public:
  // REQUIRES: at least one seed.
  explicit SlotAddress(std::vector<Address> seeds) : seeds_(std::move(seeds)), address_(seeds_.front()) {}

  // A node that failed may be gone: another one knows who has its slots now.
  void find(AddressEvents& events, bool another) override {
    if (another) address_ = seeds_[++tried_ % seeds_.size()];
    events.on_address(address_);
  }
  void tick(std::int64_t) override {}
  bool finds_masters() const override { return false; }
  std::string describe() const override { return address_.to_string(); }

  // Takes effect with the next connection.
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
