#pragma once

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sluice/export.h>

// Rate limits in your own process. The library is the engine of the Sluice server: it reads the same policies
// and decides the same way. Where the counters live is chosen when a limiter is opened (sluice/open.h):
//
//   in this process    open_memory   no network; the limits hold for this process
//   in Redis           open_redis    one round trip per check; the limits hold for all processes
//   in a Sluice server open_server   leases: most checks need no network; the limits hold for all callers
//
//   auto opened = sluice::open_memory({.policies = {.file = "policies.yaml"}});
//   if (!opened) return fail(opened.error);
//   if (opened.limiter->allow("user_123")) serve();
//   else send_429();
namespace sluice {

// One check. The views must live until the call returns; nothing refers to them afterwards, not even the
// forms that answer later.
struct Request {
  std::string_view key = {};         // whom to limit: a user, an address, an API key
  std::string_view tenant = {};      // empty: the default tenant
  std::string_view resource = {};    // for example the path; empty: none
  std::string_view policy_id = {};   // empty: the most specific policy for tenant and resource
  std::string_view request_id = {};  // not empty: a repeat gets the first answer and charges nothing
  std::span<const std::pair<std::string_view, std::string_view>> dimensions = {};
  std::optional<std::int64_t> cost = {};  // absent: as the policy's cost map says, else 1; 0: only looks
};

// What kept a check from being decided. A denial is not an error.
enum class Trouble : std::uint8_t {
  kNone,
  kInvalid,      // the request is wrong, `message` says what; not allowed, and nothing was charged
  kUnavailable,  // the store or the server gave no answer; `allowed` says what the failure rule decided
  kOverloaded,   // too much load; nothing was charged
  kClosed,       // the limiter was closed
};

// The answer to a check. Its views are valid as long as the limiter, and a zero byte follows each of them.
struct Answer {
  bool allowed = false;
  bool degraded = false;  // no limit decided, but the failure rule or the big red switch
  bool leased = false;    // decided in this process, by units of a lease; limit and reset are not known
  Trouble trouble = Trouble::kNone;
  std::int64_t limit = 0;                    // of the tightest limit; 0: no limit applied, or not known
  std::int64_t remaining = 0;                // of it
  std::chrono::milliseconds retry_after{0};  // when a denied check will fit; negative: never
  std::chrono::milliseconds reset_after{0};  // when the tightest limit is unused again
  std::string_view reason = "ok";            // "ok", "limited", "no_policy", … as in the server's answers
  std::string_view policy_version = "";      // "api.read#3"
  std::string_view limit_name = "";
  std::string message;  // one sentence, if there is trouble
};

// How many counters a reset has removed; negative: none was, and `message` says why.
struct ResetAnswer {
  int counters = 0;
  std::string message;
};

// Decides whether requests may pass. Thread-safe. Everything that decorates a limiter (sluice/decorators) is
// one, too, and wraps another.
class SLUICE_EXPORT Limiter {
 public:
  using Done = std::function<void(const Answer&)>;
  class CheckLater;

  Limiter() = default;
  virtual ~Limiter();
  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;

  // Decides one check. Blocks while the store is asked: in memory, and while units are leased, not at all.
  virtual Answer check(const Request& request) = 0;

  // The same without blocking. `done` is called once: in this call if the answer is known at once, otherwise
  // on a thread of the library, where it must neither block nor throw.
  virtual void check_async(const Request& request, Done done) = 0;

  // Forgets the counters that a check of this request would charge, but for those that others share, such as
  // a cap over all users. Blocks.
  virtual ResetAnswer reset(const Request& request) = 0;

  // Ends it: waiting calls are answered with Trouble::kClosed, and so are all later ones. Returns unused
  // leased units, if that was asked for. May be called again. The destructor does it, too.
  virtual void close() = 0;

  // Blocks until then and returns true, or until close() and returns false. wait() sleeps like this.
  virtual bool sleep_until(std::chrono::steady_clock::time_point time);

  // --- in terms of the above ---

  bool allow(std::string_view key) { return check({.key = key}).allowed; }
  bool allow_n(std::string_view key, std::int64_t cost) { return check({.key = key, .cost = cost}).allowed; }

  // Blocks until the check is allowed, and returns that answer. Returns the denial as soon as it is known
  // that there will be no room before `deadline`, and trouble at once.
  Answer wait(const Request& request, std::chrono::steady_clock::time_point deadline);

  // const Answer answer = co_await limiter.check_later({.key = "u1"});
  // The check begins with this call. The coroutine goes on where `done` of check_async() would be called.
  CheckLater check_later(const Request& request);
};

// An answer that is there or will be. Belongs to one coroutine, which awaits it at most once. It may be
// destroyed without being awaited; a coroutine that waits for it must not be destroyed.
class SLUICE_EXPORT Limiter::CheckLater {
 public:
  ~CheckLater();
  CheckLater(const CheckLater&) = delete;
  CheckLater& operator=(const CheckLater&) = delete;

  bool await_ready() const noexcept;
  bool await_suspend(std::coroutine_handle<> waiting) noexcept;
  Answer await_resume();

 private:
  friend class Limiter;
  struct State;
  explicit CheckLater(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;  // shared with the check
};

}  // namespace sluice
