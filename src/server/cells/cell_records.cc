#include "server/cells/cell_records.h"

#include <algorithm>
#include <utility>

namespace sluice::server {
namespace {

constexpr std::uint32_t kSilentLosses = 5;

}  // namespace

bool is_single(const Cell& cell) {
  return cell.store.redis && cell.store.redis->kind == redis::StoreTarget::Kind::kSingle;
}

TenantMoveOptions::End end_at(const Cell& cell, redis::Transport& transport) {
  return {transport, {.address = cell.store.redis->addresses.front()}, cell.store.key_prefix, cell.name};
}

void CellRecords::follow(const Cells& cells) {
  std::map<std::string, Question> before = std::exchange(questions_, {});
  for (const Cell& cell : cells.list()) {
    if (!is_single(cell)) continue;
    const auto same = before.find(cell.name);
    if (same != before.end() && same->second.store == cell.store)
      questions_.insert(before.extract(same));
    else
      questions_[cell.name] = {cell.store, std::make_unique<MoveRecords>(end_at(cell, parts_.transport),
                                                                         parts_.clock, parts_.random)};
  }
  ++generation_;
}

void CellRecords::tick(std::int64_t now_us) {
  for (auto& [cell, question] : questions_) {
    question.records->tick(now_us);
    const bool is_silent = question.records->losses() >= kSilentLosses;
    if (std::exchange(question.was_silent, is_silent) != is_silent) ++generation_;
    if (std::exchange(question.generation, question.records->generation()) == question.generation) continue;
    read(cell, question);
    ++generation_;
  }
}

void CellRecords::read(const std::string& cell, Question& question) {
  question.by_tenant.clear();
  for (const Record& record : *question.records->records()) {
    if (record.tenant.empty()) continue;  // counters under a key secret that is not in force
    const bool is_sure = record.state == 'o' || record.state == 'x';
    note(record.tenant, {lives_there(record.state) ? cell : record.other, record.number, is_sure});
    const auto [known, is_new] = question.by_tenant.try_emplace(record.tenant, record);
    if (!is_new && known->second.number < record.number) known->second = record;
  }
}

void CellRecords::note(const std::string& tenant, Home home) {
  const auto [known, is_new] = homes_.try_emplace(tenant, home);
  if (is_new || home.number < known->second.number) return;
  if (home.number == known->second.number && known->second.is_sure) return;
  known->second = std::move(home);
}

void CellRecords::note_arrived(const Cell& cell, const std::string& tenant, std::uint32_t number) {
  note(tenant, {cell.name, number, true});
  const auto found = questions_.find(cell.name);
  if (found == questions_.end()) return;
  const auto record = found->second.by_tenant.find(tenant);
  if (record != found->second.by_tenant.end() && record->second.number <= number)
    record->second = {.state = 'o', .tenant = tenant, .other = record->second.other, .number = number};
}

const CellRecords::Question* CellRecords::question_of(const Cell& cell) const {
  const auto found = questions_.find(cell.name);
  return found == questions_.end() ? nullptr : &found->second;
}

bool CellRecords::has_answered(const Cell& cell) const {
  const Question* const question = question_of(cell);
  return question == nullptr || question->records->records().has_value();
}

bool CellRecords::is_silent(const Cell& cell) const {
  const Question* const question = question_of(cell);
  return question != nullptr && question->records->losses() >= kSilentLosses;
}

bool CellRecords::have_all_answered() const {
  return std::ranges::all_of(questions_,
                             [](const auto& entry) { return entry.second.records->records().has_value(); });
}

std::vector<std::string> CellRecords::silent() const {
  std::vector<std::string> names;
  for (const auto& [cell, question] : questions_)
    if (question.records->losses() >= kSilentLosses) names.push_back(cell);
  return names;
}

const CellRecords::Record* CellRecords::find(const Cell& cell, const std::string& tenant) const {
  const Question* const question = question_of(cell);
  if (question == nullptr) return nullptr;
  const auto found = question->by_tenant.find(tenant);
  return found == question->by_tenant.end() ? nullptr : &found->second;
}

const CellRecords::Record* CellRecords::arrival(const Cell& cell, const std::string& tenant) const {
  const Record* const record = find(cell, tenant);
  return record && record->state == 'a' && record->number == number(tenant) ? record : nullptr;
}

const CellRecords::Home* CellRecords::home(const std::string& tenant) const {
  const auto found = homes_.find(tenant);
  return found == homes_.end() ? nullptr : &found->second;
}

// One server may have two names; either may be the tenant's home.
bool CellRecords::lives_at(const Cell& cell, const std::string& tenant) const {
  const Home* const known = home(tenant);
  if (known == nullptr || known->cell == cell.name) return true;
  const Record* const record = find(cell, tenant);
  if (record == nullptr || record->number != known->number) return false;
  return record->state == 'o' || (lives_there(record->state) && !known->is_sure);
}

std::uint32_t CellRecords::number(const std::string& tenant) const {
  const Home* const known = home(tenant);
  return known == nullptr ? 0 : known->number;
}

}  // namespace sluice::server
