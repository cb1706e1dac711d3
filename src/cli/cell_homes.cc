#include "cli/cell_homes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace sluice::cli {
namespace {

constexpr std::uint32_t kSilentLosses = 5;    // from then on the failure rule decides for a server's tenants
constexpr std::int64_t kGoneUs = 10'000'000;  // and others do not wait for its word any longer

bool lives_there(char state) { return state == 'o' || state == 'c' || state == 'f'; }

// That it is somewhere says more than that it has gone there.
bool is_better(const MoveRecords::Record& a, const MoveRecords::Record& b) {
  if (lives_there(a.state) != lives_there(b.state)) return lives_there(a.state);
  return a.until_ms >= b.until_ms;
}

// Who is counted anew where it comes, or cannot be carried there, need not be looked for first.
bool must_wait_at(const Cell& place) { return is_single(place) && place.when_moved == WhenMoved::kKeep; }

}  // namespace

bool is_single(const Cell& cell) {
  return cell.store.redis && cell.store.redis->kind == redis::StoreTarget::Kind::kSingle;
}

TenantMoveOptions::End end_at(const Cell& cell, redis::Transport& transport) {
  return {transport, {.address = cell.store.redis->addresses.front()}, cell.store.key_prefix, cell.name};
}

bool CellHomes::Question::is_silent() const { return !is_answered() && records->losses() >= kSilentLosses; }

const MoveRecords::Record* CellHomes::Question::find(std::string_view tenant) const {
  if (!is_answered()) return nullptr;
  const auto& all = *records->records();
  const auto found = std::ranges::find(all, tenant, &Record::tenant);
  return found == all.end() ? nullptr : &*found;
}

std::vector<std::string> CellHomes::unknown(const Cells& cells, const CellMemory& memory) {
  std::set<std::string> tenants;
  for (const auto& [tenant, cell] : cells.named_tenants()) tenants.insert(tenant);
  if (memory)
    for (const auto& [tenant, cell] : *memory) tenants.insert(tenant);
  std::vector<std::string> unknown;
  for (const std::string& tenant : tenants) {
    const Cell& place = cells.list()[cells.find(tenant, "")];
    if (!memory && !is_single(place)) continue;  // nothing that was can be carried there
    if (memory) {
      const auto was = memory->find(tenant);
      if ((was == memory->end() ? std::string(Cells::kDefaultName) : was->second) == place.name) continue;
    }
    unknown.push_back(tenant);
  }
  return unknown;
}

Cells CellHomes::at_start(const Cells& cells, const CellMemory& memory) {
  std::vector<std::string> tenants = unknown(cells, memory);
  std::erase_if(tenants, [&](const std::string& tenant) {
    return !must_wait_at(cells.list()[cells.find(tenant, "")]);
  });
  return cells.looking_for(tenants, Cell::Keeper::kRefuses);
}

void CellHomes::begin(const Cells& cells) {
  sought_ = unknown(cells, memory_);
  if (cells.list().size() > 1 || !sought_.empty()) ask(cells);
}

void CellHomes::begin_again(const Cells& cells) {
  reads_arrivals_ = false;
  findings_.clear();
  questions_.clear();
  if (!sought_.empty()) ask(cells);
}

void CellHomes::ask(const Cells& cells) {
  cells_ = &cells;
  silent_ = 0;
  ++generation_;
  for (const Cell& cell : cells.list())
    if (is_single(cell))
      questions_.push_back({&cell, std::make_unique<MoveRecords>(end_at(cell, parts_.transport), parts_.clock,
                                                                 parts_.random)});
}

void CellHomes::tick(std::int64_t now_us) {
  if (questions_.empty() && sought_.empty()) return;
  for (Question& question : questions_) {
    if (question.asked_at_us == 0) question.asked_at_us = now_us;
    if (!question.is_answered()) question.records->tick(now_us);
    question.is_gone = !question.is_answered() && now_us - question.asked_at_us >= kGoneUs;
    if (question.is_answered() && !std::exchange(question.is_read, true)) read_arrivals(question);
  }
  const std::size_t before = sought_.size();
  std::erase_if(sought_, [this](const std::string& tenant) {
    auto finding = look_for(tenant);
    if (!finding) return false;
    findings_.push_back(*std::move(finding));
    return true;
  });
  const auto silent = static_cast<std::size_t>(std::ranges::count_if(questions_, &Question::is_silent));
  if (sought_.size() != before || silent != std::exchange(silent_, silent)) ++generation_;
  if (sought_.empty() && std::ranges::all_of(questions_, &Question::is_read)) questions_.clear();
}

// Who is not looked for, and is still on its way: somebody must carry the rest.
void CellHomes::read_arrivals(const Question& question) {
  if (!reads_arrivals_) return;
  for (const Record& record : *question.records->records())
    if (record.state == 'a' && &place_of(record.tenant) == question.cell &&
        std::ranges::find(sought_, record.tenant) == sought_.end())
      findings_.push_back(carried_from(record.tenant, record.other, *question.cell));
}

const CellHomes::Question* CellHomes::question_of(const Cell& cell) const {
  const auto found = std::ranges::find(questions_, &cell, &Question::cell);
  return found == questions_.end() ? nullptr : &*found;
}

std::optional<std::string> CellHomes::remembered(const std::string& tenant) const {
  if (!memory_) return std::nullopt;
  const auto was = memory_->find(tenant);
  return was == memory_->end() ? std::string(Cells::kDefaultName) : was->second;
}

// Nothing: it is not known yet.
std::optional<CellHomes::Finding> CellHomes::look_for(const std::string& tenant) const {
  const Cell& to = place_of(tenant);
  if (const Question* const here = question_of(to)) {
    if (!here->is_answered()) return std::nullopt;
    if (const Record* const record = here->find(tenant)) return by_own_record(tenant, to, *record);
  }
  return by_other_records(tenant, to);
}

std::optional<CellHomes::Finding> CellHomes::by_own_record(const std::string& tenant, const Cell& to,
                                                           const Record& record) const {
  Finding is_here{.tenant = tenant, .at = &to, .to = &to, .has_record = true};
  if (lives_there(record.state)) return is_here;
  if (record.state == 'a') return carried_from(tenant, record.other, to);
  // It has gone from here, and everybody knows: a file of before is no wish to have it back. It is, if this
  // node remembers it elsewhere, for then its own file has changed.
  const auto was = remembered(tenant);
  return was && *was != to.name ? carried_from(tenant, record.other, to) : is_here;
}

std::optional<CellHomes::Finding> CellHomes::by_other_records(const std::string& tenant,
                                                              const Cell& to) const {
  const Record* newest = nullptr;  // of those that say where it is, or where it has gone
  std::string at;
  for (const Question& other : questions_) {
    if (!other.is_answered() && !other.is_gone) return std::nullopt;
    const Record* const record = other.find(tenant);
    if (record == nullptr || record->state == 'a') continue;
    if (newest != nullptr && is_better(*newest, *record)) continue;
    newest = record;
    at = record->state == 'x' ? record->other : other.cell->name;
  }
  // No record: it never moved, so it is where this node remembers it, or where everybody is.
  if (newest == nullptr) at = remembered(tenant).value_or(std::string(Cells::kDefaultName));
  Finding finding = carried_from(tenant, at, to);
  if (const Question* const there = question_of(*finding.at); there != nullptr && there->is_gone) {
    finding.problem = fmt::format(
        "tenant {} goes to {} without counters: those that it may have at {}, which does not answer, are "
        "left there",
        tenant, to.name, finding.at->name);
    finding.at = &to;
  }
  // What was in memory is no more, whoever remembers it.
  if (!finding.at->store.redis) finding.at = &to;
  return finding;
}

CellHomes::Finding CellHomes::carried_from(const std::string& tenant, const std::string& from,
                                           const Cell& to) const {
  Finding finding{.tenant = tenant, .at = cells_->named(from), .to = &to};
  if (finding.at != nullptr) return finding;
  finding.at = &to;
  finding.problem = fmt::format(
      "tenant {} was in the cell {}, or on its way from there to {}, and {} is no cell any "
      "more: it goes without its counters",
      tenant, from, to.name, from);
  return finding;
}

Cells CellHomes::without_sought(const Cells& cells) const {
  std::vector<std::string> refused, silent;
  for (const std::string& tenant : sought_) {
    const Cell& place = place_of(tenant);
    if (!must_wait_at(place)) continue;
    const Question* const here = question_of(place);
    (here != nullptr && here->is_silent() ? silent : refused).push_back(tenant);
  }
  return cells.looking_for(refused, Cell::Keeper::kRefuses).looking_for(silent, Cell::Keeper::kSilent);
}

std::string CellHomes::in_progress() const {
  if (sought_.empty()) return {};
  std::string sentence =
      fmt::format("looking for the counters of tenant {}{}", sought_.front(),
                  sought_.size() > 1 ? fmt::format(" and {} more", sought_.size() - 1) : "");
  for (const Question& question : questions_)
    if (question.is_silent()) sentence += fmt::format("; the cell {} does not answer", question.cell->name);
  return sentence;
}

}  // namespace sluice::cli
