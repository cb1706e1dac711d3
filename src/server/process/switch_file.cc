#include "server/process/switch_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cctype>

#include "base/limits.h"
#include "base/text/utf8.h"

namespace sluice::server {
namespace {

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

std::string beginning_of(const std::string& path) {
  std::array<char, kReasonBytesMax> bytes;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return "";
  const ssize_t count = read(fd, bytes.data(), bytes.size());
  close(fd);
  return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0))};
}

// Complete characters on one line: it goes into the log and the ledger.
std::string as_reason(std::string text) {
  for (char& c : text)
    if (std::iscntrl(static_cast<unsigned char>(c))) c = ' ';
  std::string reason;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t length = utf8_length(rest);
    if (length > 0) reason.append(rest.substr(0, length));
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  const std::size_t first = reason.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return reason.substr(first, reason.find_last_not_of(' ') - first + 1);
}

}  // namespace

std::optional<SwitchFile::Seen> SwitchFile::look() {
  if (!has_path()) return std::nullopt;
  struct stat now{};
  const bool exists = stat(path_.c_str(), &now) == 0;
  if (exists ? last_ && is_same(*last_, now) : !last_) return std::nullopt;
  last_ = exists ? std::optional(now) : std::nullopt;
  return Seen{exists, exists ? as_reason(beginning_of(path_)) : ""};
}

}  // namespace sluice::server
