#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <ranges>
#include <set>

#include "base/mutex.h"
#include "base/try.h"
#include "ledger/chain.h"
#include "ledger/ledger.h"
#include "ledger/record_page.h"

namespace sluice::ledger {

// The data that MemoryLedgers share, in place of a database that processes share. Thread-safe.
class MemoryDatabase {
 public:
  // While it is unavailable, every call of its ledgers fails with kUnavailable.
  void set_available(bool available);
  // Goes back to the state when it had this many records, as if a backup was restored.
  void go_back_to(std::size_t records);

 private:
  friend class MemoryLedger;
  std::int64_t revision() const SLUICE_REQUIRES(mutex_) {
    return records_.empty() ? 0 : records_.back().revision;
  }
  Result<void> check_available() const SLUICE_REQUIRES(mutex_);
  std::vector<Record> versions_of(Kind kind, std::string_view name) const
      SLUICE_REQUIRES(mutex_);  // newest first
  std::vector<Record> written_by(const std::string& actor, const std::string& request_id) const
      SLUICE_REQUIRES(mutex_);

  Mutex mutex_;
  Condition changed_;
  std::vector<Record> records_ SLUICE_GUARDED_BY(mutex_);
  bool available_ SLUICE_GUARDED_BY(mutex_) = true;
};

// A ledger in memory, lost with its MemoryDatabase: the slow and obvious implementation. It defines what the
// others must do, and serves tests of code that uses a ledger. Belongs to one thread, like every Ledger.
//
//   auto database = std::make_shared<MemoryDatabase>();
//   MemoryLedger ours(database), another_nodes(database);
class MemoryLedger : public Ledger {
 public:
  explicit MemoryLedger(std::shared_ptr<MemoryDatabase> database);

  using Ledger::append;
  Result<std::vector<Record>> append(const Change& change, std::span<const Record> removed) override;
  Result<std::int64_t> revision() override;
  Result<std::vector<Record>> read_after(std::int64_t revision, std::size_t max) override;
  Result<void> for_each_document(const std::function<void(Record&&)>& visit) override;
  Result<void> for_each_listing(const std::function<void(Listing&&)>& visit) override;
  Result<std::optional<Record>> find(Kind kind, std::string_view name, std::int64_t version) override;
  Result<std::vector<Record>> history(Kind kind, std::string_view name, std::int64_t version,
                                      std::size_t max) override;
  Result<std::vector<Record>> find_request(const std::string& actor, const std::string& request_id) override;
  bool wait(int timeout_ms) override;
  void interrupt() override;
  void start_over() noexcept override {}
  std::string name() const override { return "memory"; }

 private:
  static constexpr std::chrono::milliseconds kPauseWhenAway{50};
  const std::shared_ptr<MemoryDatabase> shared_database_;
  MemoryDatabase& database_ = *shared_database_;
  std::int64_t watched_;  // the newest revision when the last wait ended
  bool interrupted_ SLUICE_GUARDED_BY(database_.mutex_) = false;
};

inline void MemoryDatabase::set_available(bool available) {
  const Lock lock(mutex_);
  available_ = available;
  changed_.notify_all();
}

inline void MemoryDatabase::go_back_to(std::size_t records) {
  const Lock lock(mutex_);
  records_.resize(std::min(records, records_.size()));
  changed_.notify_all();
}

inline MemoryLedger::MemoryLedger(std::shared_ptr<MemoryDatabase> database)
    : shared_database_(std::move(database)) {
  const Lock lock(database_.mutex_);
  watched_ = database_.revision();
}

inline Result<void> MemoryDatabase::check_available() const {
  if (available_) return {};
  return std::unexpected(Error{ErrorCode::kUnavailable, "the memory ledger is switched off; try again", ""});
}

inline std::vector<Record> MemoryDatabase::versions_of(Kind kind, std::string_view name) const {
  std::vector<Record> found;
  for (const Record& record : std::views::reverse(records_))
    if (record.version > 0 && record.kind == kind && record.name == name) found.push_back(record);
  return found;
}

inline std::vector<Record> MemoryDatabase::written_by(const std::string& actor,
                                                      const std::string& request_id) const {
  std::vector<Record> found;
  if (request_id.empty()) return found;
  for (const Record& record : records_)
    if (record.actor == actor && record.request_id == request_id) found.push_back(record);
  return found;
}

inline Result<std::vector<Record>> MemoryLedger::append(const Change& change,
                                                        std::span<const Record> removed) {
  SLUICE_TRY(validate(change));
  const Lock lock(database_.mutex_);
  SLUICE_TRY(database_.check_available());
  if (auto earlier = database_.written_by(change.actor, change.request_id); !earlier.empty())
    return answer_again(change, std::move(earlier));
  std::map<std::pair<Kind, std::string_view>, Newest> known;  // one pass, since a change may be large
  for (const Record& record : database_.records_)
    if (record.version > 0) known[{record.kind, record.name}] = {record.version, record.is_withdrawn()};
  std::vector<Newest> newest;
  for (const Draft& draft : change.drafts) newest.push_back(known[{draft.kind, draft.name}]);
  std::vector<Record>& records = database_.records_;
  const std::int64_t last_revision = database_.revision();
  const auto versions = SLUICE_TRY(check_expected(change, newest, last_revision));
  std::vector<Record> written =
      link(change, versions, last_revision, records.empty() ? "" : records.back().hash);
  records.insert(records.end(), written.begin(), written.end());
  std::erase_if(records, [&](const Record& record) {
    return std::ranges::binary_search(removed, record.revision, {}, &Record::revision);
  });
  database_.changed_.notify_all();
  return written;
}

inline Result<std::int64_t> MemoryLedger::revision() {
  const Lock lock(database_.mutex_);
  SLUICE_TRY(database_.check_available());
  return database_.revision();
}

inline Result<std::vector<Record>> MemoryLedger::read_after(std::int64_t revision, std::size_t max) {
  const Lock lock(database_.mutex_);
  SLUICE_TRY(database_.check_available());
  RecordPage page(max);
  for (const Record& record : database_.records_)
    if (record.revision > revision && !page.is_full()) page.add(Record(record));
  return std::move(page).take();
}

inline Result<void> MemoryLedger::for_each_document(const std::function<void(Record&&)>& visit) {
  const Lock lock(database_.mutex_);
  SLUICE_TRY(database_.check_available());
  std::set<std::pair<Kind, std::string_view>> seen;
  for (const Record& record : std::views::reverse(database_.records_))
    if (record.version > 0 && seen.emplace(record.kind, record.name).second) visit(Record(record));
  return {};
}

inline Result<void> MemoryLedger::for_each_listing(const std::function<void(Listing&&)>& visit) {
  return for_each_document([&](Record&& record) {
    visit({std::string(to_string(record.kind)), record.name, record.version, record.is_withdrawn(),
           record.revision});
  });
}

inline Result<std::optional<Record>> MemoryLedger::find(Kind kind, std::string_view name,
                                                        std::int64_t version) {
  const Lock lock(database_.mutex_);
  SLUICE_TRY(database_.check_available());
  for (Record& record : database_.versions_of(kind, name))
    if (record.version == version) return std::move(record);
  return std::nullopt;
}

inline Result<std::vector<Record>> MemoryLedger::history(Kind kind, std::string_view name,
                                                         std::int64_t version, std::size_t max) {
  const Lock lock(database_.mutex_);
  SLUICE_TRY(database_.check_available());
  RecordPage page(max);
  for (Record& record : database_.versions_of(kind, name))
    if (record.version < version && !page.is_full()) page.add(std::move(record));
  return std::move(page).take();
}

inline Result<std::vector<Record>> MemoryLedger::find_request(const std::string& actor,
                                                              const std::string& request_id) {
  const Lock lock(database_.mutex_);
  SLUICE_TRY(database_.check_available());
  return database_.written_by(actor, request_id);
}

inline bool MemoryLedger::wait(int timeout_ms) {
  const Lock lock(database_.mutex_);
  const std::chrono::milliseconds timeout(timeout_ms);
  if (database_.available_)
    database_.changed_.wait_for(database_.mutex_, timeout, [this]() SLUICE_REQUIRES(database_.mutex_) {
      return interrupted_ || !database_.available_ || database_.revision() != watched_;
    });
  else
    database_.changed_.wait_for(database_.mutex_, std::min(timeout, kPauseWhenAway),
                                [this]() SLUICE_REQUIRES(database_.mutex_) { return interrupted_; });
  interrupted_ = false;
  watched_ = database_.revision();
  return database_.available_;
}

inline void MemoryLedger::interrupt() {
  const Lock lock(database_.mutex_);
  interrupted_ = true;
  database_.changed_.notify_all();
}

}  // namespace sluice::ledger
