#pragma once

#include <string>
#include <vector>

#include "net/openssl_ptr.h"

// What TLS reads from files: certificates and keys in PEM form. Only for files that talk to OpenSSL
// themselves. Functions that return a bool or a pointer say in `why`, in one sentence, which file is bad and
// how.
namespace sluice::net {

// A file and what is in it.
struct PemFile {
  std::string path;
  std::string text;
};

// A certificate (first in its file, followed by those that lead to somebody whom the peer trusts) and its
// key.
struct PemIdentity {
  const PemFile& certificate;
  const PemFile& key;
};

// Fills in the text. An empty path is an empty text.
bool read_pem(PemFile& file, std::string& why);

// All certificates of a file, whatever else is in it; at least one.
bool read_certificates(const PemFile& file, std::vector<X509Ptr>& found, std::string& why);

// Peers signed by these are trusted.
bool trust(SSL_CTX* context, const PemFile& authorities, std::string& why);

// What we show to peers.
bool show_identity(SSL_CTX* context, const PemIdentity& identity, std::string& why);

}  // namespace sluice::net
