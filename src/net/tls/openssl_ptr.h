#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>

// Smart pointers for OpenSSL objects. Only for files that call OpenSSL directly.
namespace sluice::net {

template <auto kFree>
struct OpensslFree {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};

using BioPtr = std::unique_ptr<BIO, OpensslFree<BIO_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslFree<EVP_PKEY_free>>;
using SslContextPtr = std::unique_ptr<SSL_CTX, OpensslFree<SSL_CTX_free>>;
using X509Ptr = std::unique_ptr<X509, OpensslFree<X509_free>>;

}  // namespace sluice::net
