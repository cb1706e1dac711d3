#include "store/redis/tenant_move/move_records.h"

#include <charconv>
#include <utility>

#include "store/redis/script/wire.h"

namespace sluice {
namespace {

constexpr std::int64_t kEveryUs = 1'000'000, kReplyUs = 5'000'000;

}  // namespace

MoveRecords::MoveRecords(TenantMoveOptions::End end, const Clock& clock, const TenantMove::Random& random)
    : key_(moves_key(end.key_prefix)),
      connection_(end.transport, clock, std::move(end.connection), random, *this) {}

void MoveRecords::tick(std::int64_t now_us) {
  now_us_ = now_us;
  connection_.tick(now_us);
  if (!connection_.ready()) return;
  if (is_asked_ && now_us >= due_us_)
    connection_.drop("timed out waiting for a reply");
  else if (!is_asked_ && now_us >= ask_at_us_)
    ask("HGET");
}

void MoveRecords::on_ready() {
  version_.clear();
  ask("HGET");
}

void MoveRecords::on_lost(std::string_view) {
  ++losses_;
  is_asked_ = false;
}

// HGET: the version of all records, which tenant_move.lua increments.
void MoveRecords::ask(std::string_view command) {
  std::string out;
  reads_all_ = command == "HVALS";
  if (reads_all_)
    redis::append_command(out, {command, key_});
  else
    redis::append_command(out, {command, key_, "#"});
  is_asked_ = true;
  due_us_ = now_us_ + kReplyUs;
  connection_.send(out);
}

void MoveRecords::on_reply(std::span<const redis::RespValue> reply) {
  is_asked_ = false;
  ask_at_us_ = now_us_ + kEveryUs;
  if (!reply.front().is_error()) connection_.note_use();
  if (reads_all_) {
    losses_ = 0;
    return read_all(reply);
  }
  // Before there is a record there is no version.
  std::string version = "v" + std::string(reply.front().bytes);
  if (version == version_ && records_) {
    losses_ = 0;
    return;
  }
  version_ = std::move(version);
  ask("HVALS");
}

void MoveRecords::read_all(std::span<const redis::RespValue> reply) {
  constexpr std::size_t kMove = 1, kDigits = 9, kOther = 47;  // in a record, see tenant_move.lua
  ++generation_;
  records_.emplace();
  if (reply.front().type != redis::RespValue::Type::kArray) return;
  for (const redis::RespValue& value : reply.subspan(1)) {
    const std::string_view text = value.bytes;
    const std::size_t end = text.size() > kOther ? text.find('\n', kOther) : text.npos;
    if (end == text.npos) continue;
    Record record{.state = text.front(),
                  .tenant = std::string(text.substr(end + 1)),
                  .other = std::string(text.substr(kOther, end - kOther))};
    std::from_chars(text.data() + kMove, text.data() + kMove + kDigits, record.number);
    records_->push_back(std::move(record));
  }
}

}  // namespace sluice
