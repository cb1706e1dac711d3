// JSON has its own reader, for speed; it must give the same result as the YAML reader.
#include "document/syntax/json_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "document/syntax/yaml_tree.h"
#include "policy/document/policy_writer.h"
#include "policy/testing/policies.h"
#include "policy/testing/random_policies.h"

namespace sluice {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Kind = DocumentNode::Kind;

// The contents of a tree, as a text for comparison.
std::string dump(const DocumentNode& node) {
  std::string text = std::to_string(node.line);
  text += node.quoted ? 'q' : 'p';
  switch (node.kind) {
    case Kind::kNull:
      return text + "null" + node.text;
    case Kind::kText:
      return text + '<' + node.text + '>';
    case Kind::kList:
    case Kind::kMap:
      break;
  }
  const bool map = node.kind == Kind::kMap;
  text += map ? '{' : '[';
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (map) text += std::to_string(node.keys[i].line) + '<' + node.keys[i].text + ">:";
    text += dump(node.items[i]) + ',';
  }
  return text + (map ? '}' : ']');
}

std::string json_outcome(const std::string& text) {
  try {
    const auto tree = read_json_tree(text);
    return tree ? dump(*tree) : "not JSON";
  } catch (const Refused& refused) {
    return "refused: " + refused.message + " in line " + std::to_string(refused.line);
  }
}

std::string yaml_outcome(const std::string& text) {
  try {
    return dump(read_yaml_tree(text));
  } catch (const Refused& refused) {
    return "refused: " + refused.message + " in line " + std::to_string(refused.line);
  }
}

std::string problem_of(std::string_view text) {
  Problems problems;
  EXPECT_FALSE(parse_document_tree(text, "f", problems)) << text;
  return problems.list().size() == 1 ? problems.list()[0].text() : "not one problem";
}

TEST(JsonTree, EveryKindOfValueWithItsLine) {
  EXPECT_EQ(json_outcome("{\"a\":\n [1, -2.5e3, true,\n\"5\", null, \"\"],\r\n\"b\" : {}, \"\\u00e9\": []}"),
            "1p{1<a>:2p[2p<1>,2p<-2.5e3>,2p<true>,3q<5>,3pnull,3q<>,],4<b>:4p{},4<é>:4p[],}");
}

// Random values as people and programs write them, with spaces and line breaks wherever JSON allows them,
// except between a name and its colon.
class RandomJson {
 public:
  explicit RandomJson(std::mt19937_64& random) : random_(random) {}

  std::string document() { return space() + collection(0) + space(); }

  // Corrupts the text.
  std::string mutated(std::string text) {
    constexpr std::string_view kSpice = "{}[],:\"\\ \n0123456789-+.eEtfn'&*!#|>%@`?~a/u";
    for (std::size_t changes = 1 + below(3); changes > 0; --changes) {
      const std::size_t at = below(text.size() + 1);
      switch (below(4)) {
        case 0:
          text.erase(at, 1 + below(4));
          break;
        case 1:
          text.insert(at, 1, kSpice[below(kSpice.size())]);
          break;
        case 2:
          text.insert(at, text.substr(below(text.size() + 1), below(12)));
          break;
        default:
          if (at < text.size()) text[at] = kSpice[below(kSpice.size())];
      }
    }
    return text;
  }

  std::size_t below(std::size_t end) { return random_() % end; }

 private:
  std::string space() {
    constexpr std::string_view kSpaces[] = {"", "", "", " ", "\n", "\r\n", "  ", "\t", "\n\n "};
    return std::string(kSpaces[below(std::size(kSpaces))]);
  }

  std::string string() {
    constexpr std::string_view kPieces[] = {
        "a",   "id",   "5",   "true",    "null",    " ",       ":",    ": ",      "#",     " #",
        "-",   "'",    "{",   "]",       ",",       "&a",      "*a",   "!t",      "%",     "~",
        "é",   "日本", "😀",  "\u0085",  "\u2028",  "\\n",     "\\\"", "\\\\",    "\\/",   "\\t",
        "\\b", "\\f",  "\\r", "\\u00e9", "\\u0000", "\\u20ac", "---",  "\\u001f", "\ufeff"};
    std::string text = "\"";
    for (std::size_t left = below(5); left > 0; --left) text += kPieces[below(std::size(kPieces))];
    return text + '"';
  }

  std::string scalar() {
    constexpr std::string_view kPlainScalars[] = {
        "0", "-0", "12", "-1.5", "1e5", "2E-3", "1.0e+10", "true", "false", "null", "9223372036854775808"};
    return below(2) == 0 ? string() : std::string(kPlainScalars[below(std::size(kPlainScalars))]);
  }

  std::string collection(std::size_t depth) {
    const bool map = below(2) == 0;
    std::string text = map ? "{" : "[";
    const std::size_t count = below(40) == 0 ? 30 : below(5);  // sometimes large enough for the set of names
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) text += ',';
      text += space();
      if (map) text += string() + (below(2) == 0 ? ":" : " :") + space();
      text += below(3) == 0 && depth < 17 ? collection(depth + 1) : scalar();
      text += space();
    }
    return text + (map ? space() + '}' : space() + ']');
  }

  std::mt19937_64& random_;
};

// JSON that YAML, or its reader, interprets differently (json_tree.h): a carriage return without a line feed,
// a line break before a colon.
bool is_known_difference(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')) return true;
    if (text[i] != '\n') continue;
    const std::size_t next = text.find_first_not_of(" \t\r\n", i);
    if (next != std::string::npos && text[next] == ':') return true;
  }
  return false;
}

// If the JSON reader returns a tree, the YAML reader returns the same tree. If it refuses the text for good,
// so does the other, though it may report an error further down.
void expect_same(const std::string& text, const std::string& json) {
  const std::string yaml = yaml_outcome(text);
  if (json.starts_with("refused"))
    ASSERT_THAT(yaml, StartsWith("refused")) << json << '\n' << text;
  else
    ASSERT_EQ(json, yaml) << text;
}

TEST(JsonTreeDifferential, TheSameTreeFromBothReaders) {
  auto random = testing::seeded_random();
  RandomJson json(random);
  int trees = 0, refusals = 0, broken = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = json.document();
    if (round % 2 == 0) text = json.mutated(std::move(text));
    if (is_known_difference(text)) continue;
    const std::string outcome = json_outcome(text);
    if (outcome == "not JSON") {
      ++broken;
      continue;  // then the YAML reader alone decides
    }
    ++(outcome.starts_with("refused") ? refusals : trees);
    ASSERT_NO_FATAL_FAILURE(expect_same(text, outcome));
  }
  EXPECT_GT(trees, 1000);
  EXPECT_GT(refusals, 100);
  EXPECT_GT(broken, 1000);
}

TEST(JsonTreeDifferential, PoliciesToo) {
  auto random = testing::seeded_random();
  testing::RandomPolicies policies(random);
  RandomJson json(random);
  for (int round = 0; round < 1000; ++round) {
    std::string text;
    write_policy(policies.next(), text);
    if (text.size() > 1500) continue;  // may have names that are too long for YAML
    if (round % 2 == 0) text = json.mutated(std::move(text));
    if (is_known_difference(text)) continue;
    const std::string outcome = json_outcome(text);
    if (outcome == "not JSON") continue;
    ASSERT_NO_FATAL_FAILURE(expect_same(text, outcome));
  }
}

TEST(JsonTree, TakesJsonThatTheYamlReaderCannot) {
  EXPECT_EQ(json_outcome(R"(["\ud83d\ude00"])"), "1p[1q<😀>,]");
  EXPECT_EQ(json_outcome("{\"a\"\n:\n1}"), "1p{1<a>:3p<1>,}");
  EXPECT_EQ(json_outcome("[\r1]"), "1p[1p<1>,]");
  const std::string name(2000, 'n');
  EXPECT_EQ(json_outcome("{\"" + name + "\":1}"), "1p{1<" + name + ">:1p<1>,}");
}

TEST(JsonTree, YamlInBracketsStillWorks) {
  for (const std::string_view text :
       {"{policies: [{id: p, limits: [{rate: 1/s}]}]}", "{\"policies\": [{id: p, limits: [{rate: 1/s}]}]}",
        "{\"policies\": [{\"id\": \"p\", \"limits\": [{\"rate\": \"1/s\"},]}]} # a comma too many, and a "
        "comment",
        "{'policies': [{\"id\": p, \"limits\": [{\"rate\": \"1\\x2fs\"}]}]}\n...\n"})
    EXPECT_EQ(testing::policies_of(text), testing::policies_of("policies: [{id: p, limits: [{rate: 1/s}]}]"));
}

TEST(JsonTree, NumbersAndTextsStayApart) {
  EXPECT_THAT(testing::problems_of(R"({"policies":[{"id":5,"limits":[{"rate":"1/s","burst":"5"}]}]})"),
              StartsWith("test.yaml:1: policies[0].id: 5 must be a text"));
  EXPECT_THAT(testing::problems_of(R"({"policies":[{"id":"5","limits":[{"rate":"1/s","burst":"5"}]}]})"),
              StartsWith("test.yaml:1: policies[0].limits[0].burst: must be a whole number"));
  EXPECT_THAT(testing::problems_of(R"({"policies":[{"id":"5","limits":[{"rate":"1/s"}],"shadow":"true"}]})"),
              StartsWith("test.yaml:1: policies[0].shadow: must be true or false"));
}

// Text that is neither is reported as the format that it looks like: JSON if the first word inside the
// brackets is quoted.
TEST(JsonTree, BrokenTextIsReportedAsWhatItLooksLike) {
  EXPECT_EQ(problem_of("{\"a\":\n [1,\n 2}"), "f:3: not JSON: expected a comma or ]");
  EXPECT_EQ(problem_of("{\"a\": \"x"), "f:1: not JSON: unfinished string");
  EXPECT_EQ(problem_of("[{\"a\": 1}]\n}"), "f:2: not JSON: unexpected text after the end of the JSON");
  EXPECT_EQ(problem_of("{\"a\": !x 1}"), "f:1: not JSON: expected a value");
  EXPECT_THAT(problem_of("{a:\n [1,\n 2}"), StartsWith("f:3: not YAML or JSON: "));
  EXPECT_EQ(problem_of("{a: !x 1}"), "f:1: a tag (\"!x\"); tags are not supported");
  EXPECT_EQ(problem_of("{\"a\": 1,\n\"a\": 2}"), "f:2: duplicate field \"a\"");
  EXPECT_EQ(problem_of(std::string(1u << 20, '[')), "f:1: nesting deeper than 16 levels");
  EXPECT_EQ(problem_of("{\"a\": \"\n\x01\"}"), "f:2: a control character; is this a text file?");
  EXPECT_EQ(problem_of("{\"a\": \"\x7f\"}"), "f:1: a control character; is this a text file?");
  EXPECT_EQ(problem_of("{\"a\": \"\xff\"}"), "f:1: bytes that are not UTF-8; is this a text file?");
}

}  // namespace
}  // namespace sluice
