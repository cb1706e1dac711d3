#pragma once

#include <memory>
#include <string>
#include <string_view>

struct z_stream_s;

namespace sluice::net {

// Compresses and decompresses gzip with streams that are reused by the next call. Not thread-safe.
class Gzip {
 public:
  enum class Outcome { kOk, kMalformed, kTooLarge };

  Gzip();
  ~Gzip();
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  // Decompresses `packed` and appends the result. Stops as soon as the result exceeds `bytes_max`, so that a
  // zip bomb stays small.
  Outcome unpack(std::string_view packed, std::size_t bytes_max, std::string& out);
  void pack(std::string_view plain, std::string& out);

 private:
  std::unique_ptr<z_stream_s> inflate_;
  std::unique_ptr<z_stream_s> deflate_;
};

}  // namespace sluice::net
