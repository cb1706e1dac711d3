#include <algorithm>

#include "store/redis/redis_store.h"

// What RedisStore knows and tells about how its server is.
namespace sluice {
namespace {

constexpr std::uint64_t kLatenessChecksMin = 10;  // to judge by

}  // namespace

void RedisStore::note_problem(std::string_view what, std::string_view why) {
  problem_ = std::string(what) + " (" + std::string(why.substr(0, 200)) + ")";
}

// A new connection is no proof that the server works. Somebody's batch is; with none under way, a probe.
bool RedisStore::must_look() {
  const bool must = in_doubt_ && breaker_.closed() && in_flight_.empty();
  if (must) in_doubt_ = false;
  return must;
}

void RedisStore::note_use() {
  problem_.clear();
  in_doubt_ = false;
  connection_.note_use();
}

void RedisStore::note_answer(InFlight& command, std::int64_t server_us) {
  note_use();
  if (options_.decide_by == nullptr) adviser_.note_clock(command.sent_at_us, wall_us(), server_us);
  const auto missed = static_cast<std::uint64_t>(std::ranges::count(command.batch->calls(), nullptr));
  late_.add(command.batch->size(), missed, clock_.now_us());
}

std::int64_t RedisStore::wall_us() const {
  return (options_.wall_clock != nullptr ? *options_.wall_clock : clock_).now_us();
}

// Empty: most checks get their answers in time, or there are none.
std::string RedisStore::lateness() const {
  const auto [checks, missed] = late_.sum(clock_.now_us());
  if (checks < kLatenessChecksMin || missed * 2 <= checks) return {};
  return "answers, but later than the deadlines of " + std::to_string(missed * 100 / checks) +
         " % of the checks; raise `deadline` or look at the network";
}

void RedisStore::tell_news(std::int64_t now_us) {
  if (!options_.on_news) return;
  const auto tell = [&](bool is_problem, const std::string& sentence) {
    options_.on_news(is_problem, "Redis at " + connection_.where() + " " + sentence);
  };
  const bool fails = !breaker_.closed();
  if (failure_news_.is_news(fails ? std::string_view(problem_) : "", now_us)) {
    fails ? tell(true, "does not answer as it should: " + problem_ + "; failure rules decide until it does")
          : tell(false, "answers again");
  }
  const std::string late = lateness();
  if (lateness_news_.is_news(late.empty() ? "" : "late", now_us) && !late.empty()) tell(true, late);
}

AsyncStore::Health RedisStore::health() const {
  Health health;
  health.connected = connection_.ready() && breaker_.closed();
  const auto add = [&](const std::string& sentence) {
    health.problems.push_back("Redis at " + connection_.where() + ": " + sentence);
  };
  if (!problem_.empty()) {
    add(problem_);
  } else if (!health.connected) {
    add("not connected yet");
  }
  if (const std::string late = lateness(); !late.empty()) add("the server " + late);
  std::ranges::for_each(adviser_.advice(), add);
  return health;
}

}  // namespace sluice
