#pragma once

#include <sluice/limiter.h>
#include <sluice/open.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/coarse_clock.h"
#include "base/mutex.h"
#include "base/secret/hash.h"
#include "client/lease_keeper.h"
#include "client/lease_table.h"
#include "client/lease_terms.h"
#include "library/calls/closing.h"
#include "library/remote/server_link.h"
#include "net/socket/event_loop.h"
#include "net/socket/tcp_transport.h"

namespace sluice::library {

// A limiter whose limits are those of a Sluice server. Thread-safe.
//
//   any thread                                   the library's own thread
//   check ──► LeaseTable: units here? ──yes──► answer
//                 │                 └──they run low──►┐
//                 no ─────── inbox ──────────────────►│ LeaseKeeper ──► ServerLink ──► server
//   wait, or go on ◄───────── done ◄──────────────────┘
//
// A leased check reads the table, subtracts, and returns: no lock, no allocation, no system call. It reads
// the kernel's coarse clock and adds the most that it may be behind, so that no unit is spent after its lease
// has expired.
class RemoteLimiter final : public Limiter, private LeaseKeeper::Server {
 public:
  // The error says which option is wrong. A server that does not answer is no error: it may come.
  static std::expected<std::unique_ptr<RemoteLimiter>, std::string> open(const RemoteOptions& options);
  ~RemoteLimiter() override;

  Answer check(const Request& request) override;
  void check_async(const Request& request, Done done) override;
  ResetAnswer reset(const Request& request) override;
  void close() override;
  bool sleep_until(std::chrono::steady_clock::time_point time) override { return closing_.sleep_until(time); }

  // Checks that wait for the server, at most. Further ones are answered with Trouble::kOverloaded.
  static constexpr std::size_t kWaitingMax = 20'000;

 private:
  struct Setup;
  explicit RemoteLimiter(Setup setup);

  struct Reset {
    KeyHash hash;
    std::string message;
    std::function<void(ResetAnswer)> done;
  };
  // What other threads have for ours.
  struct Inbox {
    std::vector<WaitingCheck> checks;
    std::vector<Reset> resets;
    std::vector<std::size_t> low_places;
    bool closes = false;
  };

  bool decide_at_once(const Request& request, Answer& answer);
  void ask(const Request& request, Done done);
  std::optional<Answer> enqueue(WaitingCheck& check);
  void wake_for(std::size_t place);
  bool is_own_thread() const { return running_here == this; }

  // --- on the library's thread ---

  void run();
  void take_inbox();
  void begin_reset(Reset reset);
  void on_problem(std::string_view sentence);
  void on_decided();
  Answer undecided(std::string_view why);
  void on_reset_result(std::uint64_t number, const net::GrpcResult* result, std::string_view why);
  void end();
  void check(WaitingCheck check) override;
  void lease(const LeaseName& name, std::string_view subject, std::int64_t want,
             std::string_view request_id) override;
  void give_back(std::string_view lease_id, std::int64_t units) override;
  void on_check_result(std::uint64_t number, const net::GrpcResult* result, std::string_view why);
  void on_lease_result(const LeaseName& name, const net::GrpcResult* result);
  double random() { return std::uniform_real_distribution<double>(0, 1)(random_); }

  const bool leases_;
  const bool allows_unreachable_;
  const bool returns_unused_;
  const std::int64_t timeout_us_;
  const std::function<void(bool, const std::string&)> log_;
  const SystemClock clock_;
  const CoarseClock coarse_clock_{clock_};
  const KeyHasher hasher_ = KeyHasher::with_random_secret();
  LeaseTable table_;

  Mutex mutex_;
  Inbox inbox_ SLUICE_GUARDED_BY(mutex_);
  Closing closing_;

  // The library's thread's own.
  net::EventLoop loop_;
  net::TcpTransport transport_{loop_, "h2"};
  std::mt19937_64 random_{std::random_device()()};
  TermsBook terms_;
  LeaseKeeper keeper_;
  remote::ServerLink link_;
  std::map<std::uint64_t, WaitingCheck> asked_;  // checks that the server was asked
  std::map<std::uint64_t, std::function<void(ResetAnswer)>> resetting_;
  std::uint64_t last_asked_ = 0;
  std::string message_;
  bool is_ended_ = false;
  std::int64_t ends_at_us_ = INT64_MAX;
  bool has_problem_ = false;  // the log was told so
  std::int64_t next_problem_us_ = 0;

  static thread_local const RemoteLimiter* running_here;  // whose thread the calling one is
  Mutex joining_;
  std::thread thread_;
};

}  // namespace sluice::library
