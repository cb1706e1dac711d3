#pragma once

#include <memory>
#include <string>

#include "ledger/ledger.h"

namespace sluice::cli {

// Opens what --policy-db names: sqlite:FILE, postgres://…. Throws CommandError for what is wrong with the URL
// or the file; a database that only does not answer yet is none of that. Passwords are never in the message.
std::unique_ptr<ledger::Ledger> open_ledger(const std::string& url);

// The same for who only looks: creates nothing, and a ledger that is not there is an error.
std::unique_ptr<ledger::Ledger> open_ledger_to_read(const std::string& url);

}  // namespace sluice::cli
