#pragma once

#include <cstdio>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "plan/replay.h"
#include "plan/report/shown_values.h"

namespace sluice::plan {

// Writes a file with one line of JSON for every denied request, for further analysis. Not thread-safe.
//
//   {"at":"2026-10-10T13:55:36Z","tenant_id":"","resource":"/search","key":"alice","policy_id":"search",
//    "limiting":"burst","retry_after_ms":250,"newly_denied":true}
class DenialList {
 public:
  // The error is a sentence. `shown` must outlive the list.
  static std::expected<DenialList, std::string> create(const std::string& path, const ShownValues& shown);

  void add(const Replay::Denial& denial);
  // The error is a sentence: not everything could be written.
  std::expected<void, std::string> finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  const ShownValues* shown_ = nullptr;
  bool failed_ = false;
  std::string line_;
};

}  // namespace sluice::plan
