#include "store/redis/backend/backend_health.h"

namespace sluice {
namespace {

constexpr std::uint64_t kLatenessChecksMin = 10;  // fewer are not judged
constexpr std::int64_t kMovingShownUs = 10'000'000;
constexpr std::int64_t kFullShownUs = 60'000'000;  // like the memory store
constexpr std::string_view kClockSentence =
    "is left out: its clock differs by more than 1 s from that of most others; on_failure decides for its "
    "keys until this is fixed; check NTP";
constexpr std::string_view kFullSentence =
    "has no memory left: existing counters still count, checks that need new ones are decided by on_failure; "
    "raise maxmemory";
constexpr std::string_view kMovingSentence =
    "refuses checks of a tenant that is moving, or has moved, to another cell; if this persists, --cells of "
    "this server differs from the other servers': fix the file and send SIGHUP";

}  // namespace

void BackendHealth::note_problem(std::string_view what, std::string_view why) {
  problem_ = std::string(what) + " (" + std::string(why.substr(0, 200)) + ")";
}

bool BackendHealth::heard_of_moves(std::int64_t now_us) const {
  return refused_moving_at_us_ != 0 && now_us < refused_moving_at_us_ + kMovingShownUs;
}

bool BackendHealth::is_full(std::int64_t now_us) const {
  return no_room_at_us_ != 0 && now_us < no_room_at_us_ + kFullShownUs;
}

// Empty: most checks are answered in time, or there are none.
std::string BackendHealth::lateness(std::int64_t now_us) const {
  const auto [checks, missed] = late_.sum(now_us);
  if (checks < kLatenessChecksMin || missed * 2 <= checks) return {};
  return "answers too late: " + std::to_string(missed * 100 / checks) +
         " % of the checks miss their deadlines; raise `deadline` or check the network";
}

std::vector<std::string> BackendHealth::problems(const Facts& facts, std::int64_t now_us) const {
  std::vector<std::string> sentences;
  if (has_problem())
    sentences.push_back(problem_);
  else if (!facts.left_out && (facts.fails || !facts.connected))
    sentences.emplace_back("not connected yet");
  if (facts.left_out) sentences.push_back("it " + std::string(kClockSentence));
  if (heard_of_moves(now_us)) sentences.push_back("it " + std::string(kMovingSentence));
  if (is_full(now_us)) sentences.push_back("the server " + std::string(kFullSentence));
  if (const std::string late = lateness(now_us); !late.empty()) sentences.push_back("the server " + late);
  return sentences;
}

void BackendHealth::report_news(const Facts& facts, std::int64_t now_us, const OnNews& report) {
  if (facts.fails && !has_problem())
    note_problem("the server does not answer in time", "too many checks had no answer");
  if (failure_news_.is_news(facts.fails ? std::string_view(problem_) : "", now_us)) {
    facts.fails
        ? report(LogEvent::kRedisFailed, "is failing: " + problem_ + "; on_failure decides until it recovers")
        : report(LogEvent::kRedisRecovered, "answers again");
  }
  if (clock_news_.is_news(facts.left_out ? kClockSentence : "", now_us))
    facts.left_out ? report(LogEvent::kRedisClock, std::string(kClockSentence))
                   : report(LogEvent::kRedisRecovered, "is used again: its clock is correct");
  const bool refuses = heard_of_moves(now_us);
  if (moving_news_.is_news(refuses ? kMovingSentence : "", now_us) && refuses)
    report(LogEvent::kRedisTenantMoving, std::string(kMovingSentence));
  if (full_news_.is_news(is_full(now_us) ? kFullSentence : "", now_us))
    is_full(now_us) ? report(LogEvent::kRedisFull, std::string(kFullSentence))
                    : report(LogEvent::kRedisRecovered, "has free memory again");
  const std::string late = lateness(now_us);
  if (lateness_news_.is_news(late.empty() ? "" : "late", now_us) && !late.empty())
    report(LogEvent::kRedisLate, late);
  const std::uint64_t shed = shed_.sum(now_us).bad;
  if (shed_news_.is_news(shed == 0 ? "" : "shed", now_us) && shed > 0)
    report(LogEvent::kRedisOverloaded, "is overloaded (checks shed in the last seconds: " +
                                           std::to_string(shed) + "); add capacity or reduce the load");
}

}  // namespace sluice
