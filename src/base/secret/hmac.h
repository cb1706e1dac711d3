#pragma once

#include <array>
#include <memory>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace sluice {

// HMAC-SHA-256 with one key. Immutable; thread-safe.
//
// Without the key, the input cannot be found by trying all possible inputs, as it could with a plain hash of
// an address.
class HmacKey {
 public:
  static constexpr std::size_t kBytes = 32;
  using Digest = std::array<unsigned char, kBytes>;

  explicit HmacKey(std::string_view key);
  ~HmacKey();
  HmacKey(const HmacKey&) = delete;
  HmacKey& operator=(const HmacKey&) = delete;

  Digest operator()(std::string_view bytes) const;

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  using Context = std::unique_ptr<evp_md_ctx_st, Free>;

  // Both hashes with their part of the key already absorbed, so that a message costs only its own length.
  Context inner_, outer_;
};

}  // namespace sluice
