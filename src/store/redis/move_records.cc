#include "store/redis/move_records.h"

#include <charconv>
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

void MoveRecords::on_reply(std::span<const redis::RespValue> reply) {
  constexpr std::size_t kUntil = 33, kOther = 47;  // where they stand in a record, see tenant_move.lua
  records_.emplace();
  if (reply.front().type != redis::RespValue::Type::kArray) return;
  for (const redis::RespValue& value : reply.subspan(1)) {
    const std::string_view text = value.bytes;
    const std::size_t end = text.size() > kOther ? text.find('\n', kOther) : text.npos;
    if (end == text.npos) continue;
    Record record{.state = text.front(),
                  .tenant = std::string(text.substr(end + 1)),
                  .other = std::string(text.substr(kOther, end - kOther))};
    std::from_chars(text.data() + kUntil, text.data() + kOther, record.until_ms);
    records_->push_back(std::move(record));
  }
}

}  // namespace sluice
