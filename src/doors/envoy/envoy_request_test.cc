// Valid and invalid requests of Envoy: each invalid one is refused with the field to blame.
#include "doors/envoy/envoy_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "base/limits/envoy_limits.h"
#include "base/testing/seed.h"
#include "doors/testing/envoy_fixture.h"

namespace sluice::doors::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string problem_of(const Result<void>& read) {
  return read ? "" : read.error().field + ": " + read.error().message;
}
std::string wire_problem(const EnvoyMessage& message) {
  EnvoyRequest out;
  return problem_of(read_envoy_request(message.encoded(), out));
}
std::string json_problem(std::string_view body) {
  EnvoyRequest out;
  std::string scratch;
  return problem_of(read_envoy_json(body, scratch, out));
}

TEST(EnvoyRequest, HasAllThatTheMessageHas) {
  EnvoyRequest out;
  const std::string bytes =
      EnvoyMessage{.domain = "shop",
                   .descriptors = {{.entries = {{"path", "/a"}, {"ip", ""}}},
                                   {.entries = {{"k", "v"}}, .limit = {{5, 3}}, .hits = 0}},
                   .hits_addend = 7}
          .encoded();
  ASSERT_EQ(problem_of(read_envoy_request(bytes, out)), "");
  EXPECT_EQ(out.domain, "shop");
  ASSERT_EQ(out.descriptors.size(), 2u);
  ASSERT_EQ(out.entries_of(0).size(), 2u);
  EXPECT_EQ(out.entries_of(0)[1].name, "ip");
  EXPECT_EQ(out.entries_of(1)[0].value, "v");
  EXPECT_EQ(out.hits_of(0), 7u);
  EXPECT_EQ(out.hits_of(1), 0u) << "present, so it is a look";
  EXPECT_EQ(rate_of(*out.descriptors[1].limit), (Rate{5, 3'600'000'000}));
}

// Reads a request with one entry of these bytes: returns "key=value", or the problem.
std::string read_entry_bytes(std::string_view entry) {
  std::string bytes;
  net::WireWriter writer(bytes);
  writer.string(1, "d");
  const auto descriptor = writer.begin_message(2);
  writer.element(1, entry);
  writer.end_message(descriptor);
  EnvoyRequest out;
  if (const auto read = read_envoy_request(bytes, out); !read) return problem_of(read);
  const EnvoyEntry& got = out.entries_of(0)[0];
  return std::string(got.name) + '=' + std::string(got.value);
}

TEST(EnvoyRequest, AnEntryMayBeWrittenInAnyWay) {
  const std::string long_value(200, 'v');
  const std::string long_entry = "\x0a\x01k\x12\xc8\x01" + long_value;
  const std::tuple<const char*, std::string, std::string> table[] = {
      {"key, value", "\x0a\x01k\x12\x02vw", "k=vw"},
      {"value, key", "\x12\x02vw\x0a\x01k", "k=vw"},
      {"no value", "\x0a\x01k", "k="},
      {"an empty value that is written", std::string("\x0a\x01k\x12\x00", 5), "k="},
      {"the value twice: the last counts", "\x0a\x01k\x12\x01v\x12\x01w", "k=w"},
      {"the key twice", "\x0a\x01j\x0a\x01k\x12\x01v", "k=v"},
      {"fields nobody knows", "\x0a\x01k\x12\x01v\x1a\x01x", "k=v"},
      {"a length in two bytes", std::string("\x0a\x81\x00k\x12\x01v", 7), "k=v"},
      {"a long value", long_entry, "k=" + long_value},
      {"a value that is no ASCII", "\x0a\x01k\x12\x02\xc3\xa9", "k=\xc3\xa9"},
      {"a value that is no UTF-8", "\x0a\x01k\x12\x01\xff", "k=\xef\xbf\xbd"},
  };
  for (const auto& [what, bytes, expected] : table) EXPECT_EQ(read_entry_bytes(bytes), expected) << what;
  for (const std::string_view bad :
       {"\x0a", "\x0a\x02k", "\x0a\x01k\x12", "\x0a\x01k\x12\x05v", "\x0a\x01k\x12\x01vx",
        "\x0a\x7fk\x12\x01v", "\x0a\x01\xff\x12\x01v", "\x08\x01\x12\x01v", "\x02\x01k"})
    EXPECT_THAT(read_entry_bytes(bad), HasSubstr("not the protobuf")) << ::testing::PrintToString(bad);
}

TEST(EnvoyRequest, JsonHasTheSame) {
  EnvoyRequest out;
  std::string scratch;
  constexpr std::string_view kBody =
      R"({"domain":"sh\u006fp","hitsAddend":7,"descriptors":[{"entries":[{"key":"path","value":"/a"},{"key":"ip"}]},
         {"entries":[{"key":"k","value":"v"}],"limit":{"requestsPerUnit":5,"unit":"HOUR"},"hits_addend":"0"},
         {"entries":[{"key":"k","value":null}],"limit":null,"hitsAddend":null}]})";
  ASSERT_EQ(problem_of(read_envoy_json(kBody, scratch, out)), "");
  EXPECT_EQ(out.domain, "shop");
  ASSERT_EQ(out.descriptors.size(), 3u);
  EXPECT_EQ(out.entries_of(0)[1].name, "ip");
  EXPECT_EQ(out.hits_of(0), 7u);
  EXPECT_EQ(out.hits_of(1), 0u);
  EXPECT_EQ(rate_of(*out.descriptors[1].limit), (Rate{5, 3'600'000'000}));
  EXPECT_FALSE(out.descriptors[2].limit);
}

TEST(EnvoyRequest, WhatNoServerTakesIsRefused) {
  const EnvoyMessage::Descriptor good{.entries = {{"k", "v"}}};
  EXPECT_EQ(wire_problem({.domain = "d", .descriptors = {good}}), "");
  EXPECT_THAT(wire_problem({.domain = "", .descriptors = {good}}), HasSubstr("domain: domain is empty"));
  EXPECT_THAT(wire_problem({.domain = "d"}), HasSubstr("descriptors: descriptors is empty"));
  EXPECT_THAT(wire_problem({.domain = "d", .descriptors = {good, {}}}),
              HasSubstr("descriptors[1].entries: "));
  EXPECT_THAT(wire_problem({.domain = "d", .descriptors = {{.entries = {{"", "v"}}}}}),
              HasSubstr("an entry needs a key"));
  for (const std::uint32_t unit : {0u, 7u, 8u, 4294967295u})
    EXPECT_THAT(
        wire_problem({.domain = "d", .descriptors = {{.entries = {{"k", "v"}}, .limit = {{1, unit}}}}}),
        HasSubstr("descriptors[0].limit.unit: unit " + std::to_string(unit) + " is not known"));
  for (std::uint32_t unit = 1; unit <= 6; ++unit)
    EXPECT_EQ(wire_problem({.domain = "d", .descriptors = {{.entries = {{"k", "v"}}, .limit = {{1, unit}}}}}),
              "");
  EXPECT_EQ(wire_problem({.domain = std::string(kKeyBytesMax, 'd'), .descriptors = {good}}), "");
  EXPECT_EQ(wire_problem({.domain = std::string(kKeyBytesMax + 1, 'd'), .descriptors = {good}}),
            "domain: domain is 257 bytes long; at most 256 are allowed");
}

TEST(EnvoyRequest, IsBounded) {
  EnvoyMessage many{.domain = "d", .descriptors = {}};
  many.descriptors.assign(kEnvoyDescriptorsMax, {.entries = {{"k", "v"}}});
  EXPECT_EQ(wire_problem(many), "");
  many.descriptors.push_back({.entries = {{"k", "v"}}});
  EXPECT_THAT(wire_problem(many), HasSubstr("descriptors: there are more than 100 descriptors"));
  EnvoyMessage deep{.domain = "d", .descriptors = {{.entries = {{"k", "v"}}}, {}}};
  deep.descriptors[1].entries.assign(kEnvoyEntriesMax, {"k", "v"});
  EXPECT_EQ(wire_problem(deep), "");
  deep.descriptors[1].entries.emplace_back("k", "v");
  EXPECT_THAT(wire_problem(deep), StartsWith("descriptors[1].entries: there are more than 16 entries"));
  std::string json = R"({"domain":"d","descriptors":[{"entries":[{"key":"k"})";
  for (std::size_t i = 0; i < kEnvoyEntriesMax; ++i) json += R"(,{"key":"k"})";
  EXPECT_THAT(json_problem(json + "]}]}"), StartsWith("descriptors[0].entries: there are more than 16"));
}

TEST(EnvoyRequest, BadJsonIsRefused) {
  const std::pair<const char*, const char*> table[] = {
      {"", ": "},
      {"[]", "the body must be an object"},
      {"{", ": "},
      {R"({"domain":"d"})", "descriptors is empty"},
      {R"({"domain":7,"descriptors":[]})", "domain: domain must be a string"},
      {R"({"domain":"d","descriptors":{}})", "descriptors: descriptors must be an array"},
      {R"({"domain":"d","descriptors":[7]})", "descriptors must be an object"},
      {R"({"domain":"d","descriptors":[{"entries":[{"key":"k"}],"limit":{}}]})", "limit.unit: unit 0"},
      {R"({"domain":"d","descriptors":[{"entries":[{"key":"k"}],"limit":{"unit":"WEEK"}}]})",
       "\"WEEK\" is not"},
      {R"({"domain":"d","descriptors":[{"entries":[{"key":"k"}],"limit":{"unit":9}}]})",
       "unit 9 is not known"},
      {R"({"domain":"d","descriptors":[{"entries":[{"key":"k"}],"hitsAddend":-1}]})", "hits_addend must be"},
      {R"({"domain":"d","descriptors":[{"entries":[{"key":"k"}],"hitsAddend":1.5}]})", "hits_addend must be"},
      {R"({"domain":"d","hitsAddend":4294967296,"descriptors":[]})", "hits_addend must be"},
      {R"({"domain":"d","descriptors":[{"entries":[{"key":"k","colour":"red"}]}]})",
       "\"colour\" is not a field"},
      {R"({"domain":"d","descriptors":[{"entries":[{"key":"k"}]}]} x)", ": "},
      {R"({"domain":"d","domain":"e","descriptors":[{"entries":[{"key":"k"}]}]})", "domain is given twice"},
      {R"({"domain":"d","descriptors":[],"descriptors":[{"entries":[{"key":"k"}]}]})",
       "descriptors is given twice"},
      {R"({"domain":"d","hits_addend":5,"hitsAddend":0,"descriptors":[{"entries":[{"key":"k"}]}]})",
       "hitsAddend is given twice"},
      {R"({"domain":"d","descriptors":[{"entries":[{"key":"k"}],"entries":[{"key":"l"}]}]})",
       "entries is given twice"},
      {R"({"domain":"d","descriptors":[{"entries":[{"key":"k","value":"a","v\u0061lue":"b"}]}]})",
       "value is given twice"},
      {R"({"domain":"d","descriptors":[{"entries":[{"key":"k"}],"hits_addend":null,"hitsAddend":0}]})",
       "hitsAddend is given twice"},
      {R"({"domain":"d","descriptors":[{"entries":[{"key":"k"}],"is_negative_hits":false,"isNegativeHits":true}]})",
       "isNegativeHits is given twice"},
      {R"({"domain":"d","descriptors":[{"entries":[{"key":"k"}],"limit":{"unit":2,"unit":4}}]})",
       "unit is given twice"},
  };
  for (const auto& [body, expected] : table) EXPECT_THAT(json_problem(body), HasSubstr(expected)) << body;
}

// A truncated or corrupted message is read or refused, and never crashes anything.
TEST(EnvoyRequest, MutatedMessagesNeverCrash) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("SLUICE_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const std::string seeds[] = {
      EnvoyMessage{.domain = "shop",
                   .descriptors = {{.entries = {{"path", "/a"}}, .limit = {{5, 3}}, .hits = 3}},
                   .hits_addend = 7}
          .encoded(),
      R"({"domain":"d","descriptors":[{"entries":[{"key":"k","value":"\n"}],"limit":{"unit":2},"hitsAddend":"1"}]})"};
  EnvoyRequest out;
  std::string scratch;
  std::size_t read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = seeds[i % 2];
    for (std::size_t change = random() % 4; change > 0; --change)
      text[random() % text.size()] = static_cast<char>(random());
    if (random() % 4 == 0) text.resize(random() % text.size());
    read +=
        i % 2 ? read_envoy_json(text, scratch, out).has_value() : read_envoy_request(text, out).has_value();
  }
  EXPECT_GT(read, 1000u) << "some of them are still good";
}

std::string fitting_resource_of(const std::vector<EnvoyEntry>& entries) {
  std::string resource = "before";
  append_fitting_resource(entries, resource);
  EXPECT_TRUE(resource.starts_with("before/"));
  return resource.substr(6);
}

TEST(EnvoyResource, IsShortenedOnlyIfItMustBe) {
  const std::string fits(kResourceBytesMax - 5, 'x');
  EXPECT_EQ(fitting_resource_of({{"k", fits.substr(2)}}), "/k/" + fits.substr(2));
  EXPECT_EQ(fitting_resource_of({{"a", "1"}, {"b", ""}}), "/a.b/1/%");
}

TEST(EnvoyResource, TheLongestValuesEndInAHash) {
  const std::string longer(3'000, 'x'), other(5'000, 'y');
  const std::string one = fitting_resource_of({{"a", longer}, {"b", "2"}, {"c", ""}});
  EXPECT_EQ(one.size(), kResourceBytesMax);
  EXPECT_TRUE(one.starts_with("/a.b.c/xxxxx")) << one;
  EXPECT_TRUE(one.ends_with("/2/%")) << one;
  EXPECT_NE(one, fitting_resource_of({{"a", longer + "x"}, {"b", "2"}, {"c", ""}}));
  const std::string two = fitting_resource_of({{"a", other}, {"b", longer}, {"c", std::string(500, 'z')}});
  EXPECT_LE(two.size(), kResourceBytesMax);
  EXPECT_TRUE(two.ends_with('/' + std::string(500, 'z'))) << two;
}

TEST(EnvoyResource, ManyLongValuesOrKeysFit) {
  std::vector<std::string> texts;
  for (char c = 'a'; c < 'q'; ++c) texts.emplace_back(1'000, c);
  std::vector<EnvoyEntry> long_values, long_keys;
  for (const std::string& text : texts) {
    long_values.push_back({std::string_view(text).substr(0, 5), text});
    long_keys.push_back({text, "1"});
  }
  const std::string resource = fitting_resource_of(long_values);
  EXPECT_LE(resource.size(), kResourceBytesMax);
  EXPECT_EQ(std::ranges::count(resource, '/'), 17) << resource;
  const std::string keys = fitting_resource_of(long_keys);
  EXPECT_LE(keys.size(), kResourceBytesMax);
  long_keys.back().value = "2";
  EXPECT_NE(fitting_resource_of(long_keys), keys);
}

}  // namespace
}  // namespace sluice::doors::testing
