#include "net/http/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <new>

namespace sluice::net {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // + 16: the gzip format and no other
constexpr std::size_t kStepBytes = 16u << 10;

void set_input(z_stream& stream, std::string_view input) {
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data()));
  stream.avail_in = static_cast<uInt>(input.size());
}

}  // namespace

Gzip::Gzip() = default;

Gzip::~Gzip() {
  if (inflate_) inflateEnd(inflate_.get());
  if (deflate_) deflateEnd(deflate_.get());
}

Gzip::Outcome Gzip::unpack(std::string_view packed, std::size_t bytes_max, std::string& out) {
  if (!inflate_) {
    auto fresh = std::make_unique<z_stream>();
    if (inflateInit2(fresh.get(), kGzipWindowBits) != Z_OK) throw std::bad_alloc();
    inflate_ = std::move(fresh);
  } else {
    inflateReset(inflate_.get());
  }
  set_input(*inflate_, packed);
  const std::size_t begin = out.size();
  while (true) {
    const std::size_t used = out.size();
    // One byte beyond the limit distinguishes "exactly full" from "too large".
    const std::size_t room = std::min(kStepBytes, bytes_max + 1 - (used - begin));
    out.resize(used + room);
    inflate_->next_out = reinterpret_cast<Bytef*>(out.data() + used);
    inflate_->avail_out = static_cast<uInt>(room);
    const int result = inflate(inflate_.get(), Z_NO_FLUSH);
    out.resize(used + room - inflate_->avail_out);
    if (out.size() - begin > bytes_max) return Outcome::kTooLarge;
    if (result == Z_STREAM_END) return inflate_->avail_in == 0 ? Outcome::kOk : Outcome::kMalformed;
    if (result != Z_OK || (inflate_->avail_in == 0 && inflate_->avail_out != 0)) return Outcome::kMalformed;
  }
}

void Gzip::pack(std::string_view plain, std::string& out) {
  if (!deflate_) {
    auto fresh = std::make_unique<z_stream>();
    if (deflateInit2(fresh.get(), Z_BEST_SPEED, Z_DEFLATED, kGzipWindowBits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
      throw std::bad_alloc();
    deflate_ = std::move(fresh);
  } else {
    deflateReset(deflate_.get());
  }
  set_input(*deflate_, plain);
  const std::size_t begin = out.size();
  out.resize(begin + deflateBound(deflate_.get(), static_cast<uLong>(plain.size())));
  deflate_->next_out = reinterpret_cast<Bytef*>(out.data() + begin);
  deflate_->avail_out = static_cast<uInt>(out.size() - begin);
  deflate(deflate_.get(), Z_FINISH);
  out.resize(out.size() - deflate_->avail_out);
}

}  // namespace sluice::net
