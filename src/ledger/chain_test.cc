#include "ledger/chain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/limits.h"
#include "base/text/encode.h"

namespace sluice::ledger {
namespace {

using namespace std::literals;
using testing::HasSubstr;

Change sample() {
  return {.drafts = {{Kind::kPolicy, "api.read", "update", R"({"id":"api.read"})", 46},
                     {Kind::kEvent, "key:1", "reset", R"({"key":"1"})"},
                     {Kind::kUser, "ann", "delete", ""}},
          .actor = "token ops-1",
          .reason = "noon peak",
          .at_us = 1'800'000'000'000'000,
          .request_id = "r-1"};
}

std::vector<Record> sample_records() { return link(sample(), std::vector<std::int64_t>{46, 0, 3}, 0, ""); }

Result<void> verify(const std::vector<Record>& records) {
  ChainVerifier verifier;
  for (const Record& record : records)
    if (auto good = verifier.feed(record); !good) return good;
  return {};
}

TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Kind, EveryKindHasItsText) {
  const std::pair<Kind, const char*> table[] = {{Kind::kPolicy, "policy"}, {Kind::kUser, "user"},
                                                {Kind::kToken, "token"},   {Kind::kRollout, "rollout"},
                                                {Kind::kSwitch, "switch"}, {Kind::kEvent, "event"}};
  for (const auto& [kind, text] : table) {
    EXPECT_EQ(to_string(kind), text);
    EXPECT_EQ(kind_from(text), kind);
  }
  EXPECT_EQ(kind_from("Policy"), std::nullopt);
  EXPECT_EQ(kind_from(""), std::nullopt);
}

TEST(Link, NumbersRevisionsAndVersions) {
  const auto records = link(sample(), std::vector<std::int64_t>{46, 0, 3}, 10, "before");
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].revision, 11);
  EXPECT_EQ(records[2].revision, 13);
  EXPECT_EQ(records[0].version, 47);
  EXPECT_EQ(records[1].version, 0) << "events have none";
  EXPECT_EQ(records[2].version, 4);
  EXPECT_TRUE(records[2].is_withdrawn());
  EXPECT_EQ(records[0].body_hash, sha256(records[0].body));
  EXPECT_EQ(records[0].reason, "noon peak");
}

// The hash, computed from the description in chain.h; other programs may verify a ledger that way.
TEST(Link, TheHashIsAsDescribed) {
  std::string bytes;
  const auto field = [&](std::string_view text) {
    bytes += "\0\0\0\0\0\0\0"s;
    bytes += static_cast<char>(text.size());
    bytes += text;
  };
  const std::string body = R"({"id":"api.read"})";
  for (const std::string& text : {""s, "1"s, "policy"s, "api.read"s, "47"s, "update"s, "token ops-1"s,
                                  "1800000000000000"s, "r-1"s, "noon peak"s, sha256(body)})
    field(text);
  EXPECT_EQ(to_hex(sample_records()[0].hash), to_hex(sha256(bytes)));
}

TEST(ChainVerifier, AcceptsWhatWasWritten) {
  ChainVerifier verifier;
  const auto records = sample_records();
  for (const Record& record : records) ASSERT_TRUE(verifier.feed(record));
  EXPECT_EQ(verifier.revision(), 3);
  EXPECT_EQ(verifier.hash(), records.back().hash);
}

TEST(ChainVerifier, NamesTheRecordThatWasTamperedWith) {
  const std::pair<const char*, std::function<void(Record&)>> table[] = {
      {"kind", [](Record& r) { r.kind = Kind::kToken; }},
      {"name", [](Record& r) { r.name += "x"; }},
      {"version", [](Record& r) { ++r.version; }},
      {"action", [](Record& r) { r.action = "create"; }},
      {"body", [](Record& r) { r.body += " "; }},
      {"body and its hash", [](Record& r) { r.body += " ", r.body_hash = sha256(r.body); }},
      {"actor", [](Record& r) { r.actor = "token ops-2"; }},
      {"reason", [](Record& r) { r.reason.clear(); }},
      {"a byte moved between fields", [](Record& r) { r.action += r.actor[0], r.actor.erase(0, 1); }},
      {"at_us", [](Record& r) { --r.at_us; }},
      {"request_id", [](Record& r) { r.request_id = "r-2"; }},
      {"body_hash", [](Record& r) { r.body_hash[7] ^= 1; }},
      {"hash", [](Record& r) { r.hash[31] ^= 1; }},
      {"no hash", [](Record& r) { r.hash.clear(); }},
  };
  for (const auto& [what, tamper] : table)
    for (std::size_t i = 0; i < 3; ++i) {
      auto records = sample_records();
      tamper(records[i]);
      const auto verdict = verify(records);
      ASSERT_FALSE(verdict) << what << " of record " << i;
      EXPECT_EQ(verdict.error().code, ErrorCode::kFailedPrecondition);
      EXPECT_THAT(verdict.error().message, HasSubstr("revision " + std::to_string(i + 1) + ":")) << what;
    }
}

TEST(ChainVerifier, NoticesWhatIsMissingOrOutOfPlace) {
  auto records = sample_records();
  records.erase(records.begin() + 1);
  EXPECT_THAT(verify(records).error().message, HasSubstr("revision 2: it is missing"));
  records = sample_records();
  std::swap(records[0], records[1]);
  EXPECT_THAT(verify(records).error().message, HasSubstr("revision 1: it is missing"));
  // Removed, and the rest renumbered.
  records = sample_records();
  records.erase(records.begin());
  records[0].revision = 1;
  records[1].revision = 2;
  EXPECT_THAT(verify(records).error().message, HasSubstr("revision 1: its hash"));
}

TEST(ChainVerifier, NoRecordMayLoseItsBody) {
  for (std::size_t i : {0u, 1u}) {
    auto records = sample_records();
    records[i].body.clear();
    EXPECT_THAT(verify(records).error().message,
                HasSubstr("revision " + std::to_string(i + 1) + ": its body is not what was written"));
  }
}

TEST(Validate, NamesTheFieldOutOfBounds) {
  const struct {
    const char* field;
    std::function<void(Change&)> spoil;
  } table[] = {
      {"drafts", [](Change& c) { c.drafts.clear(); }},
      {"drafts", [](Change& c) { c.drafts.resize(kDraftsPerChangeMax + 1); }},
      {"actor", [](Change& c) { c.actor.clear(); }},
      {"actor", [](Change& c) { c.actor.assign(kActorBytesMax + 1, 'a'); }},
      {"reason", [](Change& c) { c.reason.assign(kReasonBytesMax + 1, 'a'); }},
      {"reason", [](Change& c) { c.reason = "\xff"; }},
      {"request_id", [](Change& c) { c.request_id.assign(kRequestIdBytesMax + 1, 'a'); }},
      {"drafts[1].name", [](Change& c) { c.drafts[1].name.clear(); }},
      {"drafts[1].name", [](Change& c) { c.drafts[1].name.assign(kKeyBytesMax + 1, 'a'); }},
      {"drafts[1].name", [](Change& c) { c.drafts[1].name = "a\0b"s; }},
      {"drafts[2].name", [](Change& c) { c.drafts[2] = c.drafts[0]; }},
      {"drafts[0].action", [](Change& c) { c.drafts[0].action.clear(); }},
      {"drafts[0].action", [](Change& c) { c.drafts[0].action.assign(kNameBytesMax + 1, 'a'); }},
      {"drafts[0].body", [](Change& c) { c.drafts[0].body.assign(kRecordBodyBytesMax + 1, 'a'); }},
      {"drafts[0].body", [](Change& c) { c.drafts[0].body = "\"\0\""s; }},
      {"drafts[0].body", [](Change& c) { c.drafts[0].body = "\"\xc3\x28\""; }},
      {"drafts[0].expected_version", [](Change& c) { c.drafts[0].expected_version = -1; }},
  };
  for (const auto& [field, spoil] : table) {
    Change change = sample();
    spoil(change);
    const auto verdict = validate(change);
    ASSERT_FALSE(verdict) << field;
    EXPECT_EQ(verdict.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(verdict.error().field, field) << verdict.error().message;
  }
}

TEST(Validate, AcceptsTheBoundsThemselves) {
  Change change = sample();
  change.actor.assign(kActorBytesMax, 'a');
  change.reason.assign(kReasonBytesMax, 'a');
  change.request_id.assign(kRequestIdBytesMax, 'a');
  change.drafts[0].name.assign(kKeyBytesMax, 'a');
  change.drafts[0].body.assign(kRecordBodyBytesMax, 'a');
  change.drafts[0].expected_version = 0;
  EXPECT_TRUE(validate(change));
  change.reason.clear();
  change.request_id.clear();
  EXPECT_TRUE(validate(change)) << "both may be empty";
  change.drafts[1] = {Kind::kRollout, change.drafts[0].name, "start", "{}"};
  EXPECT_TRUE(validate(change)) << "the same name, but another kind";
}

TEST(Validate, BoundsTheBytesOfAllDraftsTogether) {
  Change change = sample();
  change.drafts.clear();
  for (std::size_t i = 0; i <= kChangeBytesMax / kRecordBodyBytesMax; ++i)
    change.drafts.push_back(
        {Kind::kPolicy, "p" + std::to_string(i), "create", std::string(kRecordBodyBytesMax, ' ')});
  EXPECT_EQ(validate(change).error().field, "drafts");
  change.drafts.pop_back();
  EXPECT_TRUE(validate(change));
}

TEST(Replay, TheSameWishAtAnotherTimeIsTheSame) {
  auto records = sample_records();
  Change again = sample();
  again.at_us += 5'000'000;
  again.drafts[0].expected_version = 45;
  EXPECT_TRUE(is_replay(again, records));
  records[1].body.clear();
  EXPECT_TRUE(is_replay(again, records)) << "a forgotten event is still known by its hash";
}

TEST(Replay, AnythingElseIsAnotherWish) {
  const std::function<void(Change&)> table[] = {
      [](Change& c) { c.drafts.pop_back(); },
      [](Change& c) { c.drafts.push_back({Kind::kEvent, "key:2", "reset", ""}); },
      [](Change& c) { std::swap(c.drafts[0], c.drafts[1]); },
      [](Change& c) { c.drafts[0].kind = Kind::kToken; },
      [](Change& c) { c.drafts[0].name = "api.write"; },
      [](Change& c) { c.drafts[0].action = "create"; },
      [](Change& c) { c.drafts[0].body += " "; },
      [](Change& c) { c.drafts[2].body = "{}"; },
      [](Change& c) { c.actor = "token ops-2"; },
      [](Change& c) { c.reason = "another"; },
      [](Change& c) { c.request_id = "r-2"; },
  };
  const auto records = sample_records();
  for (const auto& differ : table) {
    Change other = sample();
    differ(other);
    EXPECT_FALSE(is_replay(other, records)) << &differ - table;
    const auto answer = answer_again(other, records);
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::kFailedPrecondition);
  }
}

TEST(CheckExpected, ComparesWithTheNewestVersion) {
  const struct {
    const char* what;
    std::optional<std::int64_t> expected;
    Newest newest;
    bool good;
  } table[] = {
      {"whatever is there, nothing", std::nullopt, {0, false}, true},
      {"whatever is there, something", std::nullopt, {5, false}, true},
      {"nothing, and so it is", 0, {0, false}, true},
      {"nothing, but there is", 0, {1, false}, false},
      {"nothing, and it was withdrawn", 0, {2, true}, true},
      {"the newest", 5, {5, false}, true},
      {"the withdrawal itself", 5, {5, true}, true},
      {"an older one", 4, {5, false}, false},
      {"a future one", 6, {5, false}, false},
      {"one before the withdrawal", 4, {5, true}, false},
      {"some, but there is none", 1, {0, false}, false},
  };
  for (const auto& row : table) {
    const Change change{.drafts = {{Kind::kPolicy, "p", "update", "{}", row.expected}}, .actor = "a"};
    const auto verdict = check_expected(change, {&row.newest, 1}, 9);
    EXPECT_EQ(verdict.has_value(), row.good) << row.what;
    if (verdict)
      EXPECT_EQ(*verdict, std::vector{row.newest.version});
    else
      EXPECT_EQ(verdict.error().code, ErrorCode::kStale) << row.what;
  }
  const Change event{.drafts = {{Kind::kEvent, "p", "reset", "{}", 7}}, .actor = "a"};
  EXPECT_TRUE(check_expected(event, std::vector<Newest>{{}}, 9)) << "ignored for events";
}

}  // namespace
}  // namespace sluice::ledger
