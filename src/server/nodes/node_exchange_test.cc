#include "server/nodes/node_exchange.h"

#include <gmock/gmock.h>

#include <map>
#include <random>

#include "base/clock.h"
#include "base/limits/node_limits.h"
#include "redis/protocol/resp.h"
#include "redis/testing/fake_transport.h"
#include "server/testing/cells_fixture.h"

namespace sluice::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// A server with the commands that nodes use for each other, and its own clock.
class MeetingPlace {
 public:
  struct Value {
    std::string bytes;
    std::int64_t until_ms = 0;
  };
  void answer(std::span<const redis::RespValue> words, std::string& out) {
    const std::string command(words[0].bytes);
    ++commands[command];
    std::erase_if(keys, [this](const auto& each) { return each.second.until_ms <= now_ms; });
    if (refuses && (command == "SET" || command == "MGET")) {
      out += "-NOPERM this user has no permissions\r\n";
    } else if (command == "TIME") {
      redis::append_command(out, {std::to_string(now_ms / 1000), std::to_string(now_ms % 1000 * 1000)});
    } else if (command == "MGET") {
      redis::append_array(out, words.size() - 1);
      for (const redis::RespValue& key : words.subspan(1)) {
        const auto found = keys.find(std::string(key.bytes));
        if (found == keys.end())
          out += "$-1\r\n";
        else
          redis::append_bulk(out, found->second.bytes);
      }
    } else if (command == "SET") {
      const std::string key(words[1].bytes);
      if (words.size() == 6 && keys.contains(key)) {
        out += "$-1\r\n";
      } else {
        keys[key] = {std::string(words[2].bytes), now_ms + std::stoll(std::string(words[4].bytes))};
        out += "+OK\r\n";
      }
    } else if (command == "DEL") {
      out += keys.erase(std::string(words[1].bytes)) > 0 ? ":1\r\n" : ":0\r\n";
    } else {
      out += "+OK\r\n";
    }
  }

  std::map<std::string, Value> keys;
  std::map<std::string, int> commands;
  std::int64_t now_ms = 1'700'000'000'000;
  bool refuses = false, is_frozen = false;
};

// One node: a desk, an exchange and its wire.
struct Member {
  Member(std::string name, MeetingPlace& meeting_place, const ManualClock& time, std::uint64_t seed,
         std::string_view secret = "")
      : place(meeting_place),
        clock(time),
        keys(secret, nullptr),
        desk([this] { return self; }),
        exchange((self.id = std::string(16 - name.size(), '0') + name, self.name = name,
                  NodeExchange::Parts{wire, clock, clock,
                                      [random = std::mt19937_64(seed)](std::uint64_t below) mutable {
                                        return random() % below;
                                      },
                                      keys, desk})) {
    desk.on_question("echo", [this](std::string_view body) { return self.name + " " + std::string(body); });
    exchange.follow(testing::store_at("redis"));
  }
  void pass() {
    exchange.tick(clock.now_us());
    if (!wire.open() || place.is_frozen) return;
    if (std::exchange(is_new, false)) wire.accept();
    for (std::string asked = wire.take_sent(); !asked.empty() && wire.open(); asked = wire.take_sent()) {
      parser.feed(asked);
      std::string answers;
      while (parser.next() == redis::RespParser::Status::kReply)
        place.answer(parser.reply().subspan(1), answers);
      wire.say(answers);
    }
  }

  MeetingPlace& place;
  const ManualClock& clock;
  const NodeKeys keys;
  NodeReport self;
  NodeDesk desk;
  redis::FakeTransport wire;
  redis::RespParser parser;
  bool is_new = true;
  NodeExchange exchange;
};

class NodeExchangeTest : public ::testing::Test {
 protected:
  Member& add(const std::string& name, std::string_view secret = "") {
    members.push_back(std::make_unique<Member>(name, place, clock, members.size() + 1, secret));
    return *members.back();
  }
  void pass(std::int64_t ms) {
    for (; ms > 0; ms -= 10) {
      clock.advance(10'000);
      place.now_ms += 10;
      for (const auto& member : members) member->pass();
    }
  }
  // What a node sees now.
  doors::NodesSeen look(Member& member) {
    std::optional<doors::NodesSeen> seen;
    EXPECT_TRUE(member.desk.look([&](doors::NodesSeen&& all) { seen = std::move(all); }));
    for (int i = 0; i < 400 && !seen; ++i) pass(10);
    EXPECT_TRUE(seen);
    return seen.value_or(doors::NodesSeen{});
  }
  static std::vector<std::string> names(const doors::NodesSeen& seen) {
    std::vector<std::string> all;
    for (const doors::NodeSeen& node : seen.nodes) all.push_back(node.report.name);
    return all;
  }
  doors::NodeAnswers ask(Member& member, const std::string& body, const std::string& topic = "echo") {
    std::optional<doors::NodeAnswers> answers;
    EXPECT_TRUE(member.desk.ask(topic, body, [&](doors::NodeAnswers&& all) { answers = std::move(all); }));
    for (int i = 0; i < 400 && !answers; ++i) pass(10);
    EXPECT_TRUE(answers);
    return answers.value_or(doors::NodeAnswers{});
  }
  static std::vector<std::string> bodies(const doors::NodeAnswers& answers) {
    std::vector<std::string> all;
    for (const doors::NodeAnswer& answer : answers.answers) all.push_back(answer.body);
    return all;
  }

  ManualClock clock{1'700'000'000'000'000};
  MeetingPlace place;
  std::vector<std::unique_ptr<Member>> members;
};

TEST_F(NodeExchangeTest, NodesSeeEachOther) {
  Member &a = add("a"), &b = add("b");
  b.self.checks.allowed = 7;
  add("c");
  pass(2'000);
  const auto seen = look(a);
  EXPECT_THAT(names(seen), ElementsAre("a", "b", "c"));
  EXPECT_TRUE(seen.nodes[0].is_self);
  EXPECT_FALSE(seen.nodes[1].is_self);
  EXPECT_EQ(seen.nodes[1].report.checks.allowed, 7u);
  EXPECT_EQ(seen.problem, "");
  EXPECT_THAT(names(look(b)), ElementsAre("b", "a", "c"));
}

TEST_F(NodeExchangeTest, ANodeThatIsGoneDisappearsAfterTenSeconds) {
  Member& a = add("a");
  add("b");
  pass(2'000);
  EXPECT_THAT(names(look(a)), ElementsAre("a", "b"));
  members.pop_back();
  pass(5'000);
  EXPECT_THAT(names(look(a)), ElementsAre("a", "b"));
  pass(6'000);
  EXPECT_THAT(names(look(a)), ElementsAre("a"));
}

TEST_F(NodeExchangeTest, TheClocksOfNodesDoNotMatter) {
  place.now_ms += 86'400'000;
  Member& a = add("a");
  add("b");
  pass(2'000);
  EXPECT_THAT(names(look(a)), ElementsAre("a", "b"));
  EXPECT_NEAR(static_cast<double>(look(a).nodes[1].seen_us), static_cast<double>(clock.now_us()), 2e6);
}

TEST_F(NodeExchangeTest, InMemoryThereIsOnlyThisNode) {
  Member& a = add("a");
  a.exchange.follow(testing::store_at("memory"));
  EXPECT_THAT(names(look(a)), ElementsAre("a"));
  const auto answers = ask(a, "hello");
  EXPECT_THAT(bodies(answers), ElementsAre("a hello"));
  EXPECT_EQ(answers.problem, "");
}

TEST_F(NodeExchangeTest, EveryNodeAnswersAQuestion) {
  Member& a = add("a");
  add("b");
  add("c");
  pass(2'000);
  const std::int64_t asked_us = clock.now_us();
  const auto answers = ask(a, "hello");
  EXPECT_THAT(bodies(answers), UnorderedElementsAre("a hello", "b hello", "c hello"));
  EXPECT_EQ(answers.answers[0].node, "a");
  EXPECT_THAT(answers.silent, IsEmpty());
  EXPECT_EQ(answers.problem, "");
  EXPECT_LT(clock.now_us() - asked_us, 2 * kSecondUs);
  EXPECT_THAT(bodies(ask(a, "?", "a topic of another version")), ElementsAre("", "", ""));
}

TEST_F(NodeExchangeTest, QuestionsAreAnsweredSideBySideAndLeaveNothingBehind) {
  Member &a = add("a"), &b = add("b");
  pass(2'000);
  std::vector<std::string> all;
  for (const std::string body : {"1", "2", "1", "3", "4", "5", "6"})
    for (Member* member : {&a, &b})
      ASSERT_TRUE(member->desk.ask("echo", body, [&all](doors::NodeAnswers&& answers) {
        for (const doors::NodeAnswer& answer : answers.answers) all.push_back(answer.body);
      }));
  pass(8'000);
  EXPECT_THAT(all, SizeIs(28));
  pass(5'000);
  EXPECT_THAT(place.keys, SizeIs(2)) << "the places";
}

TEST_F(NodeExchangeTest, TheQuestionsThatWaitAreBounded) {
  Member& a = add("a");
  place.is_frozen = true;
  int taken = 0;
  while (taken < 1'000 && a.desk.ask("echo", std::to_string(taken), [](doors::NodeAnswers&&) {})) ++taken;
  EXPECT_EQ(taken, kNodeQuestionsWaitingMax);
  EXPECT_FALSE(a.desk.ask("echo", std::string(kNodeQuestionBytesMax, 'x'), [](doors::NodeAnswers&&) {}));
}

TEST_F(NodeExchangeTest, ASilentNodeIsNamedAndNobodyWaitsForIt) {
  Member& a = add("a");
  add("b");
  add("c");
  pass(2'000);
  members.pop_back();
  const std::int64_t asked_us = clock.now_us();
  const auto answers = ask(a, "hello");
  EXPECT_THAT(bodies(answers), UnorderedElementsAre("a hello", "b hello"));
  EXPECT_THAT(answers.silent, ElementsAre("c"));
  EXPECT_LT(clock.now_us() - asked_us, 3 * kSecondUs);
}

TEST_F(NodeExchangeTest, AFrozenServerIsAProblemAndItsEndIsNoticed) {
  Member& a = add("a");
  add("b");
  pass(2'000);
  place.is_frozen = true;
  const auto answers = ask(a, "hello");
  EXPECT_THAT(bodies(answers), ElementsAre("a hello"));
  EXPECT_NE(answers.problem, "");
  EXPECT_THAT(look(a).problem, HasSubstr("redis"));
  place.is_frozen = false;
  for (const auto& member : members) member->is_new = true;
  pass(12'000);
  EXPECT_THAT(names(look(a)), ElementsAre("a", "b"));
}

TEST_F(NodeExchangeTest, AServerThatRefusesIsAProblem) {
  Member& a = add("a");
  place.refuses = true;
  pass(2'000);
  const auto seen = look(a);
  EXPECT_THAT(names(seen), ElementsAre("a"));
  EXPECT_THAT(seen.problem, HasSubstr("refuses to let the nodes meet"));
}

TEST_F(NodeExchangeTest, NodesWithOtherSecretsDoNotReadEachOther) {
  Member& a = add("a", "one secret");
  add("b", "another secret");
  Member& c = add("c", "one secret");
  pass(2'000);
  const auto seen = look(a);
  EXPECT_THAT(names(seen), ElementsAre("a", "c"));
  EXPECT_THAT(seen.problem, HasSubstr("the reports of 1 nodes cannot be read"));
  EXPECT_THAT(bodies(ask(c, "hello")), UnorderedElementsAre("a hello", "c hello"));
}

TEST_F(NodeExchangeTest, NothingInTheServerCanBeReadWithoutTheSecret) {
  Member& a = add("a", "one secret");
  a.self.problems = {"something private"};
  a.desk.on_question("who", [](std::string_view) { return "the key of bob"; });
  add("b", "one secret").desk.on_question("who", [](std::string_view) { return "the key of bob"; });
  pass(2'000);
  EXPECT_THAT(bodies(ask(a, "bob?", "who")), ElementsAre("the key of bob", "the key of bob"));
  for (const auto& [key, value] : place.keys) {
    EXPECT_EQ(value.bytes.find("bob"), std::string::npos) << key;
    EXPECT_EQ(value.bytes.find("private"), std::string::npos) << key;
  }
}

TEST_F(NodeExchangeTest, BrokenAndOldValuesOfOthersAreTolerated) {
  Member &a = add("a"), &b = add("b");
  pass(2'000);
  const std::string old = place.keys.begin()->second.bytes;
  const NodeKeys keys("", nullptr);
  NodeReport past{.id = std::string(16, 'x'), .name = "past"};
  for (std::size_t i = 0, free = 0; i < kNodesSeenMax && free < 5; ++i) {
    const std::string key = place_key("rl:", i);
    if (place.keys.contains(key)) continue;
    const std::int64_t long_ago = place.now_ms - 60'000;
    const std::vector<std::string> values = {"", "x", std::string(1 << 20, 'x'), old,
                                             write_report(keys, {past, long_ago})};
    place.keys[key] = {values[free++], place.now_ms + 1'000'000};
  }
  for (std::size_t i = 0; i < 3; ++i)
    place.keys[question_key("rl:", i)] = {std::string(i * 5'000, 'x'), place.now_ms + 1'000'000};
  // A question from long ago, and one that is open for ever, are not answered.
  for (const std::int64_t until_ms : {place.now_ms - 1, place.now_ms + 86'400'000})
    place.keys[question_key("rl:", 3)] = {
        write_question(keys, {std::string(16, 'q'), std::string(16, 'y'), until_ms, "echo", "hello"}),
        place.now_ms + 1'000'000};
  pass(2'000);
  for (const auto& [key, value] : place.keys) EXPECT_EQ(key.find("say:3"), std::string::npos) << key;
  EXPECT_THAT(names(look(a)), ElementsAre("a", "b"));
  EXPECT_THAT(bodies(ask(b, "hello")), UnorderedElementsAre("a hello", "b hello"));
}

TEST_F(NodeExchangeTest, TwoNodesAtOnePlaceMove) {
  Member& a = add("a");
  pass(2'000);
  members.push_back(std::make_unique<Member>("b", place, clock, 1));  // the same random numbers as `a`
  pass(2'000);
  const auto report = place.keys.begin()->second;
  EXPECT_THAT(names(look(a)), ElementsAre("a", "b"));
  // Another node's report appears at every place that is in use, as after a long pause.
  const std::string other = write_report(NodeKeys("", nullptr), {NodeReport{.id = std::string(16, 'z')}, 1});
  for (auto& [key, value] : place.keys) value.bytes = other;
  pass(3'000);
  EXPECT_THAT(names(look(a)), ElementsAre("a", "b"));
}

TEST_F(NodeExchangeTest, ItsCostIsBounded) {
  add("a");
  pass(2'000);
  place.commands.clear();
  pass(10'000);
  EXPECT_THAT(place.commands,
              ElementsAre(std::pair("MGET", 10), std::pair("SET", 10), std::pair("TIME", 10)));
  EXPECT_THAT(place.keys, SizeIs(1));
}

TEST_F(NodeExchangeTest, MoreNodesThanPlacesAreAProblemOfTheLast) {
  for (std::size_t i = 0; i < kNodesSeenMax; ++i)
    place.keys[place_key("rl:", i)] = {
        write_report(NodeKeys("", nullptr), {NodeReport{.id = std::to_string(1'000'000'000'000'000 + i)}, 0}),
        place.now_ms + 1'000'000};
  Member& a = add("a");
  pass(2'000);
  EXPECT_THAT(look(a).problem, HasSubstr("more than 128 nodes"));
  EXPECT_THAT(place.keys, SizeIs(kNodesSeenMax));
  place.keys.erase(place_key("rl:", 77));
  pass(2'000);
  EXPECT_EQ(look(a).problem, "");
}

}  // namespace
}  // namespace sluice::server
