#include "control/registry.h"

#include <algorithm>
#include <utility>

#include "base/memory.h"

namespace sluice::control {
namespace {

constexpr std::size_t kRecordsAtATime = 1000;
// Each further attempt means that somebody else has written.
constexpr int kWriteAttemptsMax = 100;
// No ledger is there: nothing is written, but what the same request wrote before is found.
constexpr std::int64_t kNoRevision = -1;

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

Result<std::vector<ledger::Record>> Registry::write(ledger::Change change, const Permission& may) {
  // What others wrote meanwhile may stand in the way of this change. Events stand in nobody's way.
  const bool has_documents = std::ranges::any_of(
      change.drafts, [](const ledger::Draft& draft) { return draft.kind != ledger::Kind::kEvent; });
  if (auto followed = follow(); !followed) return std::unexpected(followed.error());
  for (int attempt = 1;; ++attempt) {
    Result<void> good = may ? may() : Result<void>();
    if (good) good = check(change);
    if (!good) return answer_of_then(std::move(change), good.error());
    if (has_documents) change.expected_revision = revision_;
    auto written = ledger_.append(change);
    if (written) {
      if (auto done = catch_up(*written); !done) return std::unexpected(done.error());
      return written;
    }
    if (written.error().code != ErrorCode::kStale) return written;
    const std::int64_t before = revision_;
    if (auto followed = follow(); !followed) return std::unexpected(followed.error());
    if (revision_ == before) return written;  // nothing new: its author has seen an old version
    if (attempt == kWriteAttemptsMax)
      return std::unexpected(
          Error{ErrorCode::kUnavailable, "too many others write at the same time; try again", ""});
  }
}

Result<std::vector<ledger::Record>> Registry::answer_of_then(ledger::Change change, Error error) {
  if (change.request_id.empty()) return std::unexpected(std::move(error));
  change.expected_revision = kNoRevision;
  if (auto earlier = ledger_.append(change)) return earlier;
  return std::unexpected(std::move(error));
}

Result<void> Registry::catch_up(std::span<const ledger::Record> written) {
  if (written.back().revision <= revision_) return {};
  if (written.front().revision != revision_ + 1) return follow();
  apply(written);
  revision_ = written.back().revision;
  return {};
}

void Registry::apply(std::span<const ledger::Record> records) {
  using Name = std::pair<ledger::Kind, std::string_view>;
  std::map<Name, const ledger::Record*> newest;
  for (const ledger::Record& record : records)
    if (record.kind != ledger::Kind::kEvent) newest[{record.kind, record.name}] = &record;
  if (newest.empty()) return;
  // Any change may have taken away what stood in their way.
  const auto before = std::exchange(problems_, {});
  for (const auto& [name, problem] : before)
    if (!problem.record.name.empty()) newest.try_emplace(name, &problem.record);
  std::map<ledger::Kind, std::vector<const ledger::Record*>> by_kind;
  for (const auto& [name, record] : newest) by_kind[name.first].push_back(record);
  for (auto& [kind, list] : by_kind) {
    const auto keeper = keepers_.find(kind);
    if (keeper == keepers_.end()) continue;
    std::ranges::sort(list, {}, &ledger::Record::revision);
    for (auto& [name, sentence] : keeper->second->apply(list)) {
      const auto about = newest.find({kind, name});
      problems_[{kind, name}] = {about == newest.end() ? ledger::Record{} : *about->second,
                                 std::move(sentence)};
    }
  }
}

std::vector<std::string> Registry::problems() const {
  std::vector<std::string> sentences;
  for (const auto& [document, problem] : problems_) sentences.push_back(problem.sentence);
  return sentences;
}

const ledger::Record* Registry::not_in_force(ledger::Kind kind, std::string_view name) const {
  const auto found = problems_.find({kind, std::string(name)});
  return found == problems_.end() || found->second.record.name.empty() ? nullptr : &found->second.record;
}

}  // namespace sluice::control
