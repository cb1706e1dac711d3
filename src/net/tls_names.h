#pragma once

#include <string>
#include <vector>

#include "net/openssl_ptr.h"

namespace sluice::net {

// Whom a certificate is for, most telling first: its URIs ("spiffe://prod/gateway"), host names
// ("gateway.prod", in lower case), e-mail addresses, and the common name of its subject ("CN=Gateway").
//
// No name of one kind can pass for one of another: a URI has a colon after its scheme, an e-mail address an
// "@" and no colon, a host name neither, and none of them begins with "CN=". What is not so, what is longer
// than kCertificateNameBytesMax, and what has control characters in it is left out; so is what comes after
// the first kCertificateNamesMax.
std::vector<std::string> names_in(X509* certificate);

}  // namespace sluice::net
