#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/published.h"
#include "control/access/principal.h"
#include "control/access/rights.h"
#include "document/problems.h"

namespace sluice::control {

// What a client with a certificate of this name may do.
struct Identity {
  std::string name;  // the name itself, or a prefix followed by "*"
  Rights rights;
};

// Reads a list of identities, at most kIdentitiesMax. Use the result only if there are no problems.
//
//   - { name: "spiffe://prod/gateway-*", roles: [check], tenants: ["shop-*"] }
//   - { name: "CN=Ops", roles: [admin] }
std::vector<Identity> parse_identities(std::string_view text, const std::string& file, Problems& problems);

// A list of identities that does not change. Thread-safe.
class Identities {
 public:
  Identities() = default;
  explicit Identities(std::vector<Identity> list) : list_(std::move(list)) {}
  // The principal for these names, from the first identity that matches one of them.
  std::optional<Principal> find(std::span<const std::string> names) const;
  // Whether one of the identities can create tokens.
  bool can_administer() const;

 private:
  std::vector<Identity> list_;
};

// The identities in force. Thread-safe.
class IdentityRegistry {
 public:
  const Published<Identities>& published() const { return published_; }
  void replace(std::vector<Identity> identities) {
    published_.publish(std::make_shared<const Identities>(std::move(identities)));
  }

 private:
  Published<Identities> published_{std::make_shared<const Identities>()};
};

}  // namespace sluice::control
