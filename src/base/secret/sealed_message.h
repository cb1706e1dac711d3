#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/secret/hmac.h"

// Messages that only holders of one key can write and read: AES-256-GCM.
//
//   const std::string sealed = seal_message(key, "answer:42", "7 denials");
//   open_message(key, "answer:42", sealed) == "7 denials"
//   open_message(key, "answer:43", sealed) == std::nullopt
//
// `context` says what the message is. It is not part of the sealed text, but a message opens only with the
// context that it was sealed with: nobody can pass one message off as another. Thread-safe.
namespace sluice {

using MessageKey = HmacKey::Digest;
inline constexpr std::size_t kSealBytes = 28;  // by which a sealed message is longer

std::string seal_message(const MessageKey& key, std::string_view context, std::string_view message);
// Nothing: it was not sealed with this key and context, or it was changed.
std::optional<std::string> open_message(const MessageKey& key, std::string_view context,
                                        std::string_view sealed);

}  // namespace sluice
