#include "server/cells/cell_mover.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/planner/slot_tag.h"

namespace sluice::server {
namespace {

using Kind = TenantMoveOptions::Kind;

// Every loop follows within milliseconds, and what it has sent to the old cell by then is answered soon
// after.
constexpr std::int64_t kSettleUs = 1'000'000;
constexpr std::int64_t kRetryUs = 5'000'000;
constexpr std::int64_t kLookAgainUs = 1'000'000;  // whether another node is done
// Other waiting tenants need not wait for an unreachable cell.
constexpr std::uint32_t kLossesMax = 5;

std::string whose(const Relocation& relocation) {
  return fmt::format("moved tenant {} from {} to {}", relocation.tenant, relocation.from->name,
                     relocation.to->name);
}

}  // namespace

CellMover::CellMover(Parts parts)
    : parts_(std::move(parts)),
      records_({parts_.transport, parts_.clock, parts_.random}),
      homes_(records_, parts_.memory) {
  before_ = wanted_ = parts_.registry.wanted();
  keep_versions();
  homes_.begin(*wanted_);
  // Without other cells no tenant can have moved.
  if (wanted_->list().size() > 1 || is_looking()) records_.follow(*wanted_);
}

void CellMover::tick(std::int64_t now_us) {
  records_.tick(now_us);
  read_records(now_us);
  if (move_) {
    const bool was_frozen = move_->is_frozen();
    move_->tick(now_us);
    if (move_->state() == TenantMove::State::kRunning) {
      if (move_->is_frozen() != was_frozen) publish();
      return;
    }
    if (go_on()) return;
    task_->kind == Kind::kCarry ? finish_carrying(now_us) : finish_after(now_us);
  } else if (pick_one(now_us)) {
    start();
  } else if (std::ranges::all_of(after_, [](const Task& task) { return !task.problem.empty(); })) {
    if (CellRegistry::Pointer wanted = parts_.registry.take_news()) begin(std::move(wanted), now_us);
  }
}

void CellMover::read_records(std::int64_t now_us) {
  if (std::exchange(records_seen_, records_.generation()) == records_.generation()) return;
  const bool has_found = homes_.look();
  take_findings(now_us);
  const auto before = strays_;
  const std::size_t tasks = to_carry_.size();
  find_strays(now_us);
  if (has_found || strays_ != before || to_carry_.size() != tasks) publish();
}

bool CellMover::is_sought(const std::string& tenant) const {
  return std::ranges::find(homes_.sought(), tenant) != homes_.sought().end();
}

void CellMover::find_strays(std::int64_t now_us) {
  strays_.clear();
  for (const auto& [tenant, home] : records_.homes()) look_at(tenant, now_us);
}

// Whether the tenant lives elsewhere than it is placed although this node does not move it: then this node's
// file differs from the other servers'. Or whether it is where it is placed, but its server was restored to a
// state before it arrived.
void CellMover::look_at(const std::string& tenant, std::int64_t now_us) {
  const Cell& place = wanted_->place_of(tenant);
  if (!is_single(place) || has_task(tenant) || is_sought(tenant)) return;
  const MoveRecords::Record* const arrival = records_.arrival(place, tenant);
  const Cell* const from = arrival ? named(arrival->other) : nullptr;
  if (from && from->name != place.name && is_single(*from)) {
    Task task = new_task({tenant, from, &place}, now_us, Kind::kCarry);
    task.is_refused = task.is_repair = true;
    to_carry_.push_back(std::move(task));
  } else if (!records_.lives_at(place, tenant)) {
    strays_[tenant] = records_.home(tenant)->cell;
  }
}

void CellMover::take_findings(std::int64_t now_us) {
  for (const CellHomes::Finding& found : homes_.take_findings()) {
    const Relocation relocation{found.tenant, found.at, found.to, wanted_->starts_anew(found.tenant)};
    if (found.at != found.to) {
      take_up(relocation, now_us);
    } else if (!found.has_record) {
      settle(found.tenant, *found.to, now_us);
      parts_.registry.report_if_served(relocation);
    }
  }
}

CellMover::Task CellMover::new_task(const Relocation& relocation, std::int64_t at_us, Kind kind) {
  return {.relocation = relocation, .not_before_us = at_us, .kind = kind};
}

void CellMover::keep_versions() {
  if (to_carry_.empty() && after_.empty() && !task_ && !is_looking()) versions_.clear();
  versions_.push_back(before_);
  versions_.push_back(wanted_);
}

bool CellMover::has_task(const std::string& tenant) const {
  const auto is_its = [&tenant](const Task& task) { return task.relocation.tenant == tenant; };
  return std::ranges::any_of(to_carry_, is_its) || std::ranges::any_of(after_, is_its) ||
         (task_ && is_its(*task_));
}

const Cell* CellMover::named(const std::string& cell) const {
  const Cell* const found = wanted_->named(cell);
  return found ? found : before_->named(cell);
}

// From now on the server knows that the tenant lives there.
void CellMover::settle(const std::string& tenant, const Cell& cell, std::int64_t now_us) {
  if (!is_single(cell)) return;
  records_.note(tenant, {cell.name, records_.number(tenant) + 1, true});
  after_.push_back(new_task({tenant, &cell, &cell}, now_us, Kind::kSettle));
}

// Starts a task that is due: tenants whose checks wait come first.
bool CellMover::pick_one(std::int64_t now_us) {
  for (Tasks* tasks : {&to_carry_, &after_}) {
    const auto due = std::find_if(tasks->rbegin(), tasks->rend(),
                                  [now_us](const Task& task) { return task.not_before_us <= now_us; });
    if (due == tasks->rend()) continue;
    task_ = std::move(*due);
    tasks->erase(std::next(due).base());
    return task_->kind != Kind::kCarry || !goes_by_records(now_us);
  }
  return false;
}

// Whether the records say that there is nothing to move. Otherwise the move begins where they say the tenant
// is.
bool CellMover::goes_by_records(std::int64_t now_us) {
  Task& task = *task_;
  const std::string& tenant = task.relocation.tenant;
  const CellRecords::Home* const home = records_.home(tenant);
  if (home == nullptr || task.is_repair || records_.lives_at(*task.relocation.from, tenant)) return false;
  look_for_repair(task);
  if (task.is_repair) {
    publish();
    return false;
  }
  if (home->is_sure && home->cell == task.relocation.to->name) {
    const Task done = *std::exchange(task_, std::nullopt);
    follow_another(done.relocation);
    // A server that was restored to an earlier state does not know that the tenant has left.
    const MoveRecords::Record* const left = records_.find(*done.relocation.from, done.relocation.tenant);
    if (left == nullptr || left->state != 'x')
      after_.push_back(new_task(done.relocation, now_us, Kind::kForget));
    look_at(done.relocation.tenant, now_us);
    publish();
    return true;
  }
  const Cell* const at = named(home->cell);
  if (at == nullptr || !is_single(*at)) return false;
  task.relocation.from = at;
  task.is_refused = false;
  publish();
  return false;
}

// Everything that is known says that the tenant has arrived, but the server says that it has not: one of the
// two was restored to an earlier state. The source must not be asked for it either.
void CellMover::look_for_repair(Task& task) const {
  const auto& [tenant, from, to, starts_anew] = task.relocation;
  const CellRecords::Home* const home = records_.home(tenant);
  if (home == nullptr || home->cell != to->name || !records_.arrival(*to, tenant)) return;
  task.is_repair = task.is_refused = true;
}

void CellMover::begin(CellRegistry::Pointer wanted, std::int64_t now_us) {
  const CellRegistry::Pointer last_wanted = wanted_, current = parts_.registry.current();
  before_ = current;
  wanted_ = std::move(wanted);
  keep_versions();
  homes_.begin_again(*wanted_);
  if (wanted_->list().size() > 1 || before_->list().size() > 1 || is_looking()) records_.follow(*wanted_);
  if (!before_->places_groups_like(*wanted_))
    say("prefixes or tiers have changed cells: counters of tenants that are not listed by name start from "
        "zero "
        "there");
  const Tasks waiting = std::exchange(to_carry_, {});
  for (const Relocation& relocation : before_->relocations_to(*wanted_)) {
    const bool waits = std::ranges::any_of(
        waiting, [&](const Task& task) { return task.relocation.tenant == relocation.tenant; });
    if (!waits) take_up(relocation, now_us);
  }
  for (const Task& task : waiting) begin_again(task, now_us);
  for (const auto& [tenant, home] : std::exchange(strays_, {})) fetch_stray(tenant, *last_wanted, now_us);
  homes_.look();
  take_findings(now_us);
  find_strays(now_us);
  publish();
}

// A waiting tenant follows the new settings from where it is. A move that may be half done at the other end
// must be completed first.
void CellMover::begin_again(Task task, std::int64_t now_us) {
  Relocation& relocation = task.relocation;
  const Cell& place = wanted_->place_of(relocation.tenant);
  relocation.starts_anew = wanted_->starts_anew(relocation.tenant);
  if (const Cell* const same = wanted_->named(relocation.from->name);
      same && same->store.key_prefix == relocation.from->store.key_prefix)
    relocation.from = same;
  if (relocation.starts_anew || (!task.is_in_doubt && !task.has_moved_tag && !task.is_repair)) {
    relocation.to = &place;
    if (relocation.from->name != place.name) return take_up(relocation, now_us);
    if (relocation.starts_anew) settle(relocation.tenant, place, now_us);
    return;  // cancelled
  }
  if (!task.via && relocation.to->name != place.name) task.via = relocation.to;
  relocation.to = &place;
  task.not_before_us = now_us;
  to_carry_.push_back(std::move(task));
}

// A file that has changed is a request to move; an unchanged one is not.
void CellMover::fetch_stray(const std::string& tenant, const Cells& last_wanted, std::int64_t now_us) {
  const Cell& place = wanted_->place_of(tenant);
  const CellRecords::Home* const home = records_.home(tenant);
  const Cell* const from = named(home->cell);
  if (wanted_->starts_anew(tenant))
    take_up({tenant, from ? from : &place, &place, true}, now_us);
  else if (from && from->name != place.name && last_wanted.place_of(tenant).name != place.name)
    take_up({tenant, from, &place}, now_us);
  else if (from && from->name == place.name && last_wanted.place_of(tenant).name != place.name &&
           !has_task(tenant))
    follow_another({tenant, &last_wanted.place_of(tenant), &place});
}

void CellMover::follow_another(const Relocation& moved) {
  ++counters_.done;
  say(whose(moved) + ": another server has moved its counters");
}

void CellMover::take_up(const Relocation& relocation, std::int64_t now_us) {
  const Cell &from = *relocation.from, &to = *relocation.to;
  if (from.store == to.store) {
    ++counters_.done;
    settle(relocation.tenant, to, now_us);
    return say(whose(relocation) + ": that is the same store, its counters stay");
  }
  const bool keep = !relocation.starts_anew;
  if (keep && is_single(from) && is_single(to)) {
    to_carry_.push_back(new_task(relocation, now_us, Kind::kCarry));
    return look_for_repair(to_carry_.back());
  }
  if (keep || !is_single(from)) {
    ++counters_.anew;
    say(whose(relocation) +
        ": its counters start from zero; only those on a single Redis server can be moved or deleted");
  } else {
    say(whose(relocation) + ": its counters start from zero, as configured");
  }
  if (is_single(from)) after_.push_back(new_task(relocation, now_us + kSettleUs, Kind::kForget));
  // The tenant may have left that cell before, with its counters.
  settle(relocation.tenant, to, now_us);
}

std::vector<std::uint32_t> CellMover::tags_of(const std::string& tenant) const {
  if (!parts_.key_secrets) return {slot_tag_of_tenant(tenant, parts_.hasher)};
  std::vector<std::uint32_t> tags;
  for (const KeyHash& hash : hashes_by_every_secret(*parts_.key_secrets, tenant))
    tags.push_back(slot_tag_of_tenant(hash));
  return tags;
}

void CellMover::start() {
  const Task& task = *task_;
  tags_ = task.tag ? std::vector{*task.tag} : tags_of(task.relocation.tenant);
  if (task.kind == Kind::kCarry && task.problem.empty())
    say(fmt::format("moving tenant {} from {} to {} with its counters", task.relocation.tenant,
                    task.relocation.from->name, task.target().name));
  start_tag();
}

// Whether the task continues with the next tag.
bool CellMover::go_on() {
  if (is_at_last_tag()) return false;
  using enum TenantMove::Culprit;
  const bool is_done = move_->state() == TenantMove::State::kDone;
  const bool is_elsewhere = move_->culprit() == kRecords || move_->culprit() == kForgotten;
  if (!is_done && !is_elsewhere) return false;
  Task& task = *task_;
  if (!is_done)
    parts_.log(LogEvent::kCellsStuck,
               fmt::format("{}: its counters under a key secret that is not in force stay behind: {}",
                           whose(task.relocation), move_->problem()));
  if (is_done && task.kind == Kind::kCarry) {
    counters_.keys += move_->progress().moved;
    task.has_moved_tag = true;
    Task forget = new_task({task.relocation.tenant, task.relocation.from, &task.target()}, 0, Kind::kForget);
    forget.move_id = move_->move_id();
    forget.tag = tags_.back();
    forget.is_named = false;
    after_.push_back(std::move(forget));
  }
  tags_.pop_back();
  start_tag();
  return true;
}

void CellMover::start_tag() {
  const Task& task = *task_;
  const Relocation& relocation = task.relocation;
  const bool carries = task.kind == Kind::kCarry, is_named = task.is_named && is_at_last_tag();
  TenantMoveOptions options{
      .kind = task.kind,
      .source = end_at(task.kind == Kind::kSettle ? *relocation.to : *relocation.from, parts_.transport)};
  if (carries) options.target.emplace(end_at(task.target(), parts_.transport));
  options.slot_tag = tags_.back();
  if (is_named) options.tenant = relocation.tenant;
  const CellRecords::Home* const home = records_.home(relocation.tenant);
  const bool is_known = home && home->is_sure && home->cell == relocation.from->name;
  if (is_named && (is_known || !carries))
    options.number = records_.number(relocation.tenant) + (carries ? 1 : 0);
  options.move_id = task.move_id;
  options.gone_to = relocation.to->name;
  options.losses_max = kLossesMax;
  move_ = std::make_unique<TenantMove>(std::move(options), parts_.clock, parts_.random);
}

void CellMover::finish_carrying(std::int64_t now_us) {
  using enum TenantMove::Culprit;
  const std::unique_ptr<TenantMove> move = std::move(move_);
  Task done = *std::exchange(task_, std::nullopt);
  if (move->has_heard()) {  // else nothing has changed
    done.is_in_doubt = move->is_in_doubt();
    done.is_refused = done.is_repair || (is_at_last_tag() && move->is_frozen());
  }
  counters_.keys += move->progress().moved;
  if (move->state() == TenantMove::State::kDone) return finish_carried(std::move(done), *move, now_us);
  if (move->culprit() == kAnother)
    wait_for_another(std::move(done), now_us);
  else if (move->culprit() == kRecords)
    go_where_it_is(std::move(done), *move, now_us);
  else
    wait(std::move(done), move->problem(), now_us);
  publish();
}

void CellMover::finish_carried(Task done, const TenantMove& move, std::int64_t now_us) {
  const Relocation moved{done.relocation.tenant, done.relocation.from, &done.target()};
  const TenantMove::Progress& progress = move.progress();
  const bool by_another = move.culprit() == TenantMove::Culprit::kAnother;
  records_.note_arrived(*moved.to, moved.tenant, move.number());
  if (done.via && done.via->name != done.relocation.to->name) {  // now move on to the destination
    done.relocation.from = std::exchange(done.via, nullptr);
    done.is_in_doubt = done.is_refused = done.has_moved_tag = false;
    to_carry_.push_back(std::move(done));
  }
  look_at(moved.tenant, now_us);
  publish();
  if (by_another) return follow_another(moved);
  ++counters_.done;
  say(fmt::format("{}: {} counters moved, {} of them copied again at the end", whose(moved), progress.moved,
                  progress.again));
  Task forget = new_task(moved, now_us, Kind::kForget);
  forget.move_id = move.move_id();
  forget.tag = tags_.front();
  after_.push_back(std::move(forget));
}

void CellMover::wait_for_another(Task task, std::int64_t now_us) {
  if (task.problem.empty()) task.problem = "another server is moving it";
  task.not_before_us = now_us + kLookAgainUs;
  to_carry_.push_back(std::move(task));
}

// Follows the source's record of where the tenant went, from cell to cell.
void CellMover::go_where_it_is(Task task, const TenantMove& move, std::int64_t now_us) {
  const Cell* const at = named(move.elsewhere());
  const Cell* const first = named(move.unfinished());
  const bool is_known = at ? at->name != task.relocation.from->name : first != nullptr;
  const Cell& next = at ? *at : first ? *first : *task.relocation.from;
  if (!is_known || !is_single(next) || ++task.detours > wanted_->list().size())
    return wait(std::move(task), move.problem(), now_us);
  // If it has not arrived from there yet, it arrives first, and then goes back.
  if (!at || at->name == task.relocation.to->name) task.via = at ? task.relocation.from : first;
  if (at) task.relocation.from = at;
  task.not_before_us = now_us;
  task.is_refused = false;
  to_carry_.push_back(std::move(task));
}

// Other tenants to or from that cell would have the same problem. Logged once, however often it is retried.
void CellMover::wait(Task task, std::string_view problem, std::int64_t now_us) {
  const bool is_new = task.problem.empty();
  const std::string tenant = task.relocation.tenant, to = task.target().name;
  const Cell *const from_cell = task.relocation.from, *const to_cell = task.relocation.to;
  const bool is_refused = task.is_refused;
  task.detours = 0;
  to_carry_.push_back(std::move(task));
  std::size_t alike = 0;
  for (Task& other : to_carry_) {
    if (other.relocation.to != to_cell || other.relocation.from != from_cell) continue;
    other.problem = problem;
    other.not_before_us = now_us + kRetryUs;
    ++alike;
  }
  if (!is_new) return;
  parts_.log(
      LogEvent::kCellsStuck,
      fmt::format("tenant {}, and {} others, cannot move to {} yet; {}, retrying: {}", tenant, alike - 1, to,
                  is_refused ? "its checks are denied" : "they stay where they are", problem));
}

void CellMover::finish_after(std::int64_t now_us) {
  using enum TenantMove::Culprit;
  const std::unique_ptr<TenantMove> move = std::move(move_);
  Task task = *std::exchange(task_, std::nullopt);
  const Relocation done = task.relocation;
  const bool is_done = move->state() == TenantMove::State::kDone;
  if (task.kind == Kind::kSettle && is_done) records_.note_arrived(*done.to, done.tenant, move->number());
  look_at(done.tenant, now_us);
  if (strays_.contains(done.tenant) || has_task(done.tenant)) publish();
  if (task.kind == Kind::kSettle && is_done) return;
  // The tenant may have come back meanwhile: then nothing is left behind.
  if (task.kind == Kind::kForget && (is_done || move->culprit() == kAnother)) {
    if (done.starts_anew) ++counters_.done;
    return say(fmt::format("{}: {} leftover counters deleted", whose(done), move->progress().moved));
  }
  if (task.problem.empty()) {
    if (done.starts_anew) ++counters_.stopped;
    parts_.log(LogEvent::kCellsStuck,
               task.kind == Kind::kSettle
                   ? fmt::format("tenant {} may still be refused at {}, retrying: {}", done.tenant,
                                 done.to->name, move->problem())
                   : fmt::format("{}: leftover counters could not be deleted, retrying: {}", whose(done),
                                 move->problem()));
  }
  // A node that no longer has that cell cannot deny the tenant there either.
  if (task.kind == Kind::kForget && !wanted_->named(done.from->name)) return;
  task.problem = move->problem();
  task.not_before_us = now_us + kRetryUs;
  after_.push_back(std::move(task));
}

void CellMover::publish() {
  std::vector<Relocation> held;
  std::vector<std::string> refused;
  const auto hold = [&](const Task& task, bool is_refused) {
    held.push_back(task.relocation);
    if (is_refused) refused.push_back(task.relocation.tenant);
  };
  for (const Task& task : to_carry_) hold(task, task.is_refused);
  if (task_ && task_->kind == Kind::kCarry)
    hold(*task_, task_->is_refused || (move_ && is_at_last_tag() && move_->is_frozen()));
  for (const auto& [tenant, home] : strays_) refused.push_back(tenant);
  parts_.registry.publish(std::make_shared<const Cells>(
      homes_.without_sought(wanted_->holding_back(held).looking_for(refused, Cell::Backing::kRefuses))));
}

std::string CellMover::in_progress() const {
  const bool carries = task_ && task_->kind == Kind::kCarry;
  if (carries || !to_carry_.empty()) {
    const Task& task = carries ? *task_ : to_carry_.back();
    std::string sentence = fmt::format("moving tenant {} from {} to {}; {} more are waiting",
                                       task.relocation.tenant, task.relocation.from->name,
                                       task.relocation.to->name, to_carry_.size() - (carries ? 0 : 1));
    if (!task.problem.empty())
      sentence += fmt::format("; retrying, and the tenant {}: {}",
                              task.is_refused ? "is denied" : "stays where it is", task.problem);
    return sentence;
  }
  if (is_looking()) return homes_.in_progress();
  if (!strays_.empty())
    return fmt::format(
        "--cells of this server differs from the other servers': tenant {}{} lives in the cell {}, and is "
        "denied here until this server's file places it there",
        strays_.begin()->first,
        strays_.size() > 1 ? fmt::format(", as {} others elsewhere,", strays_.size() - 1) : "",
        strays_.begin()->second);
  const std::size_t left = after_.size() + (task_ ? 1 : 0);
  return left == 0 ? "" : fmt::format("deleting leftover counters of {} tenants that have moved", left);
}

}  // namespace sluice::server
