#include "base/secret/hmac.h"

#include <openssl/evp.h>

#include <algorithm>
#include <new>

namespace sluice {
namespace {

constexpr std::size_t kBlockBytes = 64;  // of SHA-256

// The only possible failure here is lack of memory.
void must(int succeeded) {
  if (succeeded != 1) throw std::bad_alloc();
}

std::array<unsigned char, kBlockBytes> block_of(std::string_view key) {
  std::array<unsigned char, kBlockBytes> block{};
  if (key.size() > kBlockBytes)
    must(EVP_Digest(key.data(), key.size(), block.data(), nullptr, EVP_sha256(), nullptr));
  else
    std::ranges::copy(key, block.begin());
  return block;
}

}  // namespace

void HmacKey::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

HmacKey::HmacKey(std::string_view key) {
  const auto begin = [block = block_of(key)](unsigned char pad) {
    Context context(EVP_MD_CTX_new());
    auto padded = block;
    for (unsigned char& byte : padded) byte ^= pad;
    must(context != nullptr);
    must(EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr));
    must(EVP_DigestUpdate(context.get(), padded.data(), padded.size()));
    return context;
  };
  inner_ = begin(0x36);
  outer_ = begin(0x5c);
}

HmacKey::~HmacKey() = default;

HmacKey::Digest HmacKey::operator()(std::string_view bytes) const {
  thread_local const Context scratch(EVP_MD_CTX_new());
  must(scratch != nullptr);
  Digest digest;
  const auto finish = [&](const Context& begun, const void* data, std::size_t size) {
    must(EVP_MD_CTX_copy_ex(scratch.get(), begun.get()));
    must(EVP_DigestUpdate(scratch.get(), data, size));
    must(EVP_DigestFinal_ex(scratch.get(), digest.data(), nullptr));
  };
  finish(inner_, bytes.data(), bytes.size());
  finish(outer_, digest.data(), digest.size());
  return digest;
}

}  // namespace sluice
