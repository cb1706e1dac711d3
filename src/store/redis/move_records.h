#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "store/redis/tenant_move.h"

namespace sluice {

// Asks a server, once, which tenants were on their way to it when their mover died (tenant_move.h: `a`). Not
// thread-safe. Keeps trying until it has an answer.
class MoveRecords final : private redis::ConnectionEvents {
 public:
  struct Arrival {
    std::string tenant;
    std::string from;  // the cell
    friend bool operator==(const Arrival&, const Arrival&) = default;
  };

  // REQUIRES: the clock and the transport outlive it.
  MoveRecords(TenantMoveOptions::End end, const Clock& clock, const TenantMove::Random& random);

  void tick(std::int64_t now_us) { connection_.tick(now_us); }
  // Nothing before the server has answered.
  const std::optional<std::vector<Arrival>>& arrivals() const { return arrivals_; }

 private:
  void on_ready() override;
  void on_reply(std::span<const redis::RespValue> reply) override;
  void on_lost(std::string_view) override {}

  const std::string key_;
  redis::Connection connection_;
  std::optional<std::vector<Arrival>> arrivals_;
};

}  // namespace sluice
