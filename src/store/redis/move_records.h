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

// Asks a server, once, for its records of tenants that move, or have moved (tenant_move.h). Not thread-safe.
// Keeps trying until it has an answer.
class MoveRecords final : private redis::ConnectionEvents {
 public:
  struct Record {
    char state = '-';  // as there
    std::string tenant;
    std::string other;          // the cell at the other end
    std::int64_t until_ms = 0;  // by that server's clock: later ones have a later one
    friend bool operator==(const Record&, const Record&) = default;
  };

  // REQUIRES: the clock and the transport outlive it.
  MoveRecords(TenantMoveOptions::End end, const Clock& clock, const TenantMove::Random& random);

  void tick(std::int64_t now_us) { connection_.tick(now_us); }
  // Nothing before the server has answered. Who may not ask, or finds something else there, gets none.
  const std::optional<std::vector<Record>>& records() const { return records_; }
  // Connections that could not be made, or ended before there was an answer.
  std::uint32_t losses() const { return losses_; }

 private:
  void on_ready() override;
  void on_reply(std::span<const redis::RespValue> reply) override;
  void on_lost(std::string_view) override { ++losses_; }

  const std::string key_;
  redis::Connection connection_;
  std::optional<std::vector<Record>> records_;
  std::uint32_t losses_ = 0;
};

}  // namespace sluice
