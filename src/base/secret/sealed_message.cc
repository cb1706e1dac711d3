#include "base/secret/sealed_message.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <memory>
#include <new>

namespace sluice {
namespace {

// A sealed message: nonce, encrypted text, tag.
constexpr int kNonceBytes = 12, kTagBytes = 16;
static_assert(kNonceBytes + kTagBytes == kSealBytes);

struct FreeCipher {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Cipher = std::unique_ptr<EVP_CIPHER_CTX, FreeCipher>;

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

// The only possible failures here are lack of memory, and of random numbers.
void must_seal(int succeeded) {
  if (succeeded != 1) throw std::bad_alloc();
}

}  // namespace

std::string seal_message(const MessageKey& key, std::string_view context, std::string_view message) {
  std::string sealed(message.size() + kSealBytes, '\0');
  unsigned char* const out = bytes_of(sealed);
  must_seal(RAND_bytes(out, kNonceBytes));
  const Cipher cipher(EVP_CIPHER_CTX_new());
  must_seal(cipher != nullptr);
  int written = 0;
  must_seal(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), out));
  must_seal(EVP_EncryptUpdate(cipher.get(), nullptr, &written, bytes_of(context),
                              static_cast<int>(context.size())));
  must_seal(EVP_EncryptUpdate(cipher.get(), out + kNonceBytes, &written, bytes_of(message),
                              static_cast<int>(message.size())));
  must_seal(EVP_EncryptFinal_ex(cipher.get(), out + kNonceBytes + message.size(), &written));
  must_seal(
      EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, kTagBytes, out + kNonceBytes + message.size()));
  return sealed;
}

std::optional<std::string> open_message(const MessageKey& key, std::string_view context,
                                        std::string_view sealed) {
  if (sealed.size() < kSealBytes) return std::nullopt;
  const std::string_view text = sealed.substr(kNonceBytes, sealed.size() - kSealBytes);
  std::string tag(sealed.substr(sealed.size() - kTagBytes));
  std::string message(text.size() + 1, '\0');  // never empty, so that there is a place to write to
  const Cipher cipher(EVP_CIPHER_CTX_new());
  must_seal(cipher != nullptr);
  int written = 0;
  must_seal(EVP_DecryptInit_ex(cipher.get(), EVP_aes_256_gcm(), nullptr, key.data(), bytes_of(sealed)));
  must_seal(EVP_DecryptUpdate(cipher.get(), nullptr, &written, bytes_of(context),
                              static_cast<int>(context.size())));
  must_seal(EVP_DecryptUpdate(cipher.get(), bytes_of(message), &written, bytes_of(text),
                              static_cast<int>(text.size())));
  must_seal(EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, kTagBytes, tag.data()));
  if (EVP_DecryptFinal_ex(cipher.get(), bytes_of(message) + text.size(), &written) != 1) return std::nullopt;
  message.pop_back();
  return message;
}

}  // namespace sluice
