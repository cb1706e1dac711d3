#include "store/redis/tenant_move/tenant_move.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <utility>

#include "base/limits.h"
#include "redis/protocol/server_error.h"
#include "store/redis/script/script.h"
#include "store/redis/script/wire.h"

namespace sluice {
namespace {

using Type = redis::RespValue::Type;
using Kind = TenantMoveOptions::Kind;

constexpr std::string_view kScanCount = "1000", kLeaseMs = "10000";
constexpr std::int64_t kNoTtl = -1;  // what PTTL says
constexpr std::size_t kQuotedBytesMax = 200;
constexpr std::size_t kNumberDigits = 9;                         // of a move's id; the rest are letters
constexpr std::string_view kForgottenMark = "forgotten-------";  // see tenant_move.lua

std::uint32_t number_of(std::string_view move_id) {
  std::uint32_t number = 0;
  const std::string_view digits = move_id.substr(0, kNumberDigits);
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::string tag_of(std::string_view owner) {
  return "{" + std::string(owner.substr(0, 3)) + "}" + std::string(owner.substr(3));
}

// The pattern that all key names of this owner match. An owner's letters are never special characters; those
// of a prefix may be.
std::string pattern_of(std::string_view prefix, std::string_view owner) {
  std::string pattern;
  for (const char letter : prefix) {
    if (std::string_view("*?[]\\").contains(letter)) pattern += '\\';
    pattern += letter;
  }
  return pattern + tag_of(owner) + "*";
}

std::string new_id(const TenantMove::Random& random) {
  constexpr std::size_t kLetters = 16;
  std::string id;
  while (id.size() < kLetters) id += "0123456789abcdef"[random(16)];
  return id;
}

void append(std::string& out, std::initializer_list<std::string_view> words) {
  redis::append_command(out, {words.begin(), words.size()});
}

// 0: the server chooses the number.
std::string with_number(std::uint32_t number, std::string_view id) {
  const std::string digits = std::to_string(number);
  return std::string(kNumberDigits - digits.size(), '0') + digits + std::string(id.substr(kNumberDigits));
}

std::string move_id_of(const TenantMoveOptions& options, const TenantMove::Random& random) {
  if (options.kind != Kind::kForget) return with_number(options.number, new_id(random));
  return options.move_id.empty() ? with_number(0, new_id(random)) : options.move_id;
}

TenantMoveOptions with_script(TenantMoveOptions options) {
  options.source.connection.script = tenant_move_script();
  if (options.target) options.target->connection.script = tenant_move_script();
  return options;
}

}  // namespace

// One of the two servers.
class TenantMove::Side final : private redis::ConnectionEvents {
 public:
  // REQUIRES: `place` outlives it.
  Side(TenantMove& move, std::string_view role, const TenantMoveOptions::End& place, const Clock& clock,
       const Random& random)
      : name(std::string(role) + " " + place.connection.address.to_string()),
        end(place),
        connection(place.transport, clock, place.connection, random, *this),
        move_(move) {}

  const std::string name;
  const TenantMoveOptions::End& end;
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
    : options_(with_script(std::move(options))),
      clock_(clock),
      owner_letters_(sluice::owner_letters(options_.slot_tag)),
      owner_id_(new_id(random)),
      pattern_(pattern_of(options_.source.key_prefix, owner_letters_)),
      move_id_(move_id_of(options_, random)),
      source_(std::make_unique<Side>(*this, "the source", options_.source, clock, random)) {
  assert(options_.target.has_value() == (options_.kind == Kind::kCarry));
  if (options_.target) target_ = std::make_unique<Side>(*this, "the target", *options_.target, clock, random);
  if (options_.kind == Kind::kForget) step_ = Step::kLeave;
  if (options_.kind == Kind::kSettle) step_ = Step::kSettle;
}

TenantMove::~TenantMove() = default;

std::uint32_t TenantMove::number() const { return number_of(move_id_); }

void TenantMove::tick(std::int64_t now_us) {
  for (Side* side : {source_.get(), target_.get()})
    if (side != nullptr && state_ == State::kRunning) side->connection.tick(now_us);
  if (state_ == State::kRunning && unanswered_ > 0 && now_us >= reply_due_us_)
    side_in_use().connection.drop("timed out waiting for a reply");
}

TenantMove::Side& TenantMove::side_in_use() {
  const bool at_target =
      step_ == Step::kArrive || step_ == Step::kWrite || step_ == Step::kOpen || step_ == Step::kLook;
  return at_target ? *target_ : *source_;
}

// Sends the commands of the current step, unless they are in flight or the server is not connected. Nothing
// begins before the target is connected as well.
void TenantMove::proceed() {
  if (state_ != State::kRunning || unanswered_ > 0 || !side_in_use().connection.ready()) return;
  if (step_ == Step::kClaim && !target_->connection.ready()) return;
  std::string commands;
  unanswered_ = append_commands(commands);
  if (unanswered_ == 0) return finish_step();
  if (step_ == Step::kOpen) may_be_open_ = true;
  reply_due_us_ = clock_.now_us() + options_.reply_timeout_us;
  side_in_use().connection.send(commands, unanswered_);
}

// Returns the number of commands.
std::size_t TenantMove::append_commands(std::string& out) {
  constexpr std::string_view kOperations[] = {"claim",  "arrive", "",        "",        "write",  "freeze",
                                              "",       "open",   "close",   "release", "remove", "leave",
                                              "settle", "look",   "reclaim", "raise"};
  const std::string_view operation = kOperations[static_cast<std::size_t>(step_)];
  std::vector<std::string> more;
  if (step_ == Step::kScan || step_ == Step::kRead || step_ == Step::kJournal) return append_reads(out);
  if (step_ == Step::kWrite) {
    for (const Key& key : batch_) {
      more.push_back(target_->end.key_prefix + key.name.substr(source_->end.key_prefix.size()));
      more.push_back(key.value);
      more.push_back(key.is_gone ? "" : std::to_string(key.ttl_ms));
    }
  } else if (step_ == Step::kArrive && is_raised_) {
    more.emplace_back("raised");
  } else if (step_ == Step::kRemove) {
    for (const Key& key : batch_) more.push_back(key.name);
  }
  if (more.empty() && (step_ == Step::kWrite || step_ == Step::kRemove)) return 0;
  append_step(out, operation, more);
  return 1;
}

void TenantMove::append_step(std::string& out, std::string_view operation,
                             const std::vector<std::string>& more) {
  const Side& side = side_in_use();
  const std::string& prefix = side.end.key_prefix;
  const Side* const other = &side == source_.get() ? target_.get() : source_.get();
  redis::append_array(out, 5 + 6 + more.size());
  for (const std::string_view word :
       {std::string_view("EVALSHA"), std::string_view(side.connection.script_sha()), std::string_view("2")})
    redis::append_bulk(out, word);
  redis::append_bulk(out, moves_key(prefix));
  redis::append_bulk(out, prefix + tag_of(owner_letters_) + "journal");
  redis::append_bulk(out, operation);
  redis::append_bulk(out, owner_letters_);
  redis::append_bulk(out, move_id_);
  redis::append_bulk(out, owner_id_);
  redis::append_bulk(out, kLeaseMs);
  redis::append_bulk(out, (other != nullptr ? other->end.cell : options_.gone_to) + "\n" + options_.tenant);
  for (const std::string& word : more) redis::append_bulk(out, word);
}

// Renews the lease before each batch of reads; otherwise the journal would not be kept.
std::size_t TenantMove::append_reads(std::string& out) {
  std::size_t commands = 0;
  if (options_.kind == Kind::kCarry) {
    append_step(out, "renew");
    ++commands;
  }
  if (step_ == Step::kScan) {
    append(out, {"SCAN", cursor_, "MATCH", pattern_, "COUNT", kScanCount});
    return commands + 1;
  }
  if (step_ == Step::kJournal) {
    append(out, {"SSCAN", source_->end.key_prefix + tag_of(owner_letters_) + "journal", cursor_, "COUNT",
                 kScanCount});
    return commands + 1;
  }
  for (const Key& key : batch_) {
    append(out, {"GET", key.name});
    append(out, {"PTTL", key.name});
  }
  return commands + 2 * batch_.size();
}

void TenantMove::on_reply(std::span<const redis::RespValue> reply) {
  if (state_ != State::kRunning) return;
  assert(unanswered_ > 0);
  const bool is_record = reply.size() >= 2 && reply[0].type == Type::kArray && reply[1].type == Type::kBytes;
  const bool is_names = step_ == Step::kScan || step_ == Step::kJournal;
  if (step_ == Step::kRead && unanswered_ <= 2 * batch_.size())
    read_key(batch_[batch_.size() - (unanswered_ + 1) / 2], reply[0]);
  else if (is_names && unanswered_ == 1)
    read_names(reply);
  else if (is_record)
    read_record(told_by(reply));
  else
    note_error(reply[0]);
  if (--unanswered_ == 0) finish_step();
}

// [word, move, cell and tenant, owner, state]
TenantMove::Told TenantMove::told_by(std::span<const redis::RespValue> reply) {
  const auto word = [reply](std::size_t i) { return i < reply.size() ? reply[i].bytes : std::string_view(); };
  return {word(1), word(2), word(3).substr(0, word(3).find('\n')), word(4), word(5)};
}

// Reads what our step made of the record.
void TenantMove::read_record(const Told& told) {
  const bool is_refused = told.word == "lost" || told.word == "busy";
  switch (step_) {
    case Step::kClaim:
      return read_claim(told);
    case Step::kLook:
      return read_look(told);
    case Step::kArrive:
      if (told.word == "later") return read_later(told);
      if (told.word == "o") next_step_ = Step::kClose;  // an earlier mover got this far
      if (told.word == "a" || told.word == "o") may_be_open_ = false;
      break;
    case Step::kOpen:
      may_be_open_ = false;
      break;
    case Step::kReclaim:
      if (is_refused) break;
      claimed_ = frozen_ = true;
      move_id_ = told.move;
      break;
    case Step::kRaise:
    case Step::kLeave:
    case Step::kSettle:
      if (!is_refused) move_id_ = told.move;
      break;
    case Step::kClose:    // it is open elsewhere, whatever the source has recorded
    case Step::kRelease:  // then there is nothing to release
      return;
    default:
      break;
  }
  // A source that was frozen and no longer is has lost its last writes: checks are charged there again.
  const bool has_thawed = frozen_ && told.word == "c" && step_ != Step::kFreeze;
  if (!(is_refused || has_thawed) || !error_.empty()) return;
  error_of_ = Culprit::kAnother;
  error_ = side_in_use().name + ": another server is moving this tenant, or has moved it";
}

void TenantMove::read_claim(const Told& told) {
  has_heard_ = true;
  const bool is_source = told.word == "c" || told.word == "f";
  if (is_source && told.cell == target_->end.cell) {
    claimed_ = true;
    frozen_ = may_be_open_ = told.word == "f";
    move_id_ = told.move;
  } else if (told.word == "x" && told.cell == target_->end.cell) {
    is_forgotten_ = told.owner == kForgottenMark;
    move_id_ = told.move;
    next_step_ = Step::kLook;
  } else if (told.word == "busy") {
    frozen_ = told.state == "f";
    error_of_ = Culprit::kAnother;
    error_ = source_->name + ": another server is moving this tenant";
  } else if (is_source) {
    unfinished_ = told.cell;
    error_of_ = Culprit::kRecords;
    error_ = "its counters are moving to the cell \"" + unfinished_ + "\"; that move must finish first";
  } else {
    found_elsewhere(told.cell);
  }
}

// The source says that everything has gone to the target. Does the target know?
void TenantMove::read_look(const Told& told) {
  if (told.word != "a" || told.move != move_id_) return done_by_another();
  if (!is_forgotten_) {
    next_step_ = Step::kReclaim;
    return;
  }
  error_of_ = Culprit::kForgotten;
  error_ = target_->name + " has lost writes made during the move of this tenant, and " + source_->name +
           " no longer has a copy of the counters; list the tenant in start_anew";
}

// The target knows a later move than the source, which must have gone back in time. So where is the tenant?
void TenantMove::read_later(const Told& told) {
  if (told.state == "o" || told.state == "c" || told.state == "f") {
    move_id_ = is_raised_ ? with_number(0, move_id_) : told.move;
    next_step_ = Step::kLeave;
  } else if (told.cell != source_->end.cell) {
    found_elsewhere(told.cell);
  } else {
    is_raised_ = true;
    move_id_ = with_number(number_of(told.move) + 1, move_id_);
    next_step_ = Step::kRaise;
  }
}

void TenantMove::found_elsewhere(std::string_view cell) {
  elsewhere_ = cell;
  error_of_ = Culprit::kRecords;
  error_ = "its counters are in the cell \"" + elsewhere_ + "\", or moving away from it";
}

void TenantMove::done_by_another() {
  state_ = State::kDone;
  culprit_ = Culprit::kAnother;
}

// [cursor, [name, …]]
void TenantMove::read_names(std::span<const redis::RespValue> reply) {
  if (reply.size() < 3 || reply[1].type != Type::kBytes || reply[2].type != Type::kArray)
    return note_error(reply[0]);
  cursor_ = reply[1].bytes;
  scanned_all_ = cursor_ == "0";
  for (const redis::RespValue& name : reply.subspan(3))
    if (name.bytes.size() == source_->end.key_prefix.size() + kKeyBytesAfterPrefix)
      found_.emplace_back(name.bytes);
}

// The replies to GET and PTTL, in turn.
void TenantMove::read_key(Key& key, const redis::RespValue& reply) {
  const bool is_value = unanswered_ % 2 == 0;
  if (is_value && reply.type == Type::kBytes) {
    key.value = reply.bytes;
    key.readable = true;
  } else if (is_value && reply.type == Type::kNothing) {
    key.is_gone = true;
    ++progress_.gone;
  } else if (is_value && reply.is_error() && reply.bytes.starts_with("WRONGTYPE")) {
    ++progress_.foreign;
  } else if (!is_value && reply.type == Type::kInteger) {
    key.ttl_ms = reply.integer;
    if (!key.readable || key.ttl_ms > 0 || key.ttl_ms == kNoTtl) return;
    key.readable = false;  // it expired between the two
    key.is_gone = true;
    ++progress_.gone;
  } else {
    note_error(reply);
  }
}

void TenantMove::finish_step() {
  if (state_ != State::kRunning) return;
  if (!error_.empty()) return stop(error_of_, error_);
  if (next_step_) {
    step_ = *std::exchange(next_step_, std::nullopt);
    return proceed();
  }
  switch (step_) {
    case Step::kClaim:
    case Step::kReclaim:
    case Step::kRaise:
      step_ = Step::kArrive;
      break;
    case Step::kArrive:
      step_ = Step::kScan;
      break;
    case Step::kFreeze:
      frozen_ = true;
      reads_journal_ = true;
      scanned_all_ = false;
      begin_batch();
      break;
    case Step::kScan:
    case Step::kJournal:
      begin_batch();
      break;
    case Step::kRead:
      // A key that is gone at the source must be removed at the target as well, if it was copied before.
      std::erase_if(batch_, [](const Key& key) { return !key.readable && !key.is_gone; });
      step_ = Step::kWrite;
      break;
    case Step::kWrite:
      (reads_journal_ ? progress_.again : progress_.moved) +=
          static_cast<std::uint64_t>(std::ranges::count(batch_, false, &Key::is_gone));
      begin_batch();
      break;
    case Step::kRemove:
      progress_.moved += batch_.size();
      begin_batch();
      break;
    case Step::kOpen:
      step_ = Step::kClose;
      break;
    case Step::kLeave:
      if (options_.kind == Kind::kCarry) return done_by_another();
      step_ = Step::kScan;
      break;
    case Step::kRelease:
      claimed_ = frozen_ = false;
      return stop(culprit_, problem_);
    case Step::kClose:
    case Step::kSettle:
    case Step::kLook:
      state_ = State::kDone;
      return;
  }
  proceed();
}

// Takes the next names, or moves on after the last.
void TenantMove::begin_batch() {
  batch_.clear();
  if (found_.empty()) {
    step_ = reads_journal_ ? Step::kJournal : Step::kScan;
    if (!scanned_all_) return;
    if (!target_)
      state_ = State::kDone;
    else
      // Frozen by an earlier mover: nothing is charged any more, and everything has been read.
      step_ = frozen_ ? Step::kOpen : Step::kFreeze;
    return;
  }
  step_ = target_ ? Step::kRead : Step::kRemove;
  while (!found_.empty() && batch_.size() < kTenantMoveBatchMax) {
    batch_.push_back({.name = std::move(found_.back())});
    found_.pop_back();
  }
  progress_.found += reads_journal_ ? 0 : batch_.size();
}

void TenantMove::on_lost(Side& side, std::string_view why) {
  if (state_ != State::kRunning) return;
  if (&side == &side_in_use()) unanswered_ = 0;
  if (step_ == Step::kClose && &side == source_.get()) {  // kForget will tell the source
    state_ = State::kDone;
    return;
  }
  if (++side.losses > options_.losses_max)
    return stop(&side == target_.get() ? Culprit::kTarget : Culprit::kSource,
                side.name + " cannot be reached, or keeps disconnecting (" +
                    std::string(why.substr(0, kQuotedBytesMax)) + ")");
  if (&side != source_.get()) return;
  // A server that was restarted, or another one in its place, does not understand the old cursor.
  cursor_ = "0";
  scanned_all_ = false;
  found_.clear();
  if (step_ == Step::kRead || step_ == Step::kRemove || step_ == Step::kScan || step_ == Step::kJournal)
    begin_batch();
}

// Only the first error is kept.
void TenantMove::note_error(const redis::RespValue& reply) {
  if (!error_.empty()) return;
  error_of_ = &side_in_use() == target_.get() ? Culprit::kTarget : Culprit::kRefusal;
  error_ = side_in_use().name + ": ";
  if (!reply.is_error()) {
    error_ += "unexpected reply; is it a Redis or Valkey server?";
  } else {
    error_ += redis::explain_server_error(reply.bytes).meaning;
    error_ += " (" + std::string(reply.bytes.substr(0, kQuotedBytesMax)) + ")";
  }
}

// The tenant stays where it was: a copy or freeze is released, unless the target may be open.
void TenantMove::stop(Culprit culprit, std::string_view why) {
  const bool by_target = culprit == Culprit::kTarget || &side_in_use() == target_.get();
  const bool releases = claimed_ && !may_be_open_ && by_target && unanswered_ == 0 &&
                        step_ != Step::kRelease && source_->connection.ready();
  culprit_ = culprit;
  problem_ = why.starts_with("the move stopped") ? std::string(why) : "the move stopped: " + std::string(why);
  error_.clear();
  if (!releases) {
    state_ = State::kStopped;
    return;
  }
  step_ = Step::kRelease;
  proceed();
}

}  // namespace sluice
