#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "control/principal.h"
#include "control/rights.h"
#include "policy/problems.h"

namespace sluice::control {

// What a client may do that shows a certificate with such a name.
struct Identity {
  std::string name;  // the name itself, or its beginning and a "*"
  Rights rights;
};

// Reads a list of identities, at most kIdentitiesMax. To be used only if there are no problems.
//
//   - { name: "spiffe://prod/gateway-*", roles: [check], tenants: ["shop-*"] }
//   - { name: "CN=Ops", roles: [admin] }
std::vector<Identity> parse_identities(std::string_view text, const std::string& file, Problems& problems);

// The identities in force. Thread-safe.
class IdentityBoard {
 public:
  // Who has these names, by the first identity that fits one of them.
  std::optional<Principal> find(std::span<const std::string> names) const;
  // Whether one of them can make tokens.
  bool can_administer() const;
  void replace(std::vector<Identity> identities);

 private:
  using List = std::vector<Identity>;
  mutable std::mutex mutex_;
  std::shared_ptr<const List> list_ = std::make_shared<const List>();  // guarded by mutex_
};

}  // namespace sluice::control
