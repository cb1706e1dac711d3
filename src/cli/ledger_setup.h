#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/store_setup.h"
#include "ledger/ledger.h"

namespace sluice::cli {

// Opens what --policy-db names: sqlite:FILE, postgres://…, redis://… and what else --store takes, or redis,
// which stands for the Redis of --store. `store` is that; its prefix goes before every key in Redis. `log`
// takes sentences about how the database is set up. Throws CommandError for what is wrong with the URL or the
// file; a database that only does not answer yet is none of that. Passwords are never in the message.
std::unique_ptr<ledger::Ledger> open_ledger(
    const std::string& url, const StoreSettings& store,
    const std::function<void(bool is_problem, const std::string& sentence)>& log);

// The same for who only looks: creates nothing, and a ledger that is not there is an error.
std::unique_ptr<ledger::Ledger> open_ledger_to_read(const std::string& url, const std::string& key_prefix);

// Whether policies would lie elsewhere if `before` became `after`: they stay where they are until a restart.
bool moves_policies(const std::string& url, const StoreSettings& before, const StoreSettings& after);

}  // namespace sluice::cli
