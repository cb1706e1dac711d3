#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

// What a line of the log is about. A part says what has happened, the table of events says how serious that
// is, and telemetry/log decides what becomes of the line. So parts that know nothing of the log can write to
// it, and a line has the same level wherever it comes from.
//
//   log(LogEvent::kPoliciesLoaded, "loaded 3 policies from 1 file", {{"policies", 3}});
namespace sluice {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

std::string_view to_string(LogLevel level);  // "debug", "info", "warning", "error"
std::optional<LogLevel> log_level_from(std::string_view text);

// All events. Their names and levels are in log_event.cc and in docs/logs.md; a test compares the two. Names
// are stable: alerts look for them.
enum class LogEvent : std::uint8_t {
  kNodeStarted,
  kNodeStopping,
  kNodeStopped,
  kNodeStopForced,
  kNodeOutOfMemory,
  kSettingsTaken,
  kSettingsRefused,
  kSettingsNeedRestart,
  kConnectionsProblem,
  kTlsCertificateLoaded,
  kTlsCertificateRefused,
  kTlsHandshakeFailed,
  kIdentitiesRefused,
  kKeySecretsReadable,
  kPoliciesLoaded,
  kPoliciesChanged,
  kPoliciesRefused,
  kPoliciesWarning,
  kPoliciesFilesIgnored,
  kPoliciesLeftOut,
  kPoliciesNone,
  kPoliciesCopyUsed,
  kPoliciesCopyFailed,
  kDatabaseReached,
  kDatabaseFailed,
  kDatabaseRefusedDocument,
  kDatabaseCopyUsed,
  kDatabaseCopyFailed,
  kDatabaseAdvice,
  kAuditPruned,
  kAuditDelayed,
  kAuditDropped,
  kAuditNotSaved,
  kSwitchOpened,
  kSwitchClosed,
  kSwitchLate,
  kRolloutStep,
  kRolloutStuck,
  kFirstTokenWritten,
  kFirstTokenFailed,
  kCountersReset,
  kStoreMoved,
  kStoreUnreached,
  kStoreFull,
  kRedisFailed,
  kRedisRecovered,
  kRedisLate,
  kRedisOverloaded,
  kRedisFull,
  kRedisClock,
  kRedisTenantMoving,
  kRedisSlotMoving,
  kRedisAdvice,
  kCellsMoved,
  kCellsStuck,
  kCellsAdvice,
  kCellsNotSaved,
  kTracesFailed,
  kTracesRecovered,
  kUsageEventsFailed,
  kUsageEventsRecovered,
  kUsageEventsLost,
  kDecisionAllowed,
  kDecisionDenied,
  kDecisionNearLimit,
  kDecisionDegraded,
};
inline constexpr std::size_t kLogEvents = static_cast<std::size_t>(LogEvent::kDecisionDegraded) + 1;

std::string_view name_of(LogEvent event);  // "policies.loaded"
LogLevel level_of(LogEvent event);
// A warning or worse.
inline bool is_problem(LogEvent event) { return level_of(event) >= LogLevel::kWarning; }

// A named value of a line. It views its texts: it lives no longer than they do.
struct LogField {
  LogField(std::string_view field, std::string_view value) : name(field), text(value) {}
  LogField(std::string_view field, const char* value) : name(field), text(value) {}
  template <std::integral T>
  LogField(std::string_view field, T value)
      : name(field),
        number(static_cast<std::int64_t>(value)),
        kind(std::same_as<T, bool> ? kBool : kNumber) {}

  enum Kind : std::uint8_t { kText, kNumber, kBool };
  std::string_view name;
  std::string_view text = {};
  std::int64_t number = 0;
  Kind kind = kText;
};

// Where a part writes what happens to it. A plain value; as thread-safe as what it was made of. By default it
// leads nowhere.
//
//   const EventLog log = log_writer();
//   log(LogEvent::kRedisFailed, "Redis at cache:6379 is failing", {{"server", "cache:6379"}});
class EventLog {
 public:
  using Write =
      std::function<void(LogEvent event, std::string_view message, std::span<const LogField> fields)>;

  EventLog() = default;
  template <std::invocable<LogEvent, std::string_view, std::span<const LogField>> Callable>
    requires(!std::same_as<Callable, EventLog>)
  EventLog(Callable write)  // NOLINT(google-explicit-constructor): is a function
      : write_(std::move(write)) {}
  // For whoever wants only the sentences.
  template <std::invocable<LogEvent, std::string_view> Callable>
  EventLog(Callable write)  // NOLINT(google-explicit-constructor)
      : write_([write = std::move(write)](LogEvent event, std::string_view message,
                                          std::span<const LogField>) { write(event, message); }) {}

  void operator()(LogEvent event, std::string_view message,
                  std::initializer_list<LogField> fields = {}) const {
    if (write_) write_(event, message, {fields.begin(), fields.size()});
  }
  explicit operator bool() const { return static_cast<bool>(write_); }

 private:
  Write write_;
};

}  // namespace sluice
