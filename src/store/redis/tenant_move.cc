#include "store/redis/tenant_move.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/limits.h"
#include "redis/server_error.h"
#include "store/redis/wire.h"

namespace sluice {
namespace {

using Type = redis::RespValue::Type;

constexpr std::string_view kScanCount = "1000";
constexpr std::int64_t kNoTtl = -1;  // what PTTL says
constexpr std::size_t kQuotedBytesMax = 200;

// The pattern that all names with this tag match. The letters of a tag are no special ones; those of a prefix
// may be.
std::string pattern_of(std::string_view prefix, std::uint32_t slot_tag) {
  std::string name, pattern;
  append_key(name, "", slot_tag, {});
  for (const char letter : prefix) {
    if (std::string_view("*?[]\\").contains(letter)) pattern += '\\';
    pattern += letter;
  }
  return pattern + name.substr(0, name.find('}') + 1) + "*";
}

void append(std::string& out, std::initializer_list<std::string_view> words) {
  redis::append_command(out, {words.begin(), words.size()});
}

}  // namespace

// One of the two servers.
class TenantMove::Side final : private redis::ConnectionEvents {
 public:
  Side(TenantMove& move, std::string_view role, const TenantMoveOptions::End& end, const Clock& clock,
       const Random& random)
      : name(std::string(role) + " " + end.connection.address.to_string()),
        key_prefix(end.key_prefix),
        connection(end.transport, clock, end.connection, random, *this),
        move_(move) {}

  const std::string name;
  const std::string key_prefix;
  redis::Connection connection;
  std::uint32_t losses = 0;

 private:
  void on_ready() override { move_.proceed(); }
  void on_reply(std::span<const redis::RespValue> reply) override {
    if (!reply.front().is_error()) connection.note_use();
    move_.on_reply(reply);
  }
  void on_lost(std::string_view why) override { move_.on_lost(*this, why); }

  TenantMove& move_;
};

TenantMove::TenantMove(TenantMoveOptions options, const Clock& clock, const Random& random)
    : options_(std::move(options)),
      clock_(clock),
      pattern_(pattern_of(options_.source.key_prefix, options_.slot_tag)),
      source_(std::make_unique<Side>(*this, "the source", options_.source, clock, random)) {
  if (options_.target) target_ = std::make_unique<Side>(*this, "the target", *options_.target, clock, random);
}

TenantMove::~TenantMove() = default;

void TenantMove::tick(std::int64_t now_us) {
  for (Side* side : {source_.get(), target_.get()})
    if (side != nullptr && state_ == State::kRunning) side->connection.tick(now_us);
  if (state_ == State::kRunning && unanswered_ > 0 && now_us >= reply_due_us_)
    side_in_use().connection.drop("it does not answer in time");
}

TenantMove::Side& TenantMove::side_in_use() { return step_ == Step::kWrite ? *target_ : *source_; }

// Sends the commands of the step at hand, unless they are under way or the server is not there. Nothing is
// looked for before the target is there as well.
void TenantMove::proceed() {
  if (state_ != State::kRunning || unanswered_ > 0 || !side_in_use().connection.ready()) return;
  if (step_ == Step::kScan && target_ && !target_->connection.ready()) return;
  std::string commands;
  unanswered_ = append_commands(commands);
  if (unanswered_ == 0) return finish_step();
  reply_due_us_ = clock_.now_us() + options_.reply_timeout_us;
  side_in_use().connection.send(commands, unanswered_);
}

// Returns how many.
std::size_t TenantMove::append_commands(std::string& out) const {
  switch (step_) {
    case Step::kScan:
      append(out, {"SCAN", cursor_, "MATCH", pattern_, "COUNT", kScanCount});
      return 1;
    case Step::kRead:
      for (const Key& key : batch_) {
        append(out, {"GET", key.name});
        append(out, {"PTTL", key.name});
      }
      return 2 * batch_.size();
    case Step::kWrite:
      for (const Key& key : std::span(batch_).subspan(settled_)) {
        const std::string name = target_->key_prefix + key.name.substr(source_->key_prefix.size());
        if (key.ttl_ms == kNoTtl) {
          append(out, {"SET", name, key.value, "NX"});
        } else {
          append(out, {"SET", name, key.value, "PX", std::to_string(key.ttl_ms), "NX"});
        }
      }
      return batch_.size() - settled_;
    case Step::kRemove:
      break;
  }
  if (to_remove() == 0) return 0;
  redis::append_array(out, 1 + to_remove());
  redis::append_bulk(out, "UNLINK");
  for (const Key& key : batch_)
    if (key.to_remove) redis::append_bulk(out, key.name);
  return 1;
}

std::size_t TenantMove::to_remove() const {
  return static_cast<std::size_t>(std::ranges::count(batch_, true, &Key::to_remove));
}

void TenantMove::on_reply(std::span<const redis::RespValue> reply) {
  if (state_ != State::kRunning) return;
  assert(unanswered_ > 0);
  switch (step_) {
    case Step::kScan:
      read_scan(reply);
      break;
    case Step::kRead:
      read_key(batch_[batch_.size() - (unanswered_ + 1) / 2], reply[0]);
      break;
    case Step::kWrite:
      read_write(batch_[settled_++], reply[0]);
      break;
    case Step::kRemove:
      read_removal(reply[0]);
      break;
  }
  if (--unanswered_ == 0) finish_step();
}

// [cursor, [name, …]]
void TenantMove::read_scan(std::span<const redis::RespValue> reply) {
  if (reply.size() < 3 || reply[1].type != Type::kBytes || reply[2].type != Type::kArray)
    return note_error(reply[0]);
  cursor_ = reply[1].bytes;
  scanned_all_ = cursor_ == "0";
  for (const redis::RespValue& name : reply.subspan(3))
    if (name.bytes.size() == source_->key_prefix.size() + kKeyBytesAfterPrefix)
      found_.emplace_back(name.bytes);
}

// To GET and to PTTL, in turn.
void TenantMove::read_key(Key& key, const redis::RespValue& reply) {
  const bool is_value = unanswered_ % 2 == 0;
  if (is_value && reply.type == Type::kBytes) {
    key.value = reply.bytes;
    key.readable = true;
  } else if (is_value && reply.type == Type::kNothing) {
    ++progress_.gone;
  } else if (is_value && reply.is_error() && reply.bytes.starts_with("WRONGTYPE")) {
    ++progress_.foreign;
  } else if (!is_value && reply.type == Type::kInteger) {
    key.ttl_ms = reply.integer;
    if (!key.readable || key.ttl_ms > 0 || key.ttl_ms == kNoTtl) return;
    key.readable = false;  // it has expired in between
    ++progress_.gone;
  } else {
    note_error(reply);
  }
}

void TenantMove::read_write(Key& key, const redis::RespValue& reply) {
  if (reply.is("OK")) {
    key.to_remove = true;
  } else if (reply.type == Type::kNothing) {
    ++progress_.already_there;
  } else {
    ++progress_.failed;
    note_error(reply);
  }
}

void TenantMove::read_removal(const redis::RespValue& reply) {
  if (reply.type != Type::kInteger) return note_error(reply);
  progress_.moved += to_remove();
}

void TenantMove::finish_step() {
  // What the target has taken is removed from the source although it did not take the rest.
  if (!error_.empty() && step_ != Step::kWrite) return stop(*error_of_, error_);
  switch (step_) {
    case Step::kScan:
    case Step::kRemove:
      begin_batch();
      break;
    case Step::kRead:
      std::erase_if(batch_, [](const Key& key) { return !key.readable; });
      step_ = Step::kWrite;
      break;
    case Step::kWrite:
      step_ = Step::kRemove;
      break;
  }
  proceed();
}

void TenantMove::begin_batch() {
  batch_.clear();
  settled_ = 0;
  if (found_.empty()) {
    if (scanned_all_) state_ = State::kDone;
    step_ = Step::kScan;
    return;
  }
  step_ = target_ ? Step::kRead : Step::kRemove;
  while (!found_.empty() && batch_.size() < kTenantMoveBatchMax) {
    batch_.push_back({.name = std::move(found_.back()), .to_remove = target_ == nullptr});
    found_.pop_back();
  }
  progress_.found += batch_.size();
}

void TenantMove::on_lost(Side& side, std::string_view why) {
  if (state_ != State::kRunning) return;
  if (&side == &side_in_use()) unanswered_ = 0;
  if (++side.losses > options_.losses_max)
    return stop(
        side, side.name + " cannot be reached or kept (" + std::string(why.substr(0, kQuotedBytesMax)) + ")");
  if (&side != source_.get()) return;
  // A server that has been restarted, or another in its place, does not understand the old cursor.
  cursor_ = "0";
  scanned_all_ = false;
  found_.clear();
  if (step_ != Step::kRead) return;
  batch_.clear();
  step_ = Step::kScan;
}

// The first one counts.
void TenantMove::note_error(const redis::RespValue& reply) {
  if (!error_.empty()) return;
  error_of_ = &side_in_use();
  error_ = side_in_use().name + ": ";
  if (!reply.is_error()) {
    error_ += "its reply does not fit the command; is it a Redis or Valkey server?";
  } else {
    error_ += redis::explain_server_error(reply.bytes).meaning;
    error_ += " (" + std::string(reply.bytes.substr(0, kQuotedBytesMax)) + ")";
  }
}

void TenantMove::stop(const Side& culprit, std::string_view why) {
  state_ = State::kStopped;
  target_failed_ = &culprit == target_.get();
  problem_ = "the move stopped, what was moved stays moved: " + std::string(why);
}

}  // namespace sluice
