#include "control/access/bootstrap_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>

#include "base/try.h"
#include "control/access/token.h"

namespace sluice::control {
namespace {

class OpenFile {
 public:
  OpenFile(const std::string& path, int flags)
      : fd_(open(path.c_str(), flags | O_CLOEXEC, S_IRUSR | S_IWUSR)) {}
  ~OpenFile() {
    if (fd_ >= 0) close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

std::unexpected<Error> wrong(const std::string& path, const std::string& why) {
  return std::unexpected(Error{ErrorCode::kInvalidArgument, path + " " + why, ""});
}

std::unexpected<Error> failed(const std::string& path, const char* what) {
  return wrong(path, std::string(what) + ": " + std::generic_category().message(errno));
}

Result<void> is_secret(const std::string& path, int fd) {
  struct stat found{};
  if (fstat(fd, &found) != 0) return failed(path, "cannot be read");
  if (!S_ISREG(found.st_mode)) return wrong(path, "is not a file");
  if (found.st_uid != geteuid() && found.st_uid != 0)
    return wrong(path, "belongs to another user, who knows the token in it; make it your own");
  if ((found.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return wrong(path, "can be read or written by others, who would know the token in it; chmod 600 " + path);
  return {};
}

// The token in the file; none: there is no file.
Result<std::optional<std::string>> read_token(const std::string& path) {
  const OpenFile file(path, O_RDONLY | O_NONBLOCK);
  if (file.fd() < 0 && errno == ENOENT) return std::nullopt;
  if (file.fd() < 0) return failed(path, "cannot be read");
  SLUICE_TRY(is_secret(path, file.fd()));
  std::array<char, 256> bytes{};
  const ssize_t size = read(file.fd(), bytes.data(), bytes.size());
  if (size < 0) return failed(path, "cannot be read");
  std::string text(bytes.data(), static_cast<std::size_t>(size));
  text.erase(text.find_last_not_of(" \r\n") + 1);
  if (!is_token(text))
    return wrong(path, "holds no token; write one that Sluice made, or remove the file to get one");
  return text;
}

}  // namespace

Result<BootstrapToken> take_bootstrap_token(const std::string& path) {
  auto known = SLUICE_TRY(read_token(path));
  if (known) return BootstrapToken{*std::move(known), false};
  BootstrapToken token{make_token(token_entropy()), true};
  const OpenFile file(path, O_WRONLY | O_CREAT | O_EXCL);
  if (file.fd() < 0) return failed(path, "cannot be created");
  const std::string line = token.secret + '\n';
  if (write(file.fd(), line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
      fsync(file.fd()) == 0)
    return token;
  const auto problem = failed(path, "cannot be written");
  remove_bootstrap_file(path);
  return problem;
}

Result<void> check_bootstrap_file(const std::string& path) {
  SLUICE_TRY(read_token(path));
  return {};
}

void remove_bootstrap_file(const std::string& path) { unlink(path.c_str()); }

}  // namespace sluice::control
