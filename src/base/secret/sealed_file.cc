#include "base/secret/sealed_file.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/file_descriptor.h"
#include "base/text/encode.h"

namespace sluice {
namespace {

constexpr std::string_view kMagic = "sluice sealed file 1\n";
constexpr std::size_t kHexBytes = 64, kHeadBytes = kMagic.size() + kHexBytes + 1;

std::string digest(std::string_view bytes) {
  std::array<unsigned char, 32> hash;
  EVP_Digest(bytes.data(), bytes.size(), hash.data(), nullptr, EVP_sha256(), nullptr);
  return to_hex({reinterpret_cast<const char*>(hash.data()), hash.size()});
}

std::unexpected<Error> refused(const std::string& path, int error) {
  return std::unexpected(
      Error{ErrorCode::kUnavailable, path + ": " + std::generic_category().message(error), ""});
}

std::unexpected<Error> damaged(const std::string& path) {
  return std::unexpected(
      Error{ErrorCode::kFailedPrecondition, path + ": it is corrupt and is ignored; remove it", ""});
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = write(fd, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

bool sync_folder(const std::filesystem::path& folder) {
  const FileDescriptor opened(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return opened.get() >= 0 && fsync(opened.get()) == 0;
}

}  // namespace

Result<void> write_sealed_file(const std::string& path, std::string_view contents) {
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  std::error_code failed;
  if (std::filesystem::create_directories(folder, failed))
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, failed);
  if (failed) return refused(folder.string(), failed.value());
  // Each writing process has its own temporary file.
  const std::string fresh = path + "." + std::to_string(getpid()) + ".new";
  {
    unlink(fresh.c_str());
    const FileDescriptor file(
        open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (file.get() < 0) return refused(fresh, errno);
    const std::string head = std::string(kMagic) + digest(contents) + '\n';
    if (!write_all(file.get(), head) || !write_all(file.get(), contents) || fsync(file.get()) != 0) {
      const int error = errno;
      unlink(fresh.c_str());
      return refused(fresh, error);
    }
  }
  if (rename(fresh.c_str(), path.c_str()) != 0 || !sync_folder(folder)) {
    const int error = errno;
    unlink(fresh.c_str());
    return refused(path, error);
  }
  return {};
}

Result<std::string> read_sealed_file(const std::string& path, std::size_t bytes_max) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0 && errno == ENOENT)
    return std::unexpected(Error{ErrorCode::kNotFound, path + ": no such file", ""});
  struct stat info;
  if (file.get() < 0 || fstat(file.get(), &info) != 0) return refused(path, errno);
  if (!S_ISREG(info.st_mode) || info.st_size < static_cast<off_t>(kHeadBytes)) return damaged(path);
  if ((info.st_uid != geteuid() && info.st_uid != 0) || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return std::unexpected(Error{ErrorCode::kFailedPrecondition,
                                 path + ": other users can write it, so it is ignored; remove it", ""});
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size > bytes_max) return refused(path, EFBIG);
  std::string bytes(size, '\0');
  for (std::size_t got = 0; got < size;) {
    const ssize_t more = read(file.get(), bytes.data() + got, size - got);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return refused(path, errno);
    if (more == 0) return damaged(path);
    got += static_cast<std::size_t>(more);
  }
  const std::string_view all = bytes;
  if (!all.starts_with(kMagic) || all[kHeadBytes - 1] != '\n' ||
      all.substr(kMagic.size(), kHexBytes) != digest(all.substr(kHeadBytes)))
    return damaged(path);
  bytes.erase(0, kHeadBytes);
  return bytes;
}

void append_field(std::string& contents, std::string_view field) {
  for (int shift = 56; shift >= 0; shift -= 8)
    contents.push_back(static_cast<char>(static_cast<std::uint64_t>(field.size()) >> shift));
  contents.append(field);
}

std::optional<std::string_view> FieldReader::next() {
  constexpr std::size_t kLength = 8;
  if (rest_.size() < kLength) return std::nullopt;
  std::uint64_t size = 0;
  for (std::size_t i = 0; i < kLength; ++i) size = size << 8 | static_cast<unsigned char>(rest_[i]);
  if (size > rest_.size() - kLength) return std::nullopt;
  const std::string_view field = rest_.substr(kLength, size);
  rest_.remove_prefix(kLength + size);
  return field;
}

std::string StrictFieldReader::text() {
  const auto field = ok_ ? fields_.next() : std::nullopt;
  ok_ &= field.has_value();
  return std::string(field.value_or(""));
}

std::int64_t StrictFieldReader::number() {
  const std::string digits = text();
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  ok_ &= error == std::errc() && end == digits.data() + digits.size();
  return value;
}

std::string short_digest(std::string_view text) { return digest(text).substr(0, 16); }

}  // namespace sluice
