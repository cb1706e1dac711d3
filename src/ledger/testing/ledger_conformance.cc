#include "ledger/testing/ledger_conformance.h"

#include <gmock/gmock.h>

#include <limits>
#include <map>

#include "base/limits.h"
#include "base/limits/control_limits.h"

namespace sluice::ledger {
namespace {

using namespace std::literals;
using testing::IsEmpty;

TEST_P(LedgerConformance, IsEmptyAtFirst) {
  EXPECT_EQ(ledger().revision(), 0);
  EXPECT_THAT(all(), IsEmpty());
  EXPECT_EQ(ledger().find(Kind::kPolicy, "p", 1).value(), std::nullopt);
  EXPECT_THAT(ledger().history(Kind::kPolicy, "p", kEveryVersion, 10).value(), IsEmpty());
  EXPECT_TRUE(ledger().for_each_document([](Record&&) { ADD_FAILURE(); }));
  EXPECT_NE(ledger().name(), "");
}

TEST_P(LedgerConformance, KeepsEveryField) {
  const Change wish = change({Kind::kToken, "ops-1", "create", R"({"hash":"00ff"})"}, "r-1");
  const Record written = write(wish);
  EXPECT_EQ(written, link(wish, std::vector<std::int64_t>{0}, 0, "").front());
  EXPECT_THAT(all(), testing::ElementsAre(written));
  EXPECT_EQ(ledger().find(Kind::kToken, "ops-1", 1).value(), written);
}

TEST_P(LedgerConformance, NumbersHaveNoGaps) {
  for (int i = 0; i < 10; ++i) {
    const Record record = write(change(policy(i % 2 == 0 ? "even" : "odd", "{}")));
    EXPECT_EQ(record.revision, i + 1);
    EXPECT_EQ(record.version, i / 2 + 1);
    EXPECT_EQ(ledger().revision(), i + 1);
  }
  expect_chain_holds();
}

TEST_P(LedgerConformance, KindsHaveNamesOfTheirOwn) {
  EXPECT_EQ(write(change(policy("x", "{}"))).version, 1);
  EXPECT_EQ(write(change({Kind::kUser, "x", "create", "{}"})).version, 1);
  EXPECT_EQ(write(change(event("x", "{}"))).version, 0);
  EXPECT_EQ(write(change(policy("x", "{}"))).version, 2);
  EXPECT_THAT(ledger().history(Kind::kUser, "x", kEveryVersion, 10).value(), testing::SizeIs(1));
  EXPECT_THAT(ledger().history(Kind::kEvent, "x", kEveryVersion, 10).value(), IsEmpty());
  EXPECT_EQ(ledger().find(Kind::kEvent, "x", 0).value(), std::nullopt) << "events are no documents";
}

TEST_P(LedgerConformance, NamesAreComparedByteByByte) {
  for (const char* name : {"name", "Name", "name ", "näme", "na%", "na_e"})
    EXPECT_EQ(write(change(policy(name, "{}"))).version, 1) << name;
}

TEST_P(LedgerConformance, AChangeIsWrittenAsAWholeOrNotAtAll) {
  write(change(policy("b", "1")));
  Change both = change(policy("a", "2", 0));
  both.drafts.push_back(policy("b", "2", 0));
  EXPECT_EQ(refusal(both).code, ErrorCode::kStale);
  EXPECT_EQ(ledger().find(Kind::kPolicy, "a", 1).value(), std::nullopt);
  both.drafts[1].expected_version = 1;
  both.drafts.push_back(event("c", "3"));
  const auto written = ledger().append(both);
  ASSERT_TRUE(written) << written.error().message;
  ASSERT_EQ(written->size(), 3u);
  EXPECT_EQ(written->at(0).version, 1);
  EXPECT_EQ(written->at(1).version, 2);
  EXPECT_EQ(written->at(2).version, 0);
  EXPECT_EQ(ledger().read_after(1, 10).value(), *written);
  expect_chain_holds();
}

TEST_P(LedgerConformance, TheExpectedVersionGuardsAgainstLostUpdates) {
  EXPECT_EQ(refusal(change(policy("p", "x", 1))).code, ErrorCode::kStale) << "there is none";
  EXPECT_EQ(write(change(policy("p", "1", 0))).version, 1);
  EXPECT_EQ(refusal(change(policy("p", "x", 0))).code, ErrorCode::kStale) << "it exists";
  EXPECT_EQ(write(change(policy("p", "2", 1))).version, 2);
  EXPECT_EQ(refusal(change(policy("p", "x", 1))).code, ErrorCode::kStale) << "somebody was faster";
  EXPECT_EQ(write(change(policy("p", "3"))).version, 3) << "whatever is there";
  // Withdrawn: its versions are not reused, but for authors it does not exist.
  EXPECT_EQ(write(change(policy("p", "", 3))).version, 4);
  EXPECT_EQ(refusal(change(policy("p", "x", 3))).code, ErrorCode::kStale);
  EXPECT_EQ(write(change(policy("p", "5", 0))).version, 5);
  EXPECT_EQ(refusal(change(policy("p", "x", 0))).code, ErrorCode::kStale) << "it is back";
  EXPECT_EQ(write(change({Kind::kEvent, "p", "reset", "x", 7})).version, 0) << "ignored for events";
}

TEST_P(LedgerConformance, TheExpectedRevisionGuardsAgainstEverythingElse) {
  const auto at = [](Change wish, std::int64_t revision) {
    wish.expected_revision = revision;
    return wish;
  };
  EXPECT_EQ(refusal(at(change(policy("p", "x")), 1)).code, ErrorCode::kStale) << "nothing was ever written";
  EXPECT_EQ(write(at(change(policy("p", "1"), "r-1"), 0)).revision, 1);
  EXPECT_EQ(refusal(at(change(policy("q", "x")), 0)).code, ErrorCode::kStale) << "another document counts";
  EXPECT_EQ(write(at(change(policy("q", "1")), 1)).revision, 2);
  EXPECT_EQ(write(change(event("e", "1"))).revision, 3);
  EXPECT_EQ(refusal(at(change(policy("q", "x")), 2)).code, ErrorCode::kStale) << "and so does an event";
  EXPECT_EQ(write(at(change(policy("p", "1"), "r-1"), 0)).revision, 1) << "a change that was written is";
  EXPECT_EQ(ledger().revision(), 3);
  expect_chain_holds();
}

TEST_P(LedgerConformance, ARequestIdIsWrittenOnce) {
  Change wish = change(policy("p", "1", 0), "r-1");
  wish.drafts.push_back(event("e", "2"));
  const auto first = ledger().append(wish);
  ASSERT_TRUE(first);
  write(change(policy("p", "other")));
  wish.at_us += 1'000'000;
  const auto again = ledger().append(wish);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, *first) << "although version 0 is no longer the newest";
  EXPECT_EQ(ledger().find_request(wish.actor, "r-1"), *first);
  EXPECT_EQ(ledger().find_request("somebody", "r-1"), std::vector<Record>{});
  EXPECT_EQ(ledger().find_request(wish.actor, ""), std::vector<Record>{}) << "many have none";
  EXPECT_EQ(ledger().revision(), 3);
}

TEST_P(LedgerConformance, ARequestIdBelongsToOneChangeAndOneActor) {
  write(change(policy("p", "1"), "r-1"));
  EXPECT_EQ(refusal(change(policy("p", "2"), "r-1")).code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(refusal(change(policy("q", "1"), "r-1")).code, ErrorCode::kFailedPrecondition);
  EXPECT_EQ(write(change(policy("p", "1"), "r-1", "token ops-2")).version, 2) << "another actor";
  EXPECT_EQ(write(change(policy("p", "1"), "r-2")).version, 3) << "another id";
  EXPECT_EQ(write(change(policy("p", "1"))).version, 4) << "no id";
  EXPECT_EQ(write(change(policy("p", "1"))).version, 5);
}

TEST_P(LedgerConformance, HistoryIsNewestFirstInPages) {
  std::vector<Record> versions;
  for (int i = 0; i < 7; ++i) {
    versions.insert(versions.begin(), write(change(policy("p", i == 3 ? "" : std::to_string(i)))));
    write(change(policy("another", "{}")));
  }
  EXPECT_EQ(ledger().history(Kind::kPolicy, "p", kEveryVersion, 100).value(), versions);
  const auto page = ledger().history(Kind::kPolicy, "p", 5, 2).value();
  EXPECT_EQ(page, std::vector(versions.begin() + 3, versions.begin() + 5));
  EXPECT_THAT(ledger().history(Kind::kPolicy, "p", 1, 2).value(), IsEmpty());
  EXPECT_THAT(ledger().history(Kind::kPolicy, "p", kEveryVersion, 0).value(), IsEmpty());
  for (const Record& record : versions)
    EXPECT_EQ(ledger().find(Kind::kPolicy, "p", record.version).value(), record);
  for (const std::int64_t absent : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{8}, kEveryVersion})
    EXPECT_EQ(ledger().find(Kind::kPolicy, "p", absent).value(), std::nullopt) << absent;
}

TEST_P(LedgerConformance, DocumentsAreTheNewestVersionsAlsoTheWithdrawn) {
  write(change(policy("kept", "1")));
  write(change(policy("gone", "1")));
  write(change(event("kept", "an event")));
  write(change({Kind::kUser, "kept", "create", "a user"}));
  write(change(policy("kept", "2")));
  write(change(policy("gone", "")));
  std::map<std::pair<Kind, std::string>, Record> found;
  const auto done = ledger().for_each_document([&](Record&& record) {
    const auto key = std::pair(record.kind, record.name);
    EXPECT_TRUE(found.emplace(key, std::move(record)).second);
  });
  ASSERT_TRUE(done) << done.error().message;
  ASSERT_EQ(found.size(), 3u);
  const Record gone = found[{Kind::kPolicy, "gone"}];
  EXPECT_TRUE(gone.is_withdrawn());
  EXPECT_EQ(gone.version, 2);
  EXPECT_EQ((found[{Kind::kPolicy, "kept"}].body), "2");
  EXPECT_EQ((found[{Kind::kUser, "kept"}].body), "a user");
  EXPECT_EQ(gone, all()[5]);
}

TEST_P(LedgerConformance, FollowersReadInPages) {
  for (int i = 0; i < 25; ++i) write(change(policy("p" + std::to_string(i % 4), std::to_string(i))));
  std::vector<Record> pieces;
  while (true) {
    const auto page = ledger().read_after(pieces.empty() ? 0 : pieces.back().revision, 10).value();
    if (page.empty()) break;
    EXPECT_LE(page.size(), 10u);
    pieces.insert(pieces.end(), page.begin(), page.end());
  }
  EXPECT_EQ(pieces.size(), 25u);
  EXPECT_EQ(pieces, all());
  EXPECT_THAT(ledger().read_after(25, 10).value(), IsEmpty());
  EXPECT_THAT(ledger().read_after(kEveryVersion, 10).value(), IsEmpty());
  EXPECT_THAT(ledger().read_after(0, 0).value(), IsEmpty());
  EXPECT_EQ(ledger().read_after(-5, std::numeric_limits<std::size_t>::max()).value(), pieces);
}

// A slow link must deliver a page before the database gives up.
TEST_P(LedgerConformance, PagesAreBoundedInBytes) {
  Change large = change(policy("p0", ""), "large");
  large.drafts.clear();
  for (int i = 0; i < 7; ++i)
    large.drafts.push_back(policy("p" + std::to_string(i), std::string(kLedgerPageBytes * 2 / 5, 'x')));
  const auto written = ledger().append(large).value();
  EXPECT_THAT(ledger().read_after(0, 100).value(), testing::SizeIs(3));
  EXPECT_THAT(ledger().read_after(0, 2).value(), testing::SizeIs(2));
  EXPECT_TRUE(all() == written);
  EXPECT_TRUE(ledger().find_request(large.actor, "large") == written);
  std::size_t documents = 0;
  EXPECT_TRUE(ledger().for_each_document([&](Record&&) { ++documents; }));
  EXPECT_EQ(documents, 7u);

  std::vector<Record> versions;  // newest first
  for (int i = 0; i < 5; ++i)
    versions.insert(versions.begin(), write(change(policy("whole", std::string(kRecordBodyBytesMax, 'y')))));
  EXPECT_THAT(ledger().read_after(7, 100).value(), testing::SizeIs(2)) << "the last known one and a new one";
  EXPECT_TRUE(ledger().history(Kind::kPolicy, "whole", kEveryVersion, 100).value() ==
              std::vector(versions.begin(), versions.begin() + 2));
  EXPECT_TRUE(ledger().history(Kind::kPolicy, "whole", versions[3].version, 100).value() ==
              std::vector(versions.begin() + 4, versions.end()));
  expect_chain_holds();
}

TEST_P(LedgerConformance, BodiesComeBackByteByByte) {
  const std::string bodies[] = {
      R"({"quotes":"' \" \\ '' $$ \u0000 %s ?1 :name"})",
      "{\"näme\": \"\xf0\x9f\x98\x80\", \"ß\": \"\u202e\"}",
      "\t\r\n\x01\x1f\x7f",
      "\\x00",
      "\\N",
      std::string(kRecordBodyBytesMax, 'x'),
  };
  for (const std::string& body : bodies) {
    const Record written = write(change(policy("'; DROP TABLE records; --", body)));
    EXPECT_TRUE(written.body == body);
    EXPECT_TRUE(ledger().find(Kind::kPolicy, written.name, written.version).value() == written);
  }
  expect_chain_holds();
}

TEST_P(LedgerConformance, RefusesWhatNotEveryDatabaseCanKeep) {
  EXPECT_EQ(refusal(change(policy("p", "\"\0\""s))).field, "drafts[0].body");
  EXPECT_EQ(refusal(change(policy("p", "\xff"))).field, "drafts[0].body");
  EXPECT_EQ(refusal(change(policy("p", std::string(kRecordBodyBytesMax + 1, 'x')))).code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal(change(policy("", "{}"))).code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refusal({.actor = "a"}).code, ErrorCode::kInvalidArgument);
}

TEST_P(LedgerConformance, WhatNotEveryDatabaseCanKeepIsNotThere) {
  for (const std::string& text : {"a\0b"s, "\xff"s}) {
    EXPECT_EQ(ledger().find(Kind::kPolicy, text, 1).value(), std::nullopt);
    EXPECT_THAT(ledger().history(Kind::kPolicy, text, kEveryVersion, 10).value(), IsEmpty());
    EXPECT_THAT(ledger().find_request(text, "r-1").value(), IsEmpty());
    EXPECT_THAT(ledger().find_request("token ops-1", text).value(), IsEmpty());
  }
}

TEST_P(LedgerConformance, AChangeMayBeAsLargeAsTheBoundsSay) {
  Change large = change(policy("p", "{}"), "large");
  large.drafts.clear();
  for (std::size_t i = 0; i < kDraftsPerChangeMax; ++i)
    large.drafts.push_back(policy("p" + std::to_string(i), "{\"n\": " + std::to_string(i) + "}", 0));
  const auto written = ledger().append(large);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(ledger().revision(), static_cast<std::int64_t>(kDraftsPerChangeMax));
  EXPECT_TRUE(all() == *written);
  EXPECT_TRUE(ledger().append(large) == *written) << "a replay of all of it";
  large.request_id = "another";
  EXPECT_EQ(ledger().append(large).error().code, ErrorCode::kStale);
}

}  // namespace
}  // namespace sluice::ledger
