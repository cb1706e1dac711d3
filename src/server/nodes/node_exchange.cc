#include "server/nodes/node_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/limits/node_limits.h"
#include "base/text/encode.h"
#include "redis/cluster/one_slot.h"
#include "redis/connection/auth.h"
#include "redis/protocol/server_error.h"

namespace sluice::server {
namespace {

constexpr std::int64_t kReplyPatienceUs = 3 * kSecondUs;
constexpr std::int64_t kReadValidUs = kSecondUs;
constexpr std::int64_t kAnswerPollUs = 150'000;
constexpr std::string_view kReportMs = "10000", kMessageMs = "5000";
constexpr std::int64_t kQuestionMs = 5'000;
constexpr std::size_t kAnsweredKept = 4 * kNodeQuestionsMax;
static_assert(kNodeLifeUs == 10 * kSecondUs);

std::vector<std::string_view> words_of(std::string_view command, const std::vector<std::string>& keys) {
  std::vector<std::string_view> words = {command};
  words.insert(words.end(), keys.begin(), keys.end());
  return words;
}

}  // namespace

NodeExchange::NodeExchange(Parts parts) : parts_(std::move(parts)), id_(parts_.desk.self().id) {}

void NodeExchange::follow(const StoreSettings& store) {
  if (connection_ && store == store_) return;
  store_ = store;
  connect();
}

void NodeExchange::connect() {
  connection_ = nullptr;
  on_lost("");
  strangers_ = 0;
  trouble_.clear();
  if (!store_.redis) return;
  redis::ConnectionOptions options;
  options.backoff_max_us = 2 * kSecondUs;
  options.backoff_refused_us = kNodeLifeUs;
  slot_ = redis::lead_to(*store_.redis, parts_.transport, parts_.clock, parts_.random, options);
  redis::ConnectionEvents& events = *this;
  connection_ = std::make_unique<redis::Connection>(parts_.transport, parts_.clock, std::move(options),
                                                    parts_.random, events);
}

void NodeExchange::on_ready() {
  trouble_.clear();
  beat_at_us_ = 0;
}

void NodeExchange::on_lost(std::string_view why) {
  waiting_.clear();
  peers_.clear();
  server_ahead_ms_.reset();
  place_.reset();
  read_us_ = 0;
  is_reading_ = false;
  for (const auto& asked : asked_) asked->is_polling = false;
  if (!why.empty() && trouble_.empty())
    trouble_ = fmt::format("{} cannot be reached ({}), so the other nodes are not known",
                           store_.redis->to_string(), why);
}

void NodeExchange::say(std::span<const std::string_view> words, OnReply on_reply) {
  std::string command;
  redis::append_command(command, words);
  waiting_.push_back({now_us_, std::move(on_reply)});
  connection_->send(command);
}

void NodeExchange::on_reply(Reply reply) {
  if (waiting_.empty()) return connection_->drop("sent a reply to nothing");
  const OnReply on_reply = std::move(waiting_.front().on_reply);
  waiting_.pop_front();
  if (reply.front().is_error()) return refuse(reply.front().bytes);
  on_reply(reply);
}

// What was asked will be asked again in a second.
void NodeExchange::refuse(std::string_view error) {
  is_reading_ = false;
  for (const auto& asked : asked_) asked->is_polling = false;
  const redis::Address& asked_at = connection_->address();
  if (redis::follow_move(error, asked_at, slot_.get()))
    return connection_->drop("the keys are on another node");
  const redis::ServerErrorAdvice& advice = redis::explain_server_error(error);
  trouble_ = fmt::format("{} refuses to let the nodes meet ({})", store_.redis->to_string(),
                         advice.kind == redis::ServerError::kOther ? redis::without_secrets(error, asked_at)
                                                                   : std::string(advice.meaning));
  if (advice.new_connection && advice.kind != redis::ServerError::kNotAllowed)
    connection_->drop_refused(trouble_);
}

std::int64_t NodeExchange::server_ms() const { return now_us_ / 1'000 + server_ahead_ms_.value_or(0); }

bool NodeExchange::is_fresh(std::int64_t at_ms) const {
  const std::int64_t age_ms = server_ms() - at_ms;
  return age_ms < kNodeLifeUs / 1'000 && age_ms > -kNodeLifeUs / 1'000;
}

bool NodeExchange::has_read_lately() const { return read_us_ != 0 && now_us_ - read_us_ < kReadValidUs; }

void NodeExchange::tick(std::int64_t now_us) {
  now_us_ = now_us;
  if (connection_) {
    connection_->tick(now_us);
    if (connection_->ready() && !waiting_.empty() && now_us - waiting_.front().since_us > kReplyPatienceUs)
      connection_->drop("it does not answer");
    if (connection_->ready() && now_us >= beat_at_us_) beat();
  }
  take_up();
}

// The time of the server first: without it nothing can be written.
void NodeExchange::beat() {
  beat_at_us_ = now_us_ + kNodeBeatUs;
  ask_time();
  if (!server_ahead_ms_) return;
  if (!place_) return read_places();
  std::vector<std::string> keys = {place_key(store_.key_prefix, *place_)};
  for (std::size_t i = 0; i < kNodeQuestionsMax; ++i) keys.push_back(question_key(store_.key_prefix, i));
  say(words_of("MGET", keys), [this](Reply reply) { read_own_and_questions(reply); });
  const std::string report = write_report(parts_.keys, {parts_.desk.self(), server_ms()});
  say(std::array<std::string_view, 5>{"SET", keys.front(), report, "PX", kReportMs},
      // A server that answers, but takes no writes, must not be asked for a new connection again and again.
      [this](Reply) { connection_->note_use(); });
}

void NodeExchange::ask_time() {
  say(std::array<std::string_view, 1>{"TIME"}, [this](Reply reply) {
    std::int64_t seconds = 0, us = 0;
    if (reply.size() != 3) return;
    for (const auto& [text, into] : {std::pair{reply[1].bytes, &seconds}, std::pair{reply[2].bytes, &us}})
      if (std::from_chars(text.data(), text.data() + text.size(), *into).ec != std::errc()) return;
    const bool is_first = !server_ahead_ms_;
    server_ahead_ms_ = seconds * 1'000 + us / 1'000 - now_us_ / 1'000;
    if (is_first) beat_at_us_ = 0;
  });
}

// If another node has written to our place, both look for new ones.
void NodeExchange::read_own_and_questions(Reply reply) {
  if (reply.size() != 2 + kNodeQuestionsMax) return;
  const std::string_view own = reply[1].bytes;
  if (!own.empty() && writer_of(own) != id_) place_.reset();
  for (std::size_t i = 0; i < kNodeQuestionsMax; ++i)
    if (const auto question = read_question(parts_.keys, reply[2 + i].bytes)) answer(*question, i);
}

void NodeExchange::answer(const NodeQuestion& question, std::size_t number) {
  if (question.asker == id_ || !place_) return;
  const std::int64_t left_ms = question.until_ms - server_ms();
  if (left_ms <= 0 || left_ms > 2 * kQuestionMs) return;
  if (std::ranges::find(answered_, question.id) != answered_.end()) return;
  answered_.push_back(question.id);
  if (answered_.size() > kAnsweredKept) answered_.pop_front();
  const NodeReply reply{id_, parts_.desk.self().name, parts_.desk.answer(question.topic, question.body)};
  say(std::array<std::string_view, 5>{"SET", answer_key(store_.key_prefix, number, *place_),
                                      write_reply(parts_.keys, question.id, reply), "PX", kMessageMs},
      [](Reply) {});
}

void NodeExchange::read_places() {
  if (std::exchange(is_reading_, true)) return;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < kNodesSeenMax; ++i) keys.push_back(place_key(store_.key_prefix, i));
  say(words_of("MGET", keys), [this](Reply reply) { take_places(reply); });
}

void NodeExchange::take_places(Reply reply) {
  is_reading_ = false;
  if (reply.size() != 1 + kNodesSeenMax) return;
  read_us_ = now_us_;
  strangers_ = 0;
  taken_.clear();
  peers_.clear();
  for (std::size_t i = 0; i < kNodesSeenMax; ++i)
    if (!reply[1 + i].bytes.empty()) take_place(i, reply[1 + i].bytes);
  if (!place_) choose_place();
}

void NodeExchange::take_place(std::size_t place, std::string_view value) {
  if (writer_of(value) == id_) return;
  taken_.insert(place);
  auto placed = read_report(parts_.keys, value);
  if (!placed) {
    ++strangers_;
    return;
  }
  if (!is_fresh(placed->at_ms)) return;
  Peer& peer = peers_[placed->report.id];
  if (peer.at_ms < placed->at_ms) peer = {place, std::move(placed->report), placed->at_ms};
}

void NodeExchange::choose_place() {
  is_full_ = taken_.size() >= kNodesSeenMax;
  if (is_full_) return;
  std::size_t place = parts_.random(kNodesSeenMax);
  while (taken_.contains(place)) place = (place + 1) % kNodesSeenMax;
  place_ = place;
  beat_at_us_ = 0;
}

// Questions of this node, and looks at the others.
void NodeExchange::take_up() {
  for (NodeDesk::Look& look : parts_.desk.take_looks())
    looking_.push_back({std::move(look), now_us_ + kNodePatienceUs});
  for (NodeDesk::Question& question :
       parts_.desk.take_questions(kNodeQuestionsOwnMax - std::min(kNodeQuestionsOwnMax, asked_.size()))) {
    const auto same = std::ranges::find_if(asked_, [&](const auto& asked) {
      return asked->question.topic == question.topic && asked->question.body == question.body;
    });
    if (same != asked_.end()) {
      (*same)->then.push_back(std::move(question.then));
      continue;
    }
    auto asked = std::make_unique<Asked>();
    asked->question = {
        .id = fresh_id(), .asker = id_, .topic = std::move(question.topic), .body = std::move(question.body)};
    asked->then.push_back(std::move(question.then));
    asked->give_up_us = now_us_ + kNodePatienceUs;
    asked->answers.answers.push_back(
        {parts_.desk.self().name, parts_.desk.answer(asked->question.topic, asked->question.body)});
    asked_.push_back(std::move(asked));
  }
  if (!looking_.empty() || !asked_.empty()) {
    if (can_meet() && !has_read_lately()) read_places();
    std::erase_if(looking_, [this](const Looking& looking) {
      const bool is_done = is_hopeless() || has_read_lately() || now_us_ >= looking.give_up_us;
      if (is_done) looking.then({seen(), problem()});
      return is_done;
    });
    for (const auto& asked : asked_) advance(*asked);
    std::erase_if(asked_, [](const auto& asked) { return asked->then.empty(); });
  }
}

void NodeExchange::advance(Asked& asked) {
  if (is_hopeless() || now_us_ >= asked.give_up_us) return finish(asked);
  if (!can_meet()) return;
  if (asked.stage == Asked::Stage::kWaits && has_read_lately()) {
    for (const auto& [id, peer] : peers_) asked.missing[peer.place] = id;
    if (asked.missing.empty()) return finish(asked);
    asked.number = parts_.random(kNodeQuestionsMax);
    post(asked);
  } else if (asked.stage == Asked::Stage::kOpen && !asked.is_polling && now_us_ >= asked.poll_at_us) {
    poll(asked);
  }
}

// Replies find the question by its id: it may be over by then.
void NodeExchange::post(Asked& asked) {
  asked.stage = Asked::Stage::kPosting;
  asked.question.until_ms = server_ms() + kQuestionMs;
  const auto posted = [this, id = asked.question.id](Reply reply) {
    const auto same = std::ranges::find_if(asked_, [&](const auto& each) { return each->question.id == id; });
    if (same == asked_.end()) return;
    Asked& mine = **same;
    if (reply.front().is("OK")) {
      mine.stage = Asked::Stage::kOpen;
      mine.poll_at_us = now_us_ + kAnswerPollUs;
    } else if (++mine.numbers_tried < kNodeQuestionsMax) {
      mine.number = (mine.number + 1) % kNodeQuestionsMax;
      post(mine);
    } else {
      mine.answers.problem = "the nodes have too many questions open; ask again in a moment";
      mine.give_up_us = 0;
    }
  };
  say(std::array<std::string_view, 6>{"SET", question_key(store_.key_prefix, asked.number),
                                      write_question(parts_.keys, asked.question), "PX", kMessageMs, "NX"},
      posted);
}

void NodeExchange::poll(Asked& asked) {
  asked.is_polling = true;
  asked.poll_at_us = now_us_ + kAnswerPollUs;
  std::vector<std::string> keys;
  for (const auto& [place, id] : asked.missing)
    keys.push_back(answer_key(store_.key_prefix, asked.number, place));
  say(words_of("MGET", keys), [this, id = asked.question.id](Reply reply) {
    const auto same = std::ranges::find_if(asked_, [&](const auto& each) { return each->question.id == id; });
    if (same == asked_.end()) return;
    Asked& mine = **same;
    mine.is_polling = false;
    for (const redis::RespValue& value : reply.subspan(1)) {
      auto said = read_reply(parts_.keys, id, value.bytes);
      if (!said ||
          std::erase_if(mine.missing, [&](const auto& each) { return each.second == said->node; }) == 0)
        continue;
      mine.answers.answers.push_back({std::move(said->name), std::move(said->body)});
    }
    if (mine.missing.empty()) mine.give_up_us = 0;
  });
}

void NodeExchange::finish(Asked& asked) {
  for (const auto& [place, id] : asked.missing) {
    const auto peer = peers_.find(id);
    asked.answers.silent.push_back(peer == peers_.end() ? id : peer->second.report.name);
  }
  if (asked.answers.problem.empty()) asked.answers.problem = problem();
  if (can_meet() && asked.stage == Asked::Stage::kOpen)
    say(std::array<std::string_view, 2>{"DEL", question_key(store_.key_prefix, asked.number)}, [](Reply) {});
  for (std::size_t i = 0; i < asked.then.size(); ++i)
    asked.then[i](i + 1 < asked.then.size() ? doors::NodeAnswers(asked.answers) : std::move(asked.answers));
  asked.then.clear();
}

std::vector<doors::NodeSeen> NodeExchange::seen() const {
  const std::int64_t wall_us = parts_.wall_clock.now_us();
  std::vector<doors::NodeSeen> nodes;
  for (const auto& [id, peer] : peers_)
    nodes.push_back({peer.report, wall_us - std::max<std::int64_t>(server_ms() - peer.at_ms, 0) * 1'000});
  std::ranges::sort(nodes, {},
                    [](const doors::NodeSeen& node) { return std::pair(node.report.name, node.report.id); });
  nodes.insert(nodes.begin(), {parts_.desk.self(), wall_us, true});
  return nodes;
}

std::string NodeExchange::problem() const {
  if (!connection_ || !trouble_.empty()) return trouble_;
  if (!has_read_lately())
    return fmt::format("{} does not answer, so the other nodes are not known", store_.redis->to_string());
  if (is_full_)
    return fmt::format("more than {} nodes share this Redis; this one is not seen", kNodesSeenMax);
  if (strangers_ > 0)
    return fmt::format("the reports of {} nodes cannot be read; do all have the same key secrets?",
                       strangers_);
  return "";
}

std::string NodeExchange::fresh_id() const {
  std::string bytes;
  for (std::size_t i = 0; i < kNodeIdBytes / 2; ++i) bytes.push_back(static_cast<char>(parts_.random(256)));
  return to_hex(bytes);
}

}  // namespace sluice::server
