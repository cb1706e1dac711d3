#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/log/log_event.h"
#include "ledger/ledger.h"
#include "server/setup/store_setup.h"

namespace sluice::server {

// Opens what --policy-db names: sqlite:FILE, postgres://…, redis://… and anything else that --store takes, or
// redis, which means the Redis of --store. `store` is the latter; its prefix precedes every key in Redis.
// `log` receives sentences about the setup of the database. Throws CommandError if the URL or the file is
// wrong, but not if the database merely does not answer yet. Passwords are never in the message.
std::unique_ptr<ledger::Ledger> open_ledger(const std::string& url, const StoreSettings& store,
                                            const EventLog& log);

// Opens it read-only: creates nothing, and a ledger that does not exist is an error.
std::unique_ptr<ledger::Ledger> open_ledger_to_read(const std::string& url, const std::string& key_prefix);

// Which ledger this is, for files that belong to it: a relative path means another file in another folder.
std::string ledger_identity(const std::string& url, const ledger::Ledger& ledger,
                            const std::string& key_prefix);

// Whether policies would lie elsewhere if `before` became `after`: they stay where they are until a restart.
bool moves_policies(const std::string& url, const StoreSettings& before, const StoreSettings& after);

}  // namespace sluice::server
