#include "plan/log/log_file.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "base/try.h"

namespace sluice::plan {
namespace {

using Read = std::expected<std::size_t, std::string>;

constexpr std::size_t kPackedBytes = 256u << 10;
constexpr int kGzipWindowBits = 15 + 16;  // + 16: only the gzip format
constexpr std::string_view kGzipBegin = "\x1f\x8b";

std::string cannot_read(const std::string& path, int error) {
  return "cannot read " + path + ": " + std::generic_category().message(error) + ".";
}

ReadBytes read_file(std::shared_ptr<std::FILE> file, const std::string& path) {
  std::setvbuf(file.get(), nullptr, _IONBF, 0);  // reads are already large
  return [file = std::move(file), path](std::span<char> room) -> Read {
    const std::size_t got = std::fread(room.data(), 1, room.size(), file.get());
    if (got < room.size() && std::ferror(file.get())) return std::unexpected(cannot_read(path, errno));
    return got;
  };
}

// A stream that may be gzipped: the first two bytes tell.
class Unpacker {
 public:
  Unpacker(ReadBytes packed, std::string name)
      : packed_(std::move(packed)),
        name_(std::move(name)),
        input_(std::make_unique_for_overwrite<char[]>(kPackedBytes)) {}
  ~Unpacker() {
    if (is_gzip_) inflateEnd(&stream_);
  }
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;

  Read read(std::span<char> room) {
    if (!begun_) SLUICE_TRY(begin());
    if (is_gzip_) return unpack(room);
    if (left_ == 0) return packed_(room);
    const std::size_t count = std::min(left_, room.size());
    std::memcpy(room.data(), input_.get() + at_, count);
    at_ += count;
    left_ -= count;
    return count;
  }

 private:
  std::expected<void, std::string> begin() {
    while (left_ < kGzipBegin.size()) {
      const std::size_t more = SLUICE_TRY(packed_({input_.get() + left_, kPackedBytes - left_}));
      if (more == 0) break;
      left_ += more;
    }
    begun_ = true;
    is_gzip_ = std::string_view(input_.get(), left_).starts_with(kGzipBegin);
    if (is_gzip_ && inflateInit2(&stream_, kGzipWindowBits) != Z_OK) throw std::bad_alloc();
    return {};
  }

  Read unpack(std::span<char> room) {
    while (true) {
      if (left_ == 0) {
        const auto more = packed_({input_.get(), kPackedBytes});
        if (!more) return more;
        at_ = 0;
        left_ = *more;
      }
      if (left_ == 0) return member_ended_ ? Read(0) : std::unexpected(broken("ends too early"));
      if (std::exchange(member_ended_, false)) inflateReset(&stream_);
      stream_.next_in = reinterpret_cast<Bytef*>(input_.get() + at_);
      stream_.avail_in = static_cast<uInt>(left_);
      stream_.next_out = reinterpret_cast<Bytef*>(room.data());
      stream_.avail_out = static_cast<uInt>(room.size());
      const int result = inflate(&stream_, Z_NO_FLUSH);
      at_ += left_ - stream_.avail_in;
      left_ = stream_.avail_in;
      if (result != Z_OK && result != Z_STREAM_END) return std::unexpected(broken("is damaged"));
      member_ended_ = result == Z_STREAM_END;
      if (const std::size_t got = room.size() - stream_.avail_out; got > 0) return got;
    }
  }

  std::string broken(const char* how) const { return name_ + ": the gzip data " + how + "."; }

  ReadBytes packed_;
  std::string name_;
  std::unique_ptr<char[]> input_;
  std::size_t at_ = 0;  // of the input that is not consumed yet
  std::size_t left_ = 0;
  z_stream stream_ = {};
  bool begun_ = false;
  bool is_gzip_ = false;
  bool member_ended_ = false;
};

}  // namespace

ReadBytes unpacked(ReadBytes packed, const std::string& name) {
  return [unpacker = std::make_shared<Unpacker>(std::move(packed), name)](std::span<char> room) {
    return unpacker->read(room);
  };
}

std::expected<ReadBytes, std::string> open_log(const std::string& path) {
  if (path == "-") {
    const std::shared_ptr<std::FILE> input(stdin, [](std::FILE*) {});
    return unpacked(read_file(input, "standard input"), "standard input");
  }
  std::FILE* const opened = std::fopen(path.c_str(), "re");
  if (!opened) return std::unexpected(cannot_read(path, errno));
  return unpacked(read_file({opened, std::fclose}, path), path);
}

}  // namespace sluice::plan
