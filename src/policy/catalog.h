#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/error.h"
#include "policy/repository.h"
#include "policy/snapshot.h"

namespace sluice {

// Keeps the policies of all sources together and publishes what is in force. Thread-safe: one change at a
// time, and every change is whole or does not happen.
//
// There are two sources. Files come as a complete list and own the ids in them; everything else comes as
// single changes, from the ledger, and may not touch what files own.
class PolicyCatalog {
 public:
  // Both outlive it.
  PolicyCatalog(PolicyBoard& board, ParamsTable& params, CompileOptions options = {})
      : board_(board), params_(params), options_(options) {}
  PolicyCatalog(const PolicyCatalog&) = delete;
  PolicyCatalog& operator=(const PolicyCatalog&) = delete;

  // These are all the policies that files have now. Fails as Snapshot::with() does, or with kConflict if an
  // id is in the ledger.
  Result<void> replace_files(std::vector<Policy> policies);

  // kConflict: a policy of that id is in a file, and is changed there.
  Result<void> change(PolicyChange change);
  // The errors that change() would report.
  Result<void> try_change(PolicyChange change) const;

  bool is_from_file(std::string_view id) const;
  std::shared_ptr<const Snapshot> current() const { return board_.current(); }

 private:
  Result<void> refuse_file_policies(const PolicyChange& change) const;  // REQUIRES: mutex_ is held

  PolicyBoard& board_;
  ParamsTable& params_;
  const CompileOptions options_;
  mutable std::mutex mutex_;
  std::unordered_set<std::string> from_files_;  // ids; guarded by mutex_
};

}  // namespace sluice
