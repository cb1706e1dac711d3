#pragma once

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "net/tls/openssl_ptr.h"

namespace sluice::net {

// A temporary directory for tests, removed by the destructor. Not thread-safe.
class TestDirectory {
 public:
  TestDirectory() {
    char name[] = "/tmp/sluice-test-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~TestDirectory() { std::filesystem::remove_all(path_); }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  // Returns the path.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + "/" + name) << text;
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

// A certificate authority for tests; generated each time and trusted by nothing else. Not thread-safe.
class TestAuthority {
 public:
  // As PEM.
  struct Identity {
    std::string certificate;
    std::string key;
  };
  // Seconds from now.
  struct Validity {
    long from = -3600;
    long to = 3600;
  };

  explicit TestAuthority(const std::string& name = "Test authority") {
    key_.reset(EVP_EC_gen("P-256"));
    certificate_ = make(name, *key_, {});
    add(*certificate_, NID_basic_constraints, "critical,CA:TRUE");
    add(*certificate_, NID_subject_key_identifier, "hash");
    X509_sign(certificate_.get(), key_.get(), EVP_sha256());
  }

  std::string certificate() const { return pem(*certificate_); }

  // `names`: for example "DNS:localhost,IP:127.0.0.1".
  Identity issue(const std::string& names, Validity validity,
                 const std::string& common_name = "somebody") const {
    const KeyPtr key(EVP_EC_gen("P-256"));
    const X509Ptr made = make(common_name, *key, validity);
    add(*made, NID_subject_alt_name, names.c_str());
    X509_sign(made.get(), key_.get(), EVP_sha256());
    return {pem(*made), pem(*key, nullptr)};
  }
  Identity issue(const std::string& names) const { return issue(names, {}); }

  // The same key, encrypted with a passphrase.
  static std::string with_passphrase(const std::string& key_pem, const std::string& passphrase) {
    const BioPtr bio(BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())));
    const KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
    return pem(*key, passphrase.c_str());
  }

 private:
  X509Ptr make(const std::string& name, EVP_PKEY& key, Validity validity) const {
    static long serial = 0;
    X509Ptr made(X509_new());
    X509_set_version(made.get(), X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), validity.from);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), validity.to);
    X509_set_pubkey(made.get(), &key);
    X509_NAME* const subject = X509_get_subject_name(made.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(made.get(), certificate_ ? X509_get_subject_name(certificate_.get()) : subject);
    return made;
  }

  void add(X509& to, int what, const char* value) const {
    X509V3_CTX context;
    X509V3_set_ctx(&context, certificate_.get(), &to, nullptr, nullptr, 0);
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, what, value);
    ASSERT_NE(extension, nullptr) << value;
    X509_add_ext(&to, extension, -1);
    X509_EXTENSION_free(extension);
  }

  static std::string text_of(BIO& bio) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(&bio, &data);
    return {data, static_cast<std::size_t>(size)};
  }
  static std::string pem(X509& certificate) {
    const BioPtr bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_X509(bio.get(), &certificate);
    return text_of(*bio);
  }
  static std::string pem(EVP_PKEY& key, const char* passphrase) {
    const BioPtr bio(BIO_new(BIO_s_mem()));
    PEM_write_bio_PKCS8PrivateKey(
        bio.get(), &key, passphrase == nullptr ? nullptr : EVP_aes_256_cbc(), passphrase,
        passphrase == nullptr ? 0 : static_cast<int>(std::string(passphrase).size()), nullptr, nullptr);
    return text_of(*bio);
  }

  KeyPtr key_;
  X509Ptr certificate_;
};

}  // namespace sluice::net
