#include "cli/cell_mover.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/slot_tag.h"

namespace sluice::cli {
namespace {

using Kind = TenantMoveOptions::Kind;

// Every loop follows within some milliseconds; what it has sent to the old cell by then is answered soon
// after.
constexpr std::int64_t kSettleUs = 1'000'000;
constexpr std::int64_t kRetryUs = 5'000'000;
constexpr std::int64_t kLookAgainUs = 1'000'000;  // whether another node is done
// Tenants are not kept waiting for an old cell that is gone.
constexpr std::uint32_t kLossesMax = 5;

std::string whose(const Relocation& relocation) {
  return fmt::format("moved tenant {} from {} to {}", relocation.tenant, relocation.from->name,
                     relocation.to->name);
}

}  // namespace

CellMover::CellMover(Parts parts)
    : parts_(std::move(parts)), homes_({parts_.transport, parts_.clock, parts_.random}, parts_.memory) {
  before_ = wanted_ = parts_.board.wanted();
  homes_.begin(*wanted_);
  homes_seen_ = homes_.generation();
}

void CellMover::tick(std::int64_t now_us) {
  homes_.tick(now_us);
  take_findings(now_us);
  const bool may_change = std::ranges::none_of(to_carry_, &Task::is_in_doubt);
  if (move_) {
    move_->tick(now_us);
    if (move_->state() == TenantMove::State::kRunning) return;
    task_->kind == Kind::kCarry ? finish_carrying(now_us) : finish_after();
  } else if (pick_one(now_us)) {
    start();
  } else if (CellBoard::Pointer wanted = may_change && after_.empty() ? parts_.board.take_news() : nullptr) {
    begin(std::move(wanted), now_us);
  }
}

void CellMover::take_findings(std::int64_t now_us) {
  for (const CellHomes::Finding& found : homes_.take_findings()) {
    if (!found.problem.empty()) {
      parts_.log(true, found.problem);
      ++counters_.stopped;
    }
    if (found.at != found.to)
      take_up({found.tenant, found.at, found.to}, now_us);
    else if (!found.has_record)
      settle(found.tenant, *found.to, now_us);
  }
  if (std::exchange(homes_seen_, homes_.generation()) != homes_.generation()) publish();
}

// From now on the server knows that it lives there.
void CellMover::settle(const std::string& tenant, const Cell& cell, std::int64_t now_us) {
  if (is_single(cell)) after_.push_back({{tenant, &cell, &cell}, now_us, "", Kind::kSettle, "", false});
}

// Takes one that is due in hand: first those whose checks wait.
bool CellMover::pick_one(std::int64_t now_us) {
  const auto due = std::find_if(to_carry_.rbegin(), to_carry_.rend(),
                                [now_us](const Task& task) { return task.not_before_us <= now_us; });
  if (due != to_carry_.rend()) {
    task_ = std::move(*due);
    to_carry_.erase(std::next(due).base());
    return true;
  }
  if (after_.empty() || after_.back().not_before_us > now_us) return false;
  task_ = std::move(after_.back());
  after_.pop_back();
  return true;
}

void CellMover::begin(CellBoard::Pointer wanted, std::int64_t now_us) {
  to_carry_.clear();  // what waits is where it was
  before_ = parts_.board.current();
  wanted_ = std::move(wanted);
  homes_.begin_again(*wanted_);
  if (!before_->places_groups_like(*wanted_))
    say("prefixes or tiers have changed cells: counters of tenants that are not named start anew there");
  for (const Relocation& relocation : before_->relocations_to(*wanted_)) take_up(relocation, now_us);
  publish();
}

void CellMover::take_up(const Relocation& relocation, std::int64_t now_us) {
  const Cell &from = *relocation.from, &to = *relocation.to;
  if (from.store == to.store) {
    ++counters_.done;
    settle(relocation.tenant, to, now_us);
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
  // It may have left that cell before, with its counters.
  settle(relocation.tenant, to, now_us);
}

void CellMover::start() {
  const Task& task = *task_;
  const Relocation& relocation = task.relocation;
  const bool carries = task.kind == Kind::kCarry;
  TenantMoveOptions options{
      .kind = task.kind,
      .source = end_at(task.kind == Kind::kSettle ? *relocation.to : *relocation.from, parts_.transport)};
  if (carries) options.target.emplace(end_at(*relocation.to, parts_.transport));
  if (carries && task.problem.empty())
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
  Task done = *std::exchange(task_, std::nullopt);
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
  settle(done.tenant, *done.to, now_us);
  for (const Task& other : to_carry_)
    if (is_alike(other)) settle(other.relocation.tenant, *other.relocation.to, now_us);
  const std::size_t others = std::erase_if(to_carry_, is_alike);
  publish();
  counters_.stopped += 1 + others;
  parts_.log(true, fmt::format("{}, and {} others, without their counters; {}", whose(done), others,
                               move.problem()));
}

void CellMover::finish_after() {
  const std::unique_ptr<TenantMove> move = std::move(move_);
  const Task task = *std::exchange(task_, std::nullopt);
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
  if (task_ && task_->kind == Kind::kCarry) held.push_back(task_->relocation);
  parts_.board.publish(std::make_shared<const Cells>(homes_.without_sought(wanted_->holding_back(held))));
}

std::string CellMover::in_progress() const {
  const bool carries = task_ && task_->kind == Kind::kCarry;
  if (carries || !to_carry_.empty()) {
    const Task& task = carries ? *task_ : to_carry_.back();
    std::string sentence = fmt::format("moving tenant {} from {} to {}; {} more wait", task.relocation.tenant,
                                       task.relocation.from->name, task.relocation.to->name,
                                       to_carry_.size() - (carries ? 0 : 1));
    if (!task.problem.empty())
      sentence += fmt::format("; it is tried again and again, and the tenant {}: {}",
                              task.is_in_doubt ? "is denied" : "stays where it is", task.problem);
    return sentence;
  }
  if (is_looking()) return homes_.in_progress();
  const std::size_t left = after_.size() + (task_ ? 1 : 0);
  return left == 0 ? "" : fmt::format("forgetting what {} tenants that have moved left behind", left);
}

}  // namespace sluice::cli
