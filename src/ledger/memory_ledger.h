#pragma once

#include <memory>

#include "base/mutex.h"
#include "ledger/ledger.h"

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
  const std::shared_ptr<MemoryDatabase> shared_database_;
  MemoryDatabase& database_ = *shared_database_;
  std::int64_t watched_;  // the newest revision when the last wait ended
  bool interrupted_ SLUICE_GUARDED_BY(database_.mutex_) = false;
};

}  // namespace sluice::ledger
