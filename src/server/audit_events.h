#pragma once

#include <cstdint>
#include <string>

#include "doors/access/reset_report.h"
#include "ledger/record.h"
#include "server/cells/cells.h"

// Events on a node that change no document, as changes for the audit log.
namespace sluice::server {

ledger::Change reset_event(const doors::ResetReport& report, std::int64_t now_us);

// A tenant has moved to another store. Recorded because the store decides what the tenant may use next.
ledger::Change move_event(const Relocation& moved, std::int64_t now_us);

// The policy database refused a change. The event waits in the outbox; writing it ends the problem as soon as
// the database accepts changes again.
ledger::Change refusal_event(const std::string& why, std::int64_t now_us);

}  // namespace sluice::server
