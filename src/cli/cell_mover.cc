#include "cli/cell_mover.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/slot_tag.h"

namespace sluice::cli {
namespace {

using redis::StoreTarget;
using Kind = TenantMoveOptions::Kind;

// Every loop follows within some milliseconds; what it has sent to the old cell by then is answered soon
// after.
constexpr std::int64_t kSettleUs = 1'000'000;
constexpr std::int64_t kRetryUs = 5'000'000;
constexpr std::int64_t kLookAgainUs = 1'000'000;  // whether another node is done
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

CellMover::CellMover(Parts parts) : parts_(std::move(parts)) {
  before_ = wanted_ = parts_.board.current();
  if (before_->list().size() == 1) return;  // nobody moves
  for (const Cell& cell : before_->list())
    if (is_single(cell.store))
      questions_.push_back({&cell, std::make_unique<MoveRecords>(end_at(cell), parts_.clock, parts_.random)});
}

TenantMoveOptions::End CellMover::end_at(const Cell& cell) const {
  return {
      parts_.transport, {.address = cell.store.redis->addresses.front()}, cell.store.key_prefix, cell.name};
}

void CellMover::tick(std::int64_t now_us) {
  if (!questions_.empty() && !move_) look_for_arrivals(now_us);  // a move is of the last task
  const bool may_change = std::ranges::none_of(to_carry_, &Task::is_in_doubt);
  if (move_) {
    move_->tick(now_us);
    if (move_->state() == TenantMove::State::kRunning) return;
    carrying_ ? finish_carrying(now_us) : finish_after();
  } else if (pick_one_to_carry(now_us)) {
    start(to_carry_.back());
  } else if (!after_.empty()) {
    if (after_.back().not_before_us <= now_us) start(after_.back());
  } else if (CellBoard::Pointer wanted = may_change ? parts_.board.take_news() : nullptr) {
    begin(std::move(wanted), now_us);
  }
}

// Tenants that live at a cell by our settings, but are still arriving there by its records: somebody must
// carry the rest. New settings make the questions obsolete.
void CellMover::look_for_arrivals(std::int64_t now_us) {
  bool found = false;
  for (const auto& [cell, records] : questions_) {
    records->tick(now_us);
    if (!records->arrivals()) continue;
    for (const auto& [tenant, from] : *records->arrivals()) {
      const Cell* const source = before_->named(from);
      if (&before_->list()[before_->find(tenant, "")] != cell) continue;
      if (source == nullptr || !is_single(source->store)) {
        parts_.log(
            true, fmt::format("tenant {} was moving from {} to {} when its mover died, and {} is no cell any "
                              "more: it goes without its counters",
                              tenant, from, cell->name, from));
        ++counters_.stopped;
        after_.push_back({{tenant, cell, cell}, now_us, "", Kind::kSettle, "", false});
        continue;
      }
      to_carry_.push_back({{tenant, source, cell}, now_us, "", Kind::kCarry, "", false});
      found = true;
    }
  }
  std::erase_if(questions_,
                [](const Question& question) { return question.records->arrivals().has_value(); });
  if (found) publish();
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
  questions_.clear();
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
    to_carry_.push_back({relocation, now_us, "", Kind::kCarry, "", false});
    return;
  }
  if (keep || !is_single(from)) {
    ++counters_.anew;
    say(whose(relocation) +
        ": its counters start anew; only those of a single Redis server can be carried over or forgotten");
  } else {
    say(whose(relocation) + ": its counters start anew, as asked");
  }
  if (is_single(from)) after_.push_back({relocation, now_us + kSettleUs, "", Kind::kForget, "", false});
  // It may have left that cell before, with its counters; from now on it counts there.
  if (is_single(to)) after_.push_back({relocation, now_us, "", Kind::kSettle, "", false});
}

void CellMover::start(const Task& task) {
  const Relocation& relocation = task.relocation;
  carrying_ = task.kind == Kind::kCarry;
  TenantMoveOptions options{.kind = task.kind,
                            .source = end_at(task.kind == Kind::kSettle ? *relocation.to : *relocation.from)};
  if (carrying_) options.target.emplace(end_at(*relocation.to));
  if (carrying_ && task.problem.empty())
    say(fmt::format("moving tenant {} from {} to {} with its counters", relocation.tenant,
                    relocation.from->name, relocation.to->name));
  options.slot_tag = slot_tag_of_tenant(relocation.tenant, parts_.hasher);
  options.tenant = relocation.tenant;
  options.move_id = task.move_id;
  options.losses_max = kLossesMax;
  move_ = std::make_unique<TenantMove>(std::move(options), parts_.clock, parts_.random);
}

void CellMover::finish_carrying(std::int64_t now_us) {
  using enum TenantMove::Culprit;
  const std::unique_ptr<TenantMove> move = std::move(move_);
  Task done = std::move(to_carry_.back());
  to_carry_.pop_back();
  done.is_in_doubt = move->is_in_doubt();
  const TenantMove::Progress& progress = move->progress();
  counters_.keys += progress.moved;
  if (move->state() == TenantMove::State::kStopped) {
    if (move->culprit() == kAnother) return wait_for_another(std::move(done), now_us);
    if (move->culprit() == kSource && !done.is_in_doubt) return go_without_counters(done, *move, now_us);
    return wait_for_target(done, move->problem(), now_us);
  }
  publish();
  ++counters_.done;
  if (move->culprit() == kAnother)
    return say(whose(done.relocation) + ": another server has carried its counters");
  say(fmt::format("{}: {} counters carried over, {} of them once more at the end", whose(done.relocation),
                  progress.moved, progress.again));
  after_.push_back({done.relocation, now_us, "", Kind::kForget, move->move_id(), false});
}

void CellMover::wait_for_another(Task task, std::int64_t now_us) {
  if (task.problem.empty()) task.problem = "another server is moving it";
  task.not_before_us = now_us + kLookAgainUs;
  to_carry_.push_back(std::move(task));
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
  parts_.log(true,
             fmt::format("tenant {}, and {} others, cannot move to {} yet; {} and it is tried again: {}",
                         task.relocation.tenant, alike - 1, task.relocation.to->name,
                         task.is_in_doubt ? "its checks are denied" : "they stay where they are", problem));
}

// The others between these two would fare no better.
void CellMover::go_without_counters(const Task& task, const TenantMove& move, std::int64_t now_us) {
  const Relocation& done = task.relocation;
  const auto is_alike = [&done](const Task& other) {
    return other.relocation.from == done.from && other.relocation.to == done.to;
  };
  after_.push_back({done, now_us, "", Kind::kSettle, "", false});
  for (const Task& other : to_carry_)
    if (is_alike(other)) after_.push_back({other.relocation, now_us, "", Kind::kSettle, "", false});
  const std::size_t others = std::erase_if(to_carry_, is_alike);
  publish();
  counters_.stopped += 1 + others;
  parts_.log(true, fmt::format("{}, and {} others, without their counters; {}", whose(done), others,
                               move.problem()));
}

void CellMover::finish_after() {
  const std::unique_ptr<TenantMove> move = std::move(move_);
  const Task task = std::move(after_.back());
  after_.pop_back();
  const Relocation& done = task.relocation;
  if (task.kind == Kind::kSettle) {
    if (move->state() == TenantMove::State::kStopped)
      parts_.log(true, fmt::format("tenant {} may still be refused at {}: {}", done.tenant, done.to->name,
                                   move->problem()));
    return;
  }
  const bool as_asked = done.to->when_moved == WhenMoved::kReset;
  // It may have come back meanwhile: then nothing is left behind.
  if (move->state() == TenantMove::State::kDone || move->culprit() == TenantMove::Culprit::kAnother) {
    if (as_asked) ++counters_.done;
    return say(fmt::format("{}: {} counters that were left there are forgotten", whose(done),
                           move->progress().moved));
  }
  const std::size_t others = std::erase_if(after_, [&done](const Task& other) {
    return other.kind == Kind::kForget && other.relocation.from == done.from;
  });
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
      sentence += fmt::format("; it is tried again and again, and the tenant {}: {}",
                              task.is_in_doubt ? "is denied" : "stays where it is", task.problem);
    return sentence;
  }
  if (!after_.empty())
    return fmt::format("forgetting what {} tenants that have moved left behind", after_.size());
  return {};
}

}  // namespace sluice::cli
