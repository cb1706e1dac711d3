#include "net/tls/client_hello.h"

#include <cstddef>

#include "base/limits/connection_limits.h"

namespace sluice::net {
namespace {

constexpr std::size_t kRecordHeaderBytes = 5;   // type, version, length
constexpr std::size_t kMessageHeaderBytes = 4;  // type, length
constexpr std::size_t kClearRecordBytesMax = 16u << 10;
// Headers of the records, if a ClientHello comes in several. Clients send one or two.
constexpr std::size_t kRecordHeadersBytesMax = 1024;
constexpr unsigned kHandshakeRecord = 22, kMajorVersion = 3, kClientHelloMessage = 1;

// A number of up to three bytes.
std::size_t number(std::string_view bytes) {
  std::size_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

}  // namespace

ClientHello look_at_client_hello(std::string_view bytes) {
  const bool is_long = bytes.size() > kMessageHeaderBytes + kClientHelloBytesMax + kRecordHeadersBytesMax;
  char header[kMessageHeaderBytes];
  std::size_t seen = 0;  // of the message
  while (bytes.size() >= kRecordHeaderBytes) {
    const std::size_t size = number(bytes.substr(3, 2));
    if (number(bytes.substr(0, 1)) != kHandshakeRecord || number(bytes.substr(1, 1)) != kMajorVersion ||
        size == 0 || size > kClearRecordBytesMax)
      return ClientHello::kWhole;
    bytes.remove_prefix(kRecordHeaderBytes);
    const std::string_view part = bytes.substr(0, size);
    if (seen < kMessageHeaderBytes) part.copy(header + seen, kMessageHeaderBytes - seen);
    seen += part.size();
    if (seen >= kMessageHeaderBytes) {
      const std::size_t claimed = number({header + 1, 3});
      if (number({header, 1}) != kClientHelloMessage) return ClientHello::kWhole;
      if (claimed > kClientHelloBytesMax) return ClientHello::kTooLong;
      if (seen >= kMessageHeaderBytes + claimed) return ClientHello::kWhole;
    }
    bytes.remove_prefix(part.size());
    if (part.size() < size) break;
  }
  return is_long ? ClientHello::kTooLong : ClientHello::kPartial;
}

}  // namespace sluice::net
