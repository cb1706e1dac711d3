#include "cli/cell_mover.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/slot_tag.h"

namespace sluice::cli {
namespace {

using redis::StoreTarget;

// Every loop follows within some milliseconds; what it has sent to the old cell by then is answered soon
// after.
constexpr std::int64_t kSettleUs = 1'000'000;
constexpr std::int64_t kRetryUs = 5'000'000;
// Tenants are not kept waiting for an old cell that is gone.
constexpr std::uint32_t kLossesMax = 5;

bool is_single(const StoreSettings& store) {
  return store.redis && store.redis->kind == StoreTarget::Kind::kSingle;
}

std::string whose(const Relocation& relocation) {
  return fmt::format("moved tenant {} from {} to {}", relocation.tenant, relocation.from->name,
                     relocation.to->name);
}

}  // namespace

void CellMover::tick(std::int64_t now_us) {
  if (move_) {
    move_->tick(now_us);
    if (move_->state() == TenantMove::State::kRunning) return;
    carrying_ ? finish_carrying(now_us) : finish_forgetting();
  } else if (pick_one_to_carry(now_us)) {
    start(to_carry_.back().relocation, true);
  } else if (!to_forget_.empty()) {
    if (to_forget_.back().not_before_us <= now_us) start(to_forget_.back().relocation, false);
  } else if (CellBoard::Pointer wanted = parts_.board.take_news()) {
    begin(std::move(wanted), now_us);
  }
}

// Puts one that is due at the end.
bool CellMover::pick_one_to_carry(std::int64_t now_us) {
  const auto due = std::find_if(to_carry_.rbegin(), to_carry_.rend(),
                                [now_us](const Task& task) { return task.not_before_us <= now_us; });
  if (due == to_carry_.rend()) return false;
  std::swap(*due, to_carry_.back());
  return true;
}

void CellMover::begin(CellBoard::Pointer wanted, std::int64_t now_us) {
  to_carry_.clear();  // what waits is where it was
  before_ = parts_.board.current();
  wanted_ = std::move(wanted);
  if (!before_->places_groups_like(*wanted_))
    say("prefixes or tiers have changed cells: counters of tenants that are not named start anew there");
  for (const Relocation& relocation : before_->relocations_to(*wanted_)) take_up(relocation, now_us);
  publish();
}

void CellMover::take_up(const Relocation& relocation, std::int64_t now_us) {
  const StoreSettings& from = relocation.from->store;
  const StoreSettings& to = relocation.to->store;
  if (from == to) {
    ++counters_.done;
    return say(whose(relocation) + ": that is the same store, its counters stay");
  }
  const bool keep = relocation.to->when_moved == WhenMoved::kKeep;
  if (keep && is_single(from) && is_single(to)) {
    to_carry_.push_back({relocation, now_us, ""});
    return;
  }
  if (keep || !is_single(from)) {
    ++counters_.anew;
    say(whose(relocation) +
        ": its counters start anew; only those of a single Redis server can be carried over or forgotten");
  } else {
    say(whose(relocation) + ": its counters start anew, as asked");
  }
  if (is_single(from)) to_forget_.push_back({relocation, now_us + kSettleUs, ""});
}

void CellMover::start(const Relocation& relocation, bool with_target) {
  const auto end = [this](const Cell& cell) {
    return TenantMoveOptions::End{
        parts_.transport, {.address = cell.store.redis->addresses.front()}, cell.store.key_prefix};
  };
  TenantMoveOptions options{.source = end(*relocation.from)};
  carrying_ = with_target;
  if (with_target) {
    options.target.emplace(end(*relocation.to));
    const bool is_said = !to_carry_.back().problem.empty();
    if (!is_said)
      say(fmt::format("moving tenant {} from {} to {} with its counters", relocation.tenant,
                      relocation.from->name, relocation.to->name));
  }
  options.slot_tag = slot_tag_of_tenant(relocation.tenant, parts_.hasher);
  options.losses_max = kLossesMax;
  move_ = std::make_unique<TenantMove>(std::move(options), parts_.clock, parts_.random);
}

void CellMover::finish_carrying(std::int64_t now_us) {
  const std::unique_ptr<TenantMove> move = std::move(move_);
  Task done = std::move(to_carry_.back());
  to_carry_.pop_back();
  const TenantMove::Progress& progress = move->progress();
  counters_.keys += progress.moved;
  if (move->target_failed()) return wait_for_target(done, move->problem(), now_us);
  if (move->state() == TenantMove::State::kStopped) return go_without_counters(done, *move);
  publish();
  ++counters_.done;
  say(fmt::format("{}: {} counters carried over, {} were there already", whose(done.relocation),
                  progress.moved, progress.already_there));
  to_forget_.push_back({done.relocation, now_us + kSettleUs, ""});
}

// The others that go there would fare no better. Said once, however often it is tried.
void CellMover::wait_for_target(const Task& task, std::string_view problem, std::int64_t now_us) {
  const bool is_new = task.problem.empty();
  to_carry_.push_back(task);
  std::size_t alike = 0;
  for (Task& other : to_carry_) {
    if (other.relocation.to != task.relocation.to) continue;
    other.problem = problem;
    other.not_before_us = now_us + kRetryUs;
    ++alike;
  }
  if (!is_new) return;
  parts_.log(
      true, fmt::format("tenant {}, and {} others, cannot move to {} yet; they stay where they are and it is "
                        "tried again: {}",
                        task.relocation.tenant, alike - 1, task.relocation.to->name, problem));
}

// The others between these two would fare no better.
void CellMover::go_without_counters(const Task& task, const TenantMove& move) {
  const Relocation& done = task.relocation;
  const std::size_t others = std::erase_if(to_carry_, [&done](const Task& other) {
    return other.relocation.from == done.from && other.relocation.to == done.to;
  });
  publish();
  counters_.stopped += 1 + others;
  parts_.log(true, fmt::format("{}, and {} others, without all counters: {} were carried over; {}",
                               whose(done), others, move.progress().moved, move.problem()));
}

void CellMover::finish_forgetting() {
  const std::unique_ptr<TenantMove> move = std::move(move_);
  const Relocation done = std::move(to_forget_.back().relocation);
  to_forget_.pop_back();
  const bool as_asked = done.to->when_moved == WhenMoved::kReset;
  if (move->state() == TenantMove::State::kDone) {
    if (as_asked) ++counters_.done;
    return say(fmt::format("{}: {} counters that were left there are forgotten", whose(done),
                           move->progress().moved));
  }
  const std::size_t others =
      std::erase_if(to_forget_, [&done](const Task& other) { return other.relocation.from == done.from; });
  if (as_asked) ++counters_.stopped;
  parts_.log(true, fmt::format("{}: what was left of it, and of {} others, could not be forgotten; {}",
                               whose(done), others, move->problem()));
}

void CellMover::publish() {
  std::vector<Relocation> held;
  for (const Task& task : to_carry_) held.push_back(task.relocation);
  parts_.board.publish(std::make_shared<const Cells>(wanted_->holding_back(held)));
}

std::string CellMover::in_progress() const {
  if (!to_carry_.empty()) {
    const Task& task = to_carry_.back();
    std::string sentence =
        fmt::format("moving tenant {} from {} to {}; {} more wait", task.relocation.tenant,
                    task.relocation.from->name, task.relocation.to->name, to_carry_.size() - 1);
    if (!task.problem.empty())
      sentence +=
          fmt::format("; it is tried again and again, and the tenant stays where it is: {}", task.problem);
    return sentence;
  }
  if (!to_forget_.empty())
    return fmt::format("forgetting what {} tenants that have moved left behind", to_forget_.size());
  return {};
}

}  // namespace sluice::cli
