#include "store/redis/move_records.h"

#include <utility>

#include "store/redis/wire.h"

namespace sluice {

MoveRecords::MoveRecords(TenantMoveOptions::End end, const Clock& clock, const TenantMove::Random& random)
    : key_(moves_key(end.key_prefix)),
      connection_(end.transport, clock, std::move(end.connection), random, *this) {}

void MoveRecords::on_ready() {
  std::string command;
  redis::append_command(command, {"HVALS", key_});
  connection_.send(command);
}

// Who may not ask, or finds something else there, has nothing to go on with.
void MoveRecords::on_reply(std::span<const redis::RespValue> reply) {
  constexpr std::size_t kOther = 47;  // where the other cell stands in a record, see tenant_move.lua
  arrivals_.emplace();
  if (reply.front().type != redis::RespValue::Type::kArray) return;
  for (const redis::RespValue& record : reply.subspan(1)) {
    const std::string_view text = record.bytes;
    const std::size_t end = text.size() > kOther && text.front() == 'a' ? text.find('\n', kOther) : text.npos;
    if (end == text.npos) continue;
    arrivals_->push_back({.tenant = std::string(text.substr(end + 1)),
                          .from = std::string(text.substr(kOther, end - kOther))});
  }
}

}  // namespace sluice
