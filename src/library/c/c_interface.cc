#include <sluice/limiter.h>
#include <sluice/open.h>
#include <sluice/sluice.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/steady_now.h"

// The C interface: translates structures and calls the C++ one. Every function catches all exceptions,
// because a caller in another language cannot.

struct sluice_limiter {
  std::unique_ptr<sluice::Limiter> limiter;
};

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kErrorBytes = 1024;
// The text of sluice_error(). Not a string: to report that memory is short must take none.
thread_local char last_error[kErrorBytes] = "";

void remember_error(const char* text) {
  std::snprintf(last_error, kErrorBytes, "%s", text);  // cuts a text that is too long
}

// Calls `action`; `otherwise` is the result if it throws.
template <class T, class Action>
T guarded(T otherwise, const Action& action) noexcept {
  try {
    return action();
  } catch (const std::exception& e) {
    remember_error(e.what());
  } catch (...) {
    remember_error("unknown exception");
  }
  return otherwise;
}

// "For ever", in whatever way it is written, is a hundred years; later moments are none that a clock has.
milliseconds time_of(std::int64_t ms) {
  constexpr milliseconds kMost = std::chrono::years(100);
  return milliseconds(std::clamp<std::int64_t>(ms, 0, kMost.count()));
}

const char* text_of(const char* given) { return given ? given : ""; }

// Whether the caller forgot to set the size. Then nothing else of the structure can be trusted.
template <class T>
bool lacks_size(const T* given) {
  if (given == nullptr || given->size >= sizeof given->size) return false;
  remember_error("size is 0; set it to the size of the structure");
  return true;
}

// The caller's structure, as far as its program knows it; the rest is 0.
template <class T>
T known_part(const T* given) {
  if (lacks_size(given)) throw std::invalid_argument(last_error);
  T whole{};
  std::memcpy(&whole, given, std::min(given->size, sizeof(T)));
  return whole;
}

sluice::PolicySource policies_of(const char* policies, const char* file) {
  return {.text = text_of(policies), .file = text_of(file)};
}

sluice_limiter* handle_of(sluice::Opened opened) {
  if (opened) return new sluice_limiter{std::move(opened.limiter)};
  remember_error(opened.error.c_str());
  return nullptr;
}

std::optional<std::int64_t> cost_of(std::int64_t cost) {
  if (cost == SLUICE_COST_OF_POLICY) return std::nullopt;
  return cost == SLUICE_COST_NOTHING ? 0 : cost;
}

// A request of C as one of C++. Refers to the texts of the caller.
class CppRequest {
 public:
  explicit CppRequest(const sluice_request* request) {
    const sluice_request given = known_part(request);
    for (std::size_t i = 0; i < given.dimension_count; ++i)
      dimensions_.emplace_back(text_of(given.dimensions[i].name), text_of(given.dimensions[i].value));
    request_ = {.key = text_of(given.key),
                .tenant = text_of(given.tenant),
                .resource = text_of(given.resource),
                .policy_id = text_of(given.policy_id),
                .request_id = text_of(given.request_id),
                .dimensions = dimensions_,
                .cost = cost_of(given.cost)};
  }
  CppRequest(const CppRequest&) = delete;
  CppRequest& operator=(const CppRequest&) = delete;

  const sluice::Request& get() const { return request_; }

 private:
  std::vector<std::pair<std::string_view, std::string_view>> dimensions_;
  sluice::Request request_;
};

static_assert(SLUICE_CLOSED == static_cast<int>(sluice::Trouble::kClosed), "both count the same troubles");

// The texts of an answer end with a zero byte.
sluice_answer c_answer(const sluice::Answer& answer) {
  if (answer.trouble != sluice::Trouble::kNone) remember_error(answer.message.c_str());
  return {.size = sizeof(sluice_answer),
          .allowed = answer.allowed,
          .degraded = answer.degraded,
          .leased = answer.leased,
          .trouble = static_cast<std::int32_t>(answer.trouble),
          .limit = answer.limit,
          .remaining = answer.remaining,
          .retry_after_ms = answer.retry_after.count(),
          .reset_after_ms = answer.reset_after.count(),
          .reason = text_of(answer.reason.data()),
          .policy_version = text_of(answer.policy_version.data()),
          .limit_name = text_of(answer.limit_name.data())};
}

// For a call that threw; last_error says why.
sluice_answer failed_answer(sluice_trouble trouble = SLUICE_UNAVAILABLE) {
  return {.size = sizeof(sluice_answer),
          .trouble = trouble,
          .reason = trouble == SLUICE_INVALID ? "invalid" : "unavailable",
          .policy_version = "",
          .limit_name = ""};
}

// As much of the answer as the caller's program knows.
sluice_trouble give(const sluice_answer& answer, sluice_answer* to) {
  if (to) {
    const std::size_t size = to->size;
    std::memcpy(to, &answer, std::min(size, sizeof answer));
    to->size = size;
  }
  return static_cast<sluice_trouble>(answer.trouble);
}

// Asks with `ask`, and gives its answer to the caller.
template <class Ask>
sluice_trouble answered(const sluice_request* request, sluice_answer* to, const Ask& ask) noexcept {
  if (lacks_size(request) || lacks_size(to)) return give(failed_answer(SLUICE_INVALID), to);
  return give(guarded(failed_answer(),
                      [&] {
                        const CppRequest asked(request);
                        return c_answer(ask(asked.get()));
                      }),
              to);
}

}  // namespace

const char* sluice_version(void) { return SLUICE_VERSION; }

const char* sluice_error(void) { return last_error; }

sluice_limiter* sluice_open_memory(const sluice_memory_options* options) {
  return guarded<sluice_limiter*>(nullptr, [&] {
    const sluice_memory_options given = known_part(options);
    sluice::MemoryOptions memory{.policies = policies_of(given.policies, given.policies_file),
                                 .default_tenant = text_of(given.default_tenant)};
    if (given.memory_bytes > 0) memory.memory_bytes = given.memory_bytes;
    return handle_of(sluice::open_memory(memory));
  });
}

sluice_limiter* sluice_open_redis(const sluice_redis_options* options) {
  return guarded<sluice_limiter*>(nullptr, [&] {
    const sluice_redis_options given = known_part(options);
    sluice::RedisOptions redis{.policies = policies_of(given.policies, given.policies_file),
                               .url = text_of(given.url),
                               .key_prefix = text_of(given.key_prefix),
                               .key_secret = text_of(given.key_secret),
                               .default_tenant = text_of(given.default_tenant),
                               .nodes = std::max(given.nodes, 1)};
    if (given.connect_timeout_ms > 0) redis.connect_timeout = time_of(given.connect_timeout_ms);
    return handle_of(sluice::open_redis(redis));
  });
}

sluice_limiter* sluice_open_server(const sluice_server_options* options) {
  return guarded<sluice_limiter*>(nullptr, [&] {
    const sluice_server_options given = known_part(options);
    sluice::RemoteOptions remote;
    remote.url = text_of(given.url);
    remote.token = text_of(given.token);
    remote.ca_file = text_of(given.ca_file);
    if (given.timeout_ms > 0) remote.timeout = milliseconds(given.timeout_ms);
    if (given.deny_if_unreachable != 0) remote.when_unreachable = sluice::WhenUnreachable::kDeny;
    remote.leases = given.no_leases == 0;
    remote.return_unused = given.return_unused != 0;
    return handle_of(sluice::open_server(remote));
  });
}

void sluice_close(sluice_limiter* limiter) {
  guarded(true, [&] {
    limiter->limiter->close();
    return true;
  });
}

void sluice_free(sluice_limiter* limiter) { delete limiter; }

int sluice_allow(sluice_limiter* limiter, const char* key) {
  return guarded(failed_answer(), [&] { return c_answer(limiter->limiter->check({.key = text_of(key)})); })
      .allowed;
}

sluice_trouble sluice_check(sluice_limiter* limiter, const sluice_request* request, sluice_answer* answer) {
  return answered(request, answer,
                  [&](const sluice::Request& asked) { return limiter->limiter->check(asked); });
}

void sluice_check_async(sluice_limiter* limiter, const sluice_request* request, sluice_done done,
                        void* context) {
  const bool is_refused = lacks_size(request);
  const bool is_asked = !is_refused && guarded(false, [&] {
    const CppRequest asked(request);
    limiter->limiter->check_async(asked.get(), [done, context](const sluice::Answer& answer) {
      const sluice_answer given = c_answer(answer);
      done(context, &given);
    });
    return true;
  });
  if (is_asked) return;
  const sluice_answer answer = failed_answer(is_refused ? SLUICE_INVALID : SLUICE_UNAVAILABLE);
  done(context, &answer);
}

sluice_trouble sluice_wait(sluice_limiter* limiter, const sluice_request* request, std::int64_t timeout_ms,
                           sluice_answer* answer) {
  return answered(request, answer, [&](const sluice::Request& asked) {
    return limiter->limiter->wait(asked, sluice::steady_now() + time_of(timeout_ms));
  });
}

int sluice_reset(sluice_limiter* limiter, const sluice_request* request) {
  return guarded(-1, [&] {
    const CppRequest asked(request);
    const sluice::ResetAnswer answer = limiter->limiter->reset(asked.get());
    if (answer.counters < 0) remember_error(answer.message.c_str());
    return answer.counters;
  });
}
