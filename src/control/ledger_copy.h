#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ledger/record.h"

namespace sluice::control {

// What the ledger said last, in a file of the state folder: policies, users, hashes of tokens, rollouts, the
// switch. A node that starts while its database is gone goes on with that, and one that starts on a database
// that went back in time can tell. Belongs to the control plane's thread.
//
//   copy.replace(revision, hash, documents);  // all of them: at the start, once the ledger was read
//   copy.note(records);                       // what was written since
//   copy.write_if_due(clock, read_all);       // every second
//
// A change is on disk about a second later: the file is read, changed and rewritten, without a call to the
// database. The interval grows with the time that this takes, so that a large copy takes at most a tenth of
// the thread's time. Withdrawn documents and events are not kept.
//
// The file either holds the complete contents of the ledger at one revision, or does not exist. New records
// are added only to a file that is known to be complete up to the first of them. Otherwise (a write failed,
// or the file was removed or replaced by an older one), it is rebuilt from all documents. It states how many
// documents it has.
class LedgerCopy {
 public:
  struct Contents {
    std::int64_t revision = 0;              // the newest one that is in it
    std::int64_t at_us = 0;                 // and when that was written
    std::string hash;                       // of its record; empty: a copy of before these were kept
    std::vector<ledger::Record> documents;  // without hashes and request ids
  };

  // `of` identifies the ledger; each ledger has its own file. An empty folder: no copy is kept.
  LedgerCopy(const std::string& state_dir, const std::string& of);

  const std::string& path() const { return path_; }
  // kNotFound: there is no copy. kFailedPrecondition: it is damaged or incomplete.
  Result<Contents> read() const;

  // These are all documents there are. Writes them, if there ever were any.
  Result<void> replace(std::int64_t revision, std::string hash, std::span<const ledger::Record> documents);
  // These are newer, and all that are. REQUIRES: replace() was called.
  void note(std::span<const ledger::Record> records);
  // Writes what was noted, if it is time. `clock` measures how long that takes. `replace_all` calls
  // replace(); it is used if there is no complete copy to add to.
  template <class Clock, class ReplaceAll>
  Result<void> write_if_due(const Clock& clock, const ReplaceAll& replace_all) {
    if (path_.empty() || (whole_up_to_ && news_.empty()) || clock.now_us() < next_write_us_) return {};
    const std::int64_t begin_us = clock.now_us();
    auto written = write_news();
    if (!written && written.error().code == ErrorCode::kFailedPrecondition) written = replace_all();
    const std::int64_t end_us = clock.now_us();
    next_write_us_ = end_us + kPauseFactor * (end_us - begin_us);
    return written;
  }

 private:
  static constexpr std::int64_t kPauseFactor = 10;
  using Name = std::pair<ledger::Kind, std::string>;

  Result<void> write_news();
  Result<Contents> read_whole() const;
  Result<void> write(const Contents& contents) const;

  const std::string path_;  // empty: no copy is kept
  std::int64_t revision_ = 0, at_us_ = 0;
  std::string hash_;
  std::optional<std::int64_t> whole_up_to_;  // the file has all up to there; none: nobody knows
  bool is_left_out_ = false;                 // there is no file, because there never were documents
  std::map<Name, ledger::Record> news_;      // all records since then
  std::int64_t next_write_us_ = 0;
};

}  // namespace sluice::control
