#include "control/registry.h"

#include <utility>

#include "base/memory.h"

namespace sluice::control {
namespace {

constexpr std::size_t kRecordsAtATime = 1000;

}  // namespace

Result<void> Registry::load() {
  const auto revision = ledger_.revision();
  if (!revision) return std::unexpected(revision.error());
  if (auto applied = apply_documents(); !applied) return applied;
  return_freed_memory();  // of what was read: it took as much as what has become of it
  revision_ = *revision;
  if (auto followed = follow(); !followed) return followed;
  loaded_ = true;
  return {};
}

Result<void> Registry::apply_documents() {
  std::vector<ledger::Record> documents;
  auto read =
      ledger_.for_each_document([&](ledger::Record&& record) { documents.push_back(std::move(record)); });
  if (!read) return read;
  problems_.clear();
  apply(documents);
  return {};
}

Result<void> Registry::follow() {
  for (;;) {
    const auto records = ledger_.read_after(revision_, kRecordsAtATime);
    if (!records) return std::unexpected(records.error());
    if (records->empty()) return {};
    apply(*records);
    revision_ = records->back().revision;
  }
}

Result<void> Registry::check(const ledger::Change& change) {
  std::map<ledger::Kind, std::vector<const ledger::Draft*>> by_kind;
  for (const ledger::Draft& draft : change.drafts) by_kind[draft.kind].push_back(&draft);
  for (const auto& [kind, drafts] : by_kind)
    if (const auto keeper = keepers_.find(kind); keeper != keepers_.end())
      if (auto good = keeper->second->check(drafts); !good) return good;
  return {};
}

Result<std::vector<ledger::Record>> Registry::write(const ledger::Change& change) {
  // What others wrote meanwhile may stand in the way of this change.
  if (auto followed = follow(); !followed) return std::unexpected(followed.error());
  if (auto good = check(change); !good) return std::unexpected(good.error());
  auto written = ledger_.append(change);
  if (!written || written->back().revision <= revision_) return written;
  if (written->front().revision == revision_ + 1) {
    apply(*written);
    revision_ = written->back().revision;
    return written;
  }
  if (auto followed = follow(); !followed) return std::unexpected(followed.error());
  return written;
}

void Registry::apply(std::span<const ledger::Record> records) {
  std::map<ledger::Kind, std::map<std::string_view, const ledger::Record*>> newest;
  for (const ledger::Record& record : records)
    if (record.kind != ledger::Kind::kEvent) newest[record.kind][record.name] = &record;
  for (const auto& [kind, by_name] : newest) {
    const auto keeper = keepers_.find(kind);
    if (keeper == keepers_.end()) continue;
    std::vector<const ledger::Record*> list;
    for (const auto& [name, record] : by_name) {
      list.push_back(record);
      if (!problems_.empty()) problems_.erase({kind, std::string(name)});
    }
    for (auto& [name, sentence] : keeper->second->apply(list)) problems_[{kind, name}] = std::move(sentence);
  }
}

std::vector<std::string> Registry::problems() const {
  std::vector<std::string> sentences;
  for (const auto& [document, sentence] : problems_) sentences.push_back(sentence);
  return sentences;
}

}  // namespace sluice::control
