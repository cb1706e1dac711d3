#pragma once

#include <cstddef>

// Bounds on the certificates of clients, beside those in base/limits.h.
namespace sluice {

inline constexpr std::size_t kCertificateChainBytesMax = 32u << 10;  // sent in a handshake
inline constexpr std::size_t kCertificateNamesMax = 64;              // that we read from one certificate
inline constexpr std::size_t kCertificateNameBytesMax = 240;  // so that "certificate NAME" can be an actor
inline constexpr std::size_t kIdentitiesMax = 1000;           // entries of the file of --identities

}  // namespace sluice
