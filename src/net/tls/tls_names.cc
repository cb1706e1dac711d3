#include "net/tls/tls_names.h"

#include <openssl/x509v3.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/limits/certificate_limits.h"
#include "base/text/utf8.h"

namespace sluice::net {
namespace {

using GeneralNamesPtr = std::unique_ptr<GENERAL_NAMES, OpensslFree<GENERAL_NAMES_free>>;

std::string_view text_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

bool is_letter_or_digit(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool all_of(std::string_view text, std::string_view also) {
  return !text.empty() && std::ranges::all_of(text, [also](char c) {
    return is_letter_or_digit(c) || also.find(c) != std::string_view::npos;
  });
}

bool is_visible_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; });
}

bool is_uri(std::string_view text) {
  const std::size_t colon = text.find(':');
  return colon != std::string_view::npos && colon + 1 < text.size() && is_visible_ascii(text) &&
         std::isalpha(static_cast<unsigned char>(text[0])) && all_of(text.substr(0, colon), "+-.");
}

bool is_host(std::string_view text) { return all_of(text, "-._*"); }

bool is_email(std::string_view text) {
  const std::size_t at = text.find('@');
  return at != std::string_view::npos && all_of(text.substr(0, at), "!#$%&'*+-/?^_`{|}~.") &&
         is_host(text.substr(at + 1));
}

bool is_clean_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0 || std::iscntrl(static_cast<unsigned char>(text[0]))) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// The last one of the subject, which is the most specific.
std::string common_name(const X509* certificate) {
  const X509_NAME* const subject = X509_get_subject_name(certificate);
  int at = -1;
  for (int next = -1; (next = X509_NAME_get_index_by_NID(subject, NID_commonName, next)) >= 0;) at = next;
  if (at < 0) return "";
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  if (size <= 0) return "";
  std::string text(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  return is_clean_utf8(text) ? "CN=" + text : "";
}

}  // namespace

std::vector<std::string> names_in(X509* certificate) {
  std::vector<std::string> names;
  const auto add = [&names](std::string name) {
    if (!name.empty() && name.size() <= kCertificateNameBytesMax && names.size() < kCertificateNamesMax)
      names.push_back(std::move(name));
  };
  const GeneralNamesPtr found(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  const int count = found ? sk_GENERAL_NAME_num(found.get()) : 0;
  for (const int kind : {GEN_URI, GEN_DNS, GEN_EMAIL}) {
    for (int i = 0; i < count; ++i) {
      const GENERAL_NAME* const name = sk_GENERAL_NAME_value(found.get(), i);
      if (name->type != kind) continue;
      const std::string_view text = text_of(name->d.ia5);
      if (kind == GEN_URI && is_uri(text)) add(std::string(text));
      if (kind == GEN_DNS && is_host(text)) add(lower(text));
      if (kind == GEN_EMAIL && is_email(text)) add(std::string(text));
    }
  }
  add(common_name(certificate));
  return names;
}

}  // namespace sluice::net
