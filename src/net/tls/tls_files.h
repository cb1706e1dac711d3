#pragma once

#include <string>
#include <vector>

#include "net/tls/openssl_ptr.h"

// Reads certificates and keys in PEM form. Only for files that call OpenSSL directly. Functions that return a
// bool or a pointer describe a failure in `why`: one sentence with the file and the problem.
namespace sluice::net {

// A file and its contents.
struct PemFile {
  std::string path;
  std::string text;
};

// A certificate (first in its file, followed by the chain up to a CA that the peer trusts) and its key.
struct PemIdentity {
  const PemFile& certificate;
  const PemFile& key;
};

// Reads the text. An empty path gives an empty text.
bool read_pem(PemFile& file, std::string& why);

// All certificates of a file, ignoring everything else in it; at least one.
bool read_certificates(const PemFile& file, std::vector<X509Ptr>& found, std::string& why);

// Trusts peers whose certificates are signed by these.
bool trust(SSL_CTX* context, const PemFile& authorities, std::string& why);

// Sets the certificate that we present to peers.
bool show_identity(SSL_CTX* context, const PemIdentity& identity, std::string& why);

}  // namespace sluice::net
