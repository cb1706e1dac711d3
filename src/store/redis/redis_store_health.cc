#include <algorithm>

#include "store/redis/redis_store.h"

// What RedisStore knows and reports about the health of its server.
namespace sluice {
namespace {

constexpr std::uint64_t kLatenessChecksMin = 10;  // fewer are not judged
constexpr std::int64_t kClockLookEveryUs = 1'000'000;
constexpr std::string_view kClockSentence =
    "is left out: its clock differs by more than 1 s from that of most others; on_failure decides for its "
    "keys until this is fixed; check NTP";
constexpr std::string_view kFullSentence =
    "has no memory left: existing counters still count, checks that need new ones are decided by on_failure; "
    "raise maxmemory";
constexpr std::int64_t kMovingShownUs = 10'000'000;
constexpr std::string_view kMovingSentence =
    "refuses checks of a tenant that is moving, or has moved, to another cell; if this persists, --cells of "
    "this server differs from the other servers': fix the file and send SIGHUP";

}  // namespace

void RedisStore::note_problem(std::string_view what, std::string_view why) {
  problem_ = std::string(what) + " (" + std::string(why.substr(0, 200)) + ")";
}

// A new connection does not prove that the server works. An answered batch does; if none is in flight, a
// probe.
bool RedisStore::must_look() {
  const bool must = in_doubt_ && breaker_.closed() && in_flight_.empty();
  if (must) in_doubt_ = false;
  return must;
}

// No checks go to a server that is left out, so nothing else tells its time.
bool RedisStore::must_look_at_clock(std::int64_t now_us) {
  if (!left_out_ || now_us < clock_look_at_us_) return false;
  clock_look_at_us_ = now_us + kClockLookEveryUs;
  return true;
}

void RedisStore::note_use() {
  problem_.clear();
  in_doubt_ = false;
  connection_.note_use();
}

void RedisStore::note_answer(InFlight& command, std::int64_t server_us) {
  // An answer after all deadlines does not prove that the server works as it should.
  command.missed < command.batch->size() ? note_use() : connection_.note_use();
  if (options_.decide_by == nullptr) adviser_.note_clock(command.sent_at_us, wall_us(), server_us);
  late_.add(command.batch->size(), command.missed, clock_.now_us());
}

std::int64_t RedisStore::wall_us() const {
  return (options_.wall_clock != nullptr ? *options_.wall_clock : clock_).now_us();
}

// Empty: most checks are answered in time, or there are none.
std::string RedisStore::lateness() const {
  const auto [checks, missed] = late_.sum(clock_.now_us());
  if (checks < kLatenessChecksMin || missed * 2 <= checks) return {};
  return "answers too late: " + std::to_string(missed * 100 / checks) +
         " % of the checks miss their deadlines; raise `deadline` or check the network";
}

void RedisStore::tell_news(std::int64_t now_us) {
  if (!options_.on_news) return;
  const auto tell = [&](bool is_problem, const std::string& sentence) {
    options_.on_news(is_problem, "Redis at " + connection_.where() + " " + sentence);
  };
  const bool fails = !breaker_.closed();
  if (fails && problem_.empty())
    note_problem("the server does not answer in time", "too many checks had no answer");
  if (failure_news_.is_news(fails ? std::string_view(problem_) : "", now_us)) {
    fails ? tell(true, "is failing: " + problem_ + "; on_failure decides until it recovers")
          : tell(false, "answers again");
  }
  if (clock_news_.is_news(left_out_ ? kClockSentence : "", now_us))
    left_out_ ? tell(true, std::string(kClockSentence)) : tell(false, "is used again: its clock is correct");
  const bool refuses = heard_of_moves(now_us);
  if (moving_news_.is_news(refuses ? kMovingSentence : "", now_us) && refuses)
    tell(true, std::string(kMovingSentence));
  if (full_news_.is_news(is_full(now_us) ? kFullSentence : "", now_us))
    is_full(now_us) ? tell(true, std::string(kFullSentence)) : tell(false, "has free memory again");
  const std::string late = lateness();
  if (lateness_news_.is_news(late.empty() ? "" : "late", now_us) && !late.empty()) tell(true, late);
  const std::uint64_t shed = shed_.sum(now_us).bad;
  if (shed_news_.is_news(shed == 0 ? "" : "shed", now_us) && shed > 0)
    tell(true, "is overloaded (checks shed in the last seconds: " + std::to_string(shed) +
                   "); add capacity or reduce the load");
}

bool RedisStore::heard_of_moves(std::int64_t now_us) const {
  return refused_moving_at_us_ != 0 && now_us < refused_moving_at_us_ + kMovingShownUs;
}

// Nothing of the batch was charged. Calls of moving tenants are refused, the others are sent again.
void RedisStore::refuse_moving(InFlight& command, std::string_view key_numbers) {
  note_use();
  refused_moving_at_us_ = clock_.now_us();
  std::vector<StoreCall*> all, refused, others;
  command.batch->part_refused(key_numbers, refused, others);
  end_batch(command, true, all);
  for (StoreCall* call : refused) call->moving = true;
  put_back(others, queue_);
  complete(refused);
}

StoreServer RedisStore::server() const {
  const auto clock = clock_delta();
  return {.name = options_.name.empty() ? connection_.where() : options_.name,
          .ahead_us = clock ? std::optional(clock->ahead_us) : std::nullopt,
          .left_out = left_out_,
          .round_trip_us = round_trip_us(),
          .is_late = is_late()};
}

void RedisStore::report(StoreReport& report) const {
  stats_.add_to(report.metrics);
  report.servers.push_back(server());
}

Store::Health RedisStore::health() const {
  Health health;
  health.connected = connection_.ready() && breaker_.closed() && !left_out_;
  const auto add = [&](const std::string& sentence) {
    health.problems.push_back("Redis at " + connection_.where() + ": " + sentence);
  };
  if (!problem_.empty()) {
    add(problem_);
  } else if (!health.connected && !left_out_) {
    add("not connected yet");
  }
  if (left_out_) add("it " + std::string(kClockSentence));
  if (heard_of_moves(clock_.now_us())) add("it " + std::string(kMovingSentence));
  if (is_full(clock_.now_us())) add("the server " + std::string(kFullSentence));
  if (const std::string late = lateness(); !late.empty()) add("the server " + late);
  if (const std::string unsure = connection_.address_problem(); !unsure.empty()) add(unsure);
  std::ranges::for_each(adviser_.advice(), add);
  return health;
}

}  // namespace sluice
