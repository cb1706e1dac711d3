#pragma once

#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;

namespace sluice::net {

// Packs and unpacks gzip with streams that are kept for the next call. Not thread-safe.
class Gzip {
 public:
  enum class Outcome { kOk, kMalformed, kTooLarge };

  Gzip();
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  // Appends what `packed` unpacks to. Stops as soon as that exceeds `bytes_max`, so that a small bomb stays
  // small.
  Outcome unpack(std::string_view packed, std::size_t bytes_max, std::string& out);
  void pack(std::string_view plain, std::string& out);

 private:
  std::unique_ptr<z_stream_s> inflate_;
  std::unique_ptr<z_stream_s> deflate_;
};

}  // namespace sluice::net
