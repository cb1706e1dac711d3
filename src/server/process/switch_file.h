#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace sluice::server {

// Watches the file whose existence opens the big red switch. Not thread-safe.
//
//   SwitchFile file("/run/sluice/open");
//   if (const auto seen = file.look()) turn(seen->exists, seen->reason);   // a few times a second
class SwitchFile {
 public:
  // An empty path: there is no such file.
  explicit SwitchFile(std::string path) : path_(std::move(path)) {}
  bool has_path() const { return !path_.empty(); }

  struct Seen {
    bool exists = false;
    std::string reason;  // the beginning of its text, on one line, at most kReasonBytesMax bytes
  };
  // How the file has changed since the last look: it exists (newly created, or rewritten), or is gone.
  // nullopt: no change. A file that cannot be read counts as existing.
  std::optional<Seen> look();

 private:
  const std::string path_;
  std::optional<struct stat> last_;
};

}  // namespace sluice::server
