#include "base/log/log_event.h"

#include <array>

namespace sluice {
namespace {

struct EventRow {
  LogEvent event;
  std::string_view name;
  LogLevel level;
};

using enum LogEvent;
using enum LogLevel;

// Advice about a configuration is a warning at most: nothing has failed.
constexpr EventRow kEventRows[] = {
    {kNodeStarted, "node.started", kInfo},
    {kNodeStopping, "node.stopping", kInfo},
    {kNodeStopped, "node.stopped", kInfo},
    {kNodeStopForced, "node.stop_forced", kWarning},
    {kNodeOutOfMemory, "node.out_of_memory", kError},
    {kSettingsTaken, "settings.taken", kInfo},
    {kSettingsRefused, "settings.refused", kError},
    {kSettingsNeedRestart, "settings.need_restart", kWarning},
    {kConnectionsProblem, "connections.problem", kWarning},
    {kTlsCertificateLoaded, "tls.certificate_loaded", kInfo},
    {kTlsCertificateRefused, "tls.certificate_refused", kError},
    {kTlsHandshakeFailed, "tls.handshake_failed", kWarning},
    {kIdentitiesRefused, "identities.refused", kError},
    {kKeySecretsReadable, "key_secrets.readable", kWarning},
    {kPoliciesLoaded, "policies.loaded", kInfo},
    {kPoliciesChanged, "policies.changed", kInfo},
    {kPoliciesRefused, "policies.refused", kError},
    {kPoliciesWarning, "policies.warning", kWarning},
    {kPoliciesFilesIgnored, "policies.files_ignored", kInfo},
    {kPoliciesLeftOut, "policies.left_out", kError},
    {kPoliciesNone, "policies.none", kWarning},
    {kPoliciesCopyUsed, "policies.copy_used", kError},
    {kPoliciesCopyFailed, "policies.copy_failed", kError},
    {kDatabaseReached, "database.reached", kInfo},
    {kDatabaseFailed, "database.failed", kError},
    {kDatabaseRefusedDocument, "database.refused_document", kError},
    {kDatabaseCopyUsed, "database.copy_used", kError},
    {kDatabaseCopyFailed, "database.copy_failed", kError},
    {kDatabaseAdvice, "database.advice", kWarning},
    {kAuditPruned, "audit.pruned", kInfo},
    {kAuditDelayed, "audit.delayed", kError},
    {kAuditDropped, "audit.dropped", kError},
    {kAuditNotSaved, "audit.not_saved", kError},
    {kSwitchOpened, "switch.opened", kWarning},
    {kSwitchClosed, "switch.closed", kInfo},
    {kSwitchLate, "switch.late", kWarning},
    {kRolloutStep, "rollout.step", kInfo},
    {kRolloutStuck, "rollout.stuck", kError},
    {kFirstTokenWritten, "first_token.written", kInfo},
    {kFirstTokenFailed, "first_token.failed", kError},
    {kCountersReset, "counters.reset", kInfo},
    {kStoreMoved, "store.moved", kInfo},
    {kStoreUnreached, "store.unreached", kError},
    {kStoreFull, "store.full", kWarning},
    {kRedisFailed, "redis.failed", kError},
    {kRedisRecovered, "redis.recovered", kInfo},
    {kRedisLate, "redis.late", kWarning},
    {kRedisOverloaded, "redis.overloaded", kWarning},
    {kRedisFull, "redis.full", kWarning},
    {kRedisClock, "redis.clock", kWarning},
    {kRedisTenantMoving, "redis.tenant_moving", kWarning},
    {kRedisSlotMoving, "redis.slot_moving", kWarning},
    {kRedisAdvice, "redis.advice", kWarning},
    {kCellsMoved, "cells.moved", kInfo},
    {kCellsStuck, "cells.stuck", kWarning},
    {kCellsAdvice, "cells.advice", kWarning},
    {kCellsNotSaved, "cells.not_saved", kError},
    {kTracesFailed, "traces.failed", kWarning},
    {kTracesRecovered, "traces.recovered", kInfo},
    {kUsageEventsFailed, "usage_events.failed", kWarning},
    {kUsageEventsRecovered, "usage_events.recovered", kInfo},
    {kUsageEventsLost, "usage_events.lost", kWarning},
    {kDecisionAllowed, "decision.allowed", kDebug},
    {kDecisionDenied, "decision.denied", kDebug},
    {kDecisionNearLimit, "decision.near_limit", kWarning},
    {kDecisionDegraded, "decision.degraded", kWarning},
};

constexpr bool is_in_order() {
  std::size_t at = 0;
  for (const EventRow& row : kEventRows)
    if (static_cast<std::size_t>(row.event) != at++) return false;
  return at == kLogEvents;
}
static_assert(is_in_order(), "one row per event, in the order of the enum");

constexpr std::array<std::string_view, 4> kLevelNames = {"debug", "info", "warning", "error"};

}  // namespace

std::string_view to_string(LogLevel level) { return kLevelNames[static_cast<std::size_t>(level)]; }

std::optional<LogLevel> log_level_from(std::string_view text) {
  for (std::size_t i = 0; i < kLevelNames.size(); ++i)
    if (kLevelNames[i] == text) return static_cast<LogLevel>(i);
  return std::nullopt;
}

std::string_view name_of(LogEvent event) { return kEventRows[static_cast<std::size_t>(event)].name; }
LogLevel level_of(LogEvent event) { return kEventRows[static_cast<std::size_t>(event)].level; }

}  // namespace sluice
