#include "library/remote/remote_limiter.h"

#include <csignal>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/limits.h"
#include "client/lease_answers.h"
#include "library/calls/blocked_call.h"
#include "library/remote/messages.h"
#include "net/http/server_url.h"
#include "net/tls/tls_context.h"

namespace sluice::library {
namespace {

using remote::kCheckPath;
using remote::kLeasePath;
using remote::kResetKeyPath;
using remote::kReturnLeasePath;

constexpr std::size_t kSubjectBytesMax = 12u << 10;  // more than a server accepts
constexpr std::int64_t kTimeoutMsMax = 3'600'000;
constexpr std::int64_t kProblemEveryUs = 10 * kSecondUs;  // in the log

// The numbers of gRPC.
enum GrpcCode : int {
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kOutOfRange = 11,
  kUnavailable = 14
};

// The server has not decided, or nobody can tell whether it has.
bool is_no_answer(const net::GrpcResult* result) {
  if (result == nullptr || result->http2_error != 0 || result->http_status != 200) return true;
  return result->grpc_status < 0 || result->grpc_status == kCancelled || result->grpc_status == kUnknown ||
         result->grpc_status == kDeadlineExceeded;
}

// The request is wrong. All other errors are the server's, or about who we are.
bool is_about_request(int grpc_status) {
  return grpc_status == kInvalidArgument || grpc_status == kNotFound || grpc_status == kFailedPrecondition ||
         grpc_status == kOutOfRange;
}

constexpr const char* kTooLong = "the request is longer than a server accepts";

bool is_too_long(const Request& request) {
  return remote::subject_room(request) > kSubjectBytesMax || request.request_id.size() > kRequestIdBytesMax;
}

Answer trouble_answer(Trouble trouble, std::string_view reason, std::string_view message) {
  Answer answer;
  answer.trouble = trouble;
  answer.reason = reason;
  answer.message = message;
  return answer;
}

std::string subject_of(const Request& request) {
  std::string subject;
  net::append_wire(subject, remote::subject_room(request),
                   [&](net::WireCursor& cursor) { remote::write_subject(cursor, request); });
  return subject;
}

}  // namespace

struct RemoteLimiter::Setup {
  remote::ServerLink::Options link;
  LeaseKeeper::Options keeper;
  std::function<void(bool, const std::string&)> log;
};

std::expected<std::unique_ptr<RemoteLimiter>, std::string> RemoteLimiter::open(const RemoteOptions& options) {
  const auto url = net::read_server_url(options.url);
  if (!url)
    return std::unexpected("url " + url.error() + "; write it as http://host:port or https://host:port");
  if (options.timeout.count() <= 0 || options.timeout.count() > kTimeoutMsMax)
    return std::unexpected("timeout must be between 1 ms and an hour");
  if (std::ranges::any_of(options.token, [](char c) { return c <= ' ' || c > '~'; }))
    return std::unexpected("token contains a character that no token has");
  Setup setup;
  setup.link.address.host = url->host;
  const auto port =
      std::from_chars(url->port.data(), url->port.data() + url->port.size(), setup.link.address.port);
  if (port.ec != std::errc() || setup.link.address.port == 0)
    return std::unexpected("url has a port that is not between 1 and 65535");
  if (url->tls) {
    setup.link.address.tls = TlsSettings{.ca_file = options.ca_file};
    std::string why;
    if (!net::TlsClientContext(*setup.link.address.tls).reload(why))
      return std::unexpected("ca_file: " + why);
  } else if (!options.ca_file.empty()) {
    return std::unexpected("ca_file is for https; the url begins with http://");
  }
  setup.link.target = {.authority = url->authority(),
                       .tls = url->tls,
                       .authorization = options.token.empty() ? "" : "Bearer " + options.token,
                       .timeout = std::to_string(options.timeout.count()) + "m"};
  setup.link.timeout_us = options.timeout.count() * 1000;
  setup.keeper.leases = options.leases;
  setup.keeper.returns_unused = options.return_unused;
  setup.keeper.allows_unreachable = options.when_unreachable == WhenUnreachable::kAllow;
  setup.log = options.log;
  std::random_device random;
  for (int i = 0; i < 4; ++i) setup.keeper.holder += std::to_string(random()) + "-";
  return std::unique_ptr<RemoteLimiter>(new RemoteLimiter(std::move(setup)));
}

RemoteLimiter::RemoteLimiter(Setup setup)
    : leases_(setup.keeper.leases),
      allows_unreachable_(setup.keeper.allows_unreachable),
      returns_unused_(setup.keeper.returns_unused),
      timeout_us_(setup.link.timeout_us),
      log_(std::move(setup.log)),
      keeper_(table_, *this, std::move(setup.keeper), [this] { return random(); }),
      link_(
          transport_, clock_, std::move(setup.link), [this] { return random(); },
          [this](bool is_down, const std::string& sentence) {
            if (is_down) return on_problem(sentence);
            on_decided();
            keeper_.on_reachable(clock_.now_us());
          }) {
  inbox_.low_places.reserve(LeaseTable::kPlaces);
  // Signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

RemoteLimiter::~RemoteLimiter() { close(); }

// --- any thread ---

bool RemoteLimiter::decide_at_once(const Request& request, Answer& answer) {
  const std::int64_t cost = request.cost.value_or(1);
  if (!leases_ || !request.request_id.empty() || cost <= 0 || cost > LeaseSize::kMax) return false;
  if (remote::subject_room(request) > kSubjectBytesMax) return false;
  char bytes[kSubjectBytesMax];
  net::WireCursor cursor(bytes);
  remote::write_subject(cursor, request);
  const auto found = table_.find(hasher_({bytes, static_cast<std::size_t>(cursor.at() - bytes)}));
  if (!found) return false;
  const std::int64_t now_us = coarse_clock_.now_us() + CoarseClock::kLagUs;
  const DecidedHere decided = decide_here(table_, found, request.cost, now_us, allows_unreachable_, answer);
  if (decided.wakes_owner && decided.is_decided) [[unlikely]]
    wake_for(found.place);
  return decided.is_decided;
}

Answer RemoteLimiter::check(const Request& request) {
  Answer answer;
  if (decide_at_once(request, answer)) [[likely]]
    return answer;
  if (is_own_thread())
    return trouble_answer(Trouble::kInvalid, "invalid",
                          "check() would wait for the thread that it is called on; use check_async() there");
  BlockedCall<Answer> call;
  ask(request, [&call](const Answer& answered) { call.give(answered); });
  return call.wait();
}

void RemoteLimiter::check_async(const Request& request, Done done) {
  Answer answer;
  if (decide_at_once(request, answer)) return done(answer);
  ask(request, std::move(done));
}

void RemoteLimiter::ask(const Request& request, Done done) {
  if (const std::int64_t cost = request.cost.value_or(0); cost < 0 || cost > kCostMax)
    return done(trouble_answer(Trouble::kInvalid, "invalid", "cost: must be between 0 and 1000000000"));
  if (is_too_long(request)) return done(trouble_answer(Trouble::kInvalid, "invalid", kTooLong));
  WaitingCheck check{.hash = {},
                     .subject = subject_of(request),
                     .cost = request.cost,
                     .request_id = std::string(request.request_id),
                     .done = std::move(done)};
  check.hash = hasher_(check.subject);
  if (const auto refusal = enqueue(check)) check.done(*refusal);
}

// Moves the check into the inbox, or says why not.
std::optional<Answer> RemoteLimiter::enqueue(WaitingCheck& check) {
  bool is_first = false;
  {
    const Lock lock(mutex_);
    if (closing_.is_closed()) return closed_answer();
    if (inbox_.checks.size() >= kWaitingMax)
      return trouble_answer(Trouble::kOverloaded, "overloaded", "too many checks wait");
    is_first = inbox_.checks.empty();
    inbox_.checks.push_back(std::move(check));
  }
  if (is_first) loop_.wake();
  return std::nullopt;
}

void RemoteLimiter::wake_for(std::size_t place) {
  {
    const Lock lock(mutex_);
    inbox_.low_places.push_back(place);
  }
  loop_.wake();
}

ResetAnswer RemoteLimiter::reset(const Request& request) {
  if (is_own_thread()) return {-1, "reset() would wait for the thread that it is called on"};
  if (is_too_long(request)) return {-1, kTooLong};
  Reset reset{.hash = hasher_(subject_of(request)), .message = {}, .done = {}};
  remote::write_reset(reset.message, request);
  BlockedCall<ResetAnswer> call;
  reset.done = [&call](ResetAnswer answer) { call.give(std::move(answer)); };
  {
    const Lock lock(mutex_);
    if (closing_.is_closed()) return {-1, "the limiter was closed"};
    inbox_.resets.push_back(std::move(reset));
  }
  loop_.wake();
  return call.wait();
}

void RemoteLimiter::close() {
  {
    const Lock lock(mutex_);
    closing_.close();
    inbox_.closes = true;
  }
  loop_.wake();
  if (is_own_thread()) return;  // it ends when the callback has returned; the destructor waits for it
  const Lock lock(joining_);
  if (thread_.joinable()) thread_.join();
}

// --- the library's thread ---

thread_local const RemoteLimiter* RemoteLimiter::running_here = nullptr;

void RemoteLimiter::run() {
  running_here = this;
  while (!is_ended_) {
    const std::int64_t due_us = std::min({keeper_.next_due_us(), link_.next_due_us(), ends_at_us_});
    const std::int64_t wait_us = std::clamp<std::int64_t>(due_us - clock_.now_us(), 0, kMinuteUs);
    loop_.wait(static_cast<int>((wait_us + 999) / 1000));
    loop_.dispatch();
    take_inbox();
    keeper_.run_due(clock_.now_us());
    link_.tick();
    link_.flush();
    is_ended_ = ends_at_us_ != INT64_MAX && (link_.calls() == 0 || clock_.now_us() >= ends_at_us_);
  }
}

void RemoteLimiter::take_inbox() {
  Inbox inbox;
  {
    const Lock lock(mutex_);
    inbox.checks.swap(inbox_.checks);
    inbox.resets.swap(inbox_.resets);
    inbox.low_places.assign(inbox_.low_places.begin(), inbox_.low_places.end());
    inbox_.low_places.clear();  // keeps its memory: other threads do not allocate
    inbox.closes = std::exchange(inbox_.closes, false);
  }
  const std::int64_t now_us = clock_.now_us();
  for (const std::size_t place : inbox.low_places) keeper_.refill(place, now_us);
  for (WaitingCheck& check : inbox.checks) keeper_.check(std::move(check), now_us);
  for (Reset& reset : inbox.resets) begin_reset(std::move(reset));
  if (inbox.closes && ends_at_us_ == INT64_MAX) end();
}

void RemoteLimiter::begin_reset(Reset reset) {
  keeper_.forget(reset.hash, clock_.now_us());
  const std::uint64_t number = ++last_asked_;
  resetting_.emplace(number, std::move(reset.done));
  link_.call(kResetKeyPath, reset.message,
             [this, number](const net::GrpcResult* result, std::string_view why) {
               on_reset_result(number, result, why);
             });
}

void RemoteLimiter::on_reset_result(std::uint64_t number, const net::GrpcResult* result,
                                    std::string_view why) {
  const auto node = resetting_.extract(number);
  if (node.empty()) return;  // closed meanwhile
  const auto& done = node.mapped();
  if (result == nullptr) return done({-1, std::string(why)});
  const auto message = result->is_ok() ? result->message() : std::nullopt;
  const auto counters = message ? remote::read_reset(*message) : std::nullopt;
  if (!counters) return done({-1, result->is_ok() ? "the answer cannot be read" : result->problem()});
  done({*counters, {}});
}

// Nobody waits any longer. Units that are returned, and leases that are under way, have as long as a call.
void RemoteLimiter::end() {
  const std::int64_t now_us = clock_.now_us();
  keeper_.close(now_us);
  for (auto& [number, check] : std::exchange(asked_, {})) check.done(closed_answer());
  for (auto& [number, done] : std::exchange(resetting_, {})) done({-1, "the limiter was closed"});
  ends_at_us_ = now_us + (returns_unused_ ? timeout_us_ : 0);
}

void RemoteLimiter::check(WaitingCheck check) {
  if (asked_.size() >= kWaitingMax)
    return check.done(trouble_answer(Trouble::kOverloaded, "overloaded", "too many checks wait"));
  message_.clear();
  remote::write_check(message_, check.subject, check.cost, check.request_id);
  const std::uint64_t number = ++last_asked_;
  asked_.emplace(number, std::move(check));
  link_.call(kCheckPath, message_, [this, number](const net::GrpcResult* result, std::string_view why) {
    on_check_result(number, result, why);
  });
}

void RemoteLimiter::on_check_result(std::uint64_t number, const net::GrpcResult* result,
                                    std::string_view why) {
  const auto node = asked_.extract(number);
  if (node.empty()) return;  // closed meanwhile
  const WaitingCheck& check = node.mapped();
  if (is_no_answer(result) || result->grpc_status == kUnavailable)
    return check.done(undecided(result == nullptr ? why : result->problem()));
  if (result->grpc_status == kResourceExhausted)
    return check.done(trouble_answer(Trouble::kOverloaded, "overloaded", result->grpc_message));
  if (is_about_request(result->grpc_status))
    return check.done(trouble_answer(Trouble::kInvalid, "invalid", result->grpc_message));
  if (!result->is_ok()) return check.done(undecided(result->problem()));
  const auto message = result->message();
  const auto read = message ? remote::read_check(*message, terms_, clock_.now_us() / 1000) : std::nullopt;
  if (!read) return check.done(undecided("the answer cannot be read"));
  on_decided();
  check.done(read->answer);
  if (read->lease_advised && check.request_id.empty())
    keeper_.on_advice(check.hash, check.subject, clock_.now_us());
}

// The failure rule decides, and the log hears why.
Answer RemoteLimiter::undecided(std::string_view why) {
  on_problem(why);
  return unreachable_answer(allows_unreachable_, why);
}

void RemoteLimiter::on_problem(std::string_view sentence) {
  if (!log_ || clock_.now_us() < next_problem_us_) return;
  next_problem_us_ = clock_.now_us() + kProblemEveryUs;
  has_problem_ = true;
  log_(true, std::string(sentence));
}

void RemoteLimiter::on_decided() {
  if (!std::exchange(has_problem_, false)) return;
  log_(false, "the server decides again");
}

void RemoteLimiter::lease(const LeaseName& name, std::string_view subject, std::int64_t want,
                          std::string_view request_id) {
  message_.clear();
  remote::write_lease(message_, subject, want, request_id);
  link_.call(kLeasePath, message_, [this, name](const net::GrpcResult* result, std::string_view) {
    on_lease_result(name, result);
  });
}

void RemoteLimiter::on_lease_result(const LeaseName& name, const net::GrpcResult* result) {
  const std::int64_t now_us = clock_.now_us();
  if (is_no_answer(result)) return keeper_.on_no_answer(name, now_us);
  const auto message = result->is_ok() ? result->message() : std::nullopt;
  auto read = message ? remote::read_lease(*message) : std::nullopt;
  if (!read) return keeper_.on_refused(name, now_us);
  keeper_.on_lease(name, read->answer, terms_.keep(std::move(read->terms)), now_us);
}

void RemoteLimiter::give_back(std::string_view lease_id, std::int64_t units) {
  message_.clear();
  remote::write_return(message_, lease_id, units);
  link_.call(kReturnLeasePath, message_, [](const net::GrpcResult*, std::string_view) {});
}

}  // namespace sluice::library
