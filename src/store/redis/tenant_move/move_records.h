#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "store/redis/tenant_move/tenant_move.h"

namespace sluice {

// A server's records of tenants that are moving or have moved (tenant_move.h), as last read. Checked once a
// second, and after every reconnect, because the server may then be another one or have lost writes. Read in
// full only when something has changed. Not thread-safe.
class MoveRecords final : private redis::ConnectionEvents {
 public:
  struct Record {
    char state = '-';  // as in the record
    std::string tenant;
    std::string other;         // the cell at the other end
    std::uint32_t number = 0;  // of the move; a later move has a higher one
    friend bool operator==(const Record&, const Record&) = default;
  };

  // REQUIRES: the clock and the transport outlive it.
  MoveRecords(TenantMoveOptions::End end, const Clock& clock, const TenantMove::Random& random);

  void tick(std::int64_t now_us);
  // Absent before the server has answered. Empty if we may not read them, or if the key holds something else.
  const std::optional<std::vector<Record>>& records() const { return records_; }
  // Changes whenever records() are read again.
  std::uint64_t generation() const { return generation_; }
  // Connections that failed or were lost since the last answer.
  std::uint32_t losses() const { return losses_; }

 private:
  void on_ready() override;
  void on_reply(std::span<const redis::RespValue> reply) override;
  void on_lost(std::string_view) override;
  void ask(std::string_view command);
  void read_all(std::span<const redis::RespValue> reply);

  const std::string key_;
  redis::Connection connection_;
  std::optional<std::vector<Record>> records_;
  std::uint64_t generation_ = 0;
  std::string version_;  // of the records
  bool reads_all_ = false;
  bool is_asked_ = false;
  std::int64_t now_us_ = 0, ask_at_us_ = 0, due_us_ = 0;
  std::uint32_t losses_ = 0;
};

}  // namespace sluice
