#pragma once

#include <cstdint>
#include <string>

#include "cli/cells.h"
#include "doors/reset_report.h"
#include "ledger/record.h"

// What happens on a node and leaves no document, as changes for the audit log.
namespace sluice::cli {

ledger::Change reset_event(const doors::ResetReport& report, std::int64_t now_us);

// Where a tenant is counted decides what it may do next.
ledger::Change move_event(const Relocation& moved, std::int64_t now_us);

// The policy database refused a change. Waits in the outbox, and so ends the trouble as soon as the database
// takes changes again.
ledger::Change refusal_event(const std::string& why, std::int64_t now_us);

}  // namespace sluice::cli
