#pragma once

#include <string>
#include <vector>

#include "net/tls/openssl_ptr.h"

namespace sluice::net {

// The names in a certificate, most specific first: its URIs ("spiffe://prod/gateway"), host names
// ("gateway.prod", in lower case), e-mail addresses, and the common name of its subject ("CN=Gateway").
//
// No name of one kind can pass for one of another: a URI has a colon after its scheme, an e-mail address has
// an "@" and no colon, a host name has neither, and none of them begins with "CN=". Names that break this
// rule, are longer than kCertificateNameBytesMax, or contain control characters are left out, and so are
// names after the first kCertificateNamesMax.
std::vector<std::string> names_in(X509* certificate);

}  // namespace sluice::net
