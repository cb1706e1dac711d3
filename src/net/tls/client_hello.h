#pragma once

#include <cstdint>
#include <string_view>

namespace sluice::net {

enum class ClientHello : std::uint8_t {
  kPartial,  // more bytes are needed
  kWhole,    // or no ClientHello at all: OpenSSL knows what to answer
  kTooLong,  // more than kClientHelloBytesMax, or says that it will be
};

// Looks at the first bytes that a TLS client has sent, in any number of records and pieces.
//
// OpenSSL reserves about 70 KiB for the first byte of a client, and the memory for a whole ClientHello (up to
// 128 KiB) as soon as its length is known. A connection that has not sent a whole one costs only its bytes.
ClientHello look_at_client_hello(std::string_view bytes);

}  // namespace sluice::net
