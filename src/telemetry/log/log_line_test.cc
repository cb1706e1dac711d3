#include "telemetry/log/log_line.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>

#include "base/text/json_reader.h"
#include "base/text/utf8.h"

namespace sluice {
namespace {

constexpr std::int64_t kAtUs = 1'794'994'200'125'999;  // 2026-11-18T09:30:00.125999Z

std::string line(LogFormat format, std::string_view message, std::initializer_list<LogField> fields = {},
                 std::uint64_t dropped = 0) {
  std::string out;
  append_log_line({kAtUs, LogEvent::kPoliciesLoaded, message, {fields.begin(), fields.size()}, dropped},
                  format, out);
  return out;
}

TEST(LogLineTest, ConsoleIsForPeopleAndJsonForPrograms) {
  EXPECT_EQ(
      line(LogFormat::kConsole, "loaded 3 policies", {{"policies", 3}, {"file", "a b.yaml"}}),
      "2026-11-18T09:30:00.125Z info loaded 3 policies event=policies.loaded policies=3 file=\"a b.yaml\"\n");
  EXPECT_EQ(line(LogFormat::kJson, "loaded 3 policies", {{"policies", 3}, {"again", true}}, 7),
            R"({"time":"2026-11-18T09:30:00.125Z","level":"info","event":"policies.loaded",)"
            R"("message":"loaded 3 policies","policies":3,"again":true,"dropped":7})"
            "\n");
}

TEST(LogLineTest, TheCalendarIsRight) {
  for (const auto& [at_us, expected] :
       std::map<std::int64_t, std::string>{{0, "1970-01-01T00:00:00.000Z"},
                                           {951'782'399'999'000, "2000-02-28T23:59:59.999Z"},
                                           {951'782'400'000'000, "2000-02-29T00:00:00.000Z"},
                                           {1'709'164'800'000'000, "2024-02-29T00:00:00.000Z"},
                                           {4'107'542'400'000'000, "2100-03-01T00:00:00.000Z"}}) {
    std::string out;
    append_log_line({at_us, LogEvent::kNodeStopped, "", {}, 0}, LogFormat::kConsole, out);
    EXPECT_TRUE(out.starts_with(expected + ' ')) << out << expected;
  }
}

TEST(LogLineTest, NothingThatItHoldsForgesALineOrAField) {
  const std::string console = line(LogFormat::kConsole, "a\nb\r\x1b[2J", {{"key", "x event=node.stopped\n"}});
  EXPECT_EQ(console.find('\n'), console.size() - 1);
  EXPECT_NE(console.find(R"(a\x0ab\x0d\x1b[2J)"), std::string::npos) << console;
  EXPECT_NE(console.find(R"(key="x event=node.stopped\u000a")"), std::string::npos) << console;
  const std::string json = line(LogFormat::kJson, "m", {{"level", "error"}, {"event", "node.stopped"}});
  EXPECT_EQ(json.find("error"), std::string::npos) << json;
  EXPECT_EQ(json.find("node.stopped"), std::string::npos) << json;
}

TEST(LogLineTest, JsonIsValidWhateverTheBytes) {
  std::mt19937 random(7);  // the seed of a run that fails is this one
  for (int round = 0; round < 2'000; ++round) {
    std::string text(random() % 40, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string out = line(LogFormat::kJson, text, {{text, text}, {"n", -5}});
    ASSERT_TRUE(is_utf8(out));
    ASSERT_EQ(out.find('\n'), out.size() - 1);
    std::string scratch;
    JsonReader reader(out, scratch);
    ASSERT_TRUE(reader.enter_object()) << out;
    int fields = 0;
    for (std::string_view name; reader.next_member(name); ++fields) reader.skip();
    ASSERT_TRUE(reader.finish()) << reader.error() << out;
    ASSERT_GE(fields, 5);
  }
}

TEST(LogLineTest, ALongTextIsCutBetweenCharacters) {
  std::string text(kLogTextBytesMax - 1, 'x');
  text += "äöü";
  const std::string out = line(LogFormat::kJson, text);
  EXPECT_TRUE(is_utf8(out));
  EXPECT_EQ(out.find("\xef\xbf\xbd"), std::string::npos) << "no half character";
  EXPECT_LT(out.size(), kLogTextBytesMax + 200);
}

// docs/logs.md has one row per event: | `policies.loaded` | info | … |
TEST(LogLineTest, TheDocumentListsEveryEventWithItsLevel) {
  std::ifstream file(SLUICE_SOURCE_DIR "/docs/logs.md");
  ASSERT_TRUE(file);
  std::set<std::string> documented, known;
  for (std::string row; std::getline(file, row);) {
    if (!row.starts_with("| `")) continue;
    const std::size_t end = row.find('`', 3);
    const std::string name = row.substr(3, end - 3);
    if (name.find('.') == std::string::npos) continue;
    const std::size_t from = row.find("| ", end) + 2;
    documented.insert(name + ' ' + row.substr(from, row.find(" |", from) - from));
  }
  for (std::size_t i = 0; i < kLogEvents; ++i)
    known.insert(std::string(name_of(static_cast<LogEvent>(i)))
                     .append(" ")
                     .append(to_string(level_of(static_cast<LogEvent>(i)))));
  EXPECT_EQ(documented, known);
}

}  // namespace
}  // namespace sluice
