#include "ledger/postgres_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>

#include "ledger/ledger_conformance.h"
#include "ledger/test_postgres.h"

namespace sluice::ledger {
namespace {

using testing::HasSubstr;
using testing::Not;

// One server for all tests of this program: making one takes seconds.
TestPostgres& server() {
  static TestPostgres* started = nullptr;
  if (started == nullptr) {
    static TestPostgres made;
    started = &made;
    started->start();
  }
  return *started;
}

// A database of its own for each test.
std::string new_database() {
  static int number = 0;
  const std::string name = "ledger_" + std::to_string(++number);
  server().run_sql("postgres", "CREATE DATABASE " + name);
  return name;
}

class PostgresLedgerUnderTest final : public LedgerUnderTest {
 public:
  explicit PostgresLedgerUnderTest(PostgresLedger::Options options) : options_(options) {}
  std::unique_ptr<Ledger> open() override {
    return PostgresLedger::open(server().url(database_), options_).value();
  }

 private:
  const PostgresLedger::Options options_;
  const std::string database_ = new_database();
};

LedgerFactory postgres(std::string name, PostgresLedger::Options options) {
  return {std::move(name), [options] { return std::make_unique<PostgresLedgerUnderTest>(options); }};
}
const LedgerFactory kListening = postgres("listening", {.listen = true});
const LedgerFactory kAsking = postgres("asking", {.listen = false});
INSTANTIATE_TEST_SUITE_P(Postgres, LedgerConformance, testing::Values(kListening));
INSTANTIATE_TEST_SUITE_P(Postgres, LedgerSharing, testing::Values(kListening, kAsking));

Change sample(std::string body = "{}", std::string request_id = "") {
  return {.drafts = {{Kind::kPolicy, "p", "update", std::move(body)}},
          .actor = "test",
          .at_us = 1,
          .request_id = std::move(request_id)};
}

class PostgresLedgerFaults : public testing::Test {
 protected:
  std::unique_ptr<PostgresLedger> open() { return PostgresLedger::open(server().url(database_), {}).value(); }
  const std::string& database() const { return database_; }

  static void expect_unavailable(const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kUnavailable) << error.message;
    EXPECT_THAT(error.message, HasSubstr("postgres://127.0.0.1:"));
    EXPECT_THAT(error.message, Not(HasSubstr("s3cret")));
  }
  // Until the server is back; a generous bound.
  static bool recovers(Ledger& ledger) {
    for (int i = 0; i < 300; ++i)
      if (ledger.wait(100) && ledger.revision()) return true;
    return false;
  }

 private:
  const std::string database_ = new_database();
};

TEST(PostgresUrl, IsReadByLibpqAndItsSecretsStayInIt) {
  const auto ledger =
      PostgresLedger::open("postgres://ann:s3cret@db.example:6432/limits?sslmode=require", {});
  EXPECT_EQ(ledger.value()->name(), "postgres://db.example:6432/limits");
  EXPECT_EQ(PostgresLedger::open("postgresql:///limits", {}).value()->name(), "postgres://localhost/limits");
  for (const char* bad : {"postgres://ann:s3cret%zz@db.example/limits", "postgres://ann:s3cret@[::1/limits",
                          "postgres://ann@db.example/limits?passwort=s3cret"}) {
    const auto refused = PostgresLedger::open(bad, {});
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(refused.error().message, Not(HasSubstr("s3cret")));
  }
}

TEST_F(PostgresLedgerFaults, AWrongPasswordIsAnErrorThatDoesNotTellIt) {
  const std::string url =
      "postgres://sluice:s3cret-wrong@127.0.0.1:" + std::to_string(server().port()) + "/postgres";
  const auto ledger = PostgresLedger::open(url, {}).value();
  const auto error = ledger->revision().error();
  expect_unavailable(error);
  EXPECT_THAT(error.message, HasSubstr("password authentication failed"));
  EXPECT_FALSE(ledger->wait(1));
}

TEST_F(PostgresLedgerFaults, TablesOfAnotherFormatAreRefused) {
  ASSERT_TRUE(open()->append(sample()));
  server().run_sql(database(), "UPDATE sluice_head SET format = 2");
  const auto error = open()->revision().error();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("have format 2, this version of Sluice knows only 1"));
}

TEST_F(PostgresLedgerFaults, AUserWithoutTheRightToMakeTablesCanUseThem) {
  ASSERT_TRUE(open()->append(sample()));
  server().run_sql(database(), "CREATE ROLE " + database() + " LOGIN PASSWORD 'x'");
  server().run_sql(database(),
                   "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO " + database());
  const std::string url =
      "postgres://" + database() + ":x@127.0.0.1:" + std::to_string(server().port()) + "/" + database();
  EXPECT_EQ(PostgresLedger::open(url, {}).value()->append(sample()).value().front().version, 2);
}

TEST_F(PostgresLedgerFaults, TamperingIsFoundByTheVerifier) {
  const auto ledger = open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ledger->append(sample(std::to_string(i))));
  server().run_sql(database(), "UPDATE sluice_records SET actor = 'nobody' WHERE revision = 2");
  ChainVerifier verifier;
  const auto records = ledger->read_after(0, 10).value();
  EXPECT_TRUE(verifier.feed(records[0]));
  EXPECT_THAT(verifier.feed(records[1]).error().message, HasSubstr("revision 2:"));
}

TEST_F(PostgresLedgerFaults, ADocumentWithoutItsRecordIsToldToWhoLoads) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  ASSERT_TRUE(ledger->append(sample()));
  server().run_sql(database(), "DELETE FROM sluice_records WHERE revision = 2");
  const auto read = ledger->for_each_document([](Record&&) {});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(read.error().message,
              HasSubstr("revision 2: it is missing, but the list of documents names it"));
}

// What a database that runs transactions side by side (CockroachDB) answers from time to time.
TEST_F(PostgresLedgerFaults, AConflictThatTheServerFindsIsTriedAgain) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  server().run_sql(
      database(),
      "CREATE SEQUENCE tries;"
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
      "IF nextval('tries') <= 3 THEN RAISE EXCEPTION 'restart' USING ERRCODE = '40001'; END IF; "
      "RETURN NEW; END $$;"
      "CREATE TRIGGER refuse BEFORE INSERT ON sluice_records FOR EACH ROW EXECUTE FUNCTION refuse()");
  const auto written = ledger->append(sample());
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(written->front().revision, 2);
  server().run_sql(database(), "ALTER SEQUENCE tries MINVALUE -1000 RESTART WITH -1000");
  expect_unavailable(ledger->append(sample()).error());
  EXPECT_EQ(ledger->revision(), 2);
}

// Somebody sits on the lock that every writer needs.
TEST_F(PostgresLedgerFaults, AWriterThatNeverEndsIsAnErrorAndReadersGoOn) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  PGconn* stuck = PQconnectdb(server().url(database()).c_str());
  PQclear(PQexec(stuck, "BEGIN"));
  PQclear(PQexec(stuck, "SELECT * FROM sluice_head FOR UPDATE"));
  expect_unavailable(ledger->append(sample()).error());
  EXPECT_EQ(ledger->revision(), 1);
  PQfinish(stuck);
  EXPECT_TRUE(ledger->append(sample()));
}

TEST_F(PostgresLedgerFaults, AServerThatIsStoppedIsAnErrorUntilItIsBack) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  server().stop();
  expect_unavailable(ledger->append(sample()).error());
  expect_unavailable(ledger->revision().error());
  expect_unavailable(ledger->for_each_document([](Record&&) {}).error());
  EXPECT_FALSE(ledger->wait(1));
  server().start();
  EXPECT_TRUE(recovers(*ledger));
  EXPECT_EQ(ledger->append(sample()).value().front().revision, 2);
}

TEST_F(PostgresLedgerFaults, AServerThatIsFrozenIsAnErrorUntilItGoesOn) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  server().freeze();
  const auto write = ledger->append(sample());
  const auto read = ledger->revision();  // on a new connection, which nobody accepts
  server().thaw();
  expect_unavailable(write.error());
  expect_unavailable(read.error());
  EXPECT_TRUE(recovers(*ledger));
}

// A follower that does nothing but wait and read, while the server goes away and comes back.
TEST_F(PostgresLedgerFaults, AFollowerSurvivesARestart) {
  const auto writer = open();
  ASSERT_TRUE(writer->append(sample()));
  std::atomic<std::int64_t> seen = 0;
  std::thread follower([&, ledger = open()] {
    while (seen < 3) {
      ledger->wait(60'000);
      seen = ledger->revision().value_or(seen);
    }
  });
  const auto sees = [&](std::int64_t revision) {
    for (int i = 0; i < 30'000 && seen < revision; ++i) usleep(1000);
    EXPECT_EQ(seen, revision);
  };
  sees(1);
  ASSERT_TRUE(writer->append(sample()));
  sees(2);
  server().stop();
  expect_unavailable(writer->append(sample()).error());
  server().start();
  EXPECT_TRUE(recovers(*writer));
  ASSERT_TRUE(writer->append(sample()));
  sees(3);
  follower.join();
}

// A writer that repeats each change, with its id, until it gets an answer, on a server that is frozen and
// crashes under it: every change is there once.
TEST_F(PostgresLedgerFaults, WhatBecameOfAChangeIsSettledByItsRequestId) {
  std::atomic<bool> over = false;
  std::atomic<std::int64_t> answered = 0, failed = 0;
  std::thread writer([&] {
    const auto ledger = open();
    while (!over || answered == 0) {
      const std::string number = std::to_string(answered);
      const auto written = ledger->append(sample(number, "r-" + number));
      if (written) {
        EXPECT_EQ(written->front().version, ++answered);
      } else {
        expect_unavailable(written.error());
        ++failed;
      }
    }
  });
  const auto wait_until_more = [](const std::atomic<std::int64_t>& count) {
    const std::int64_t before = count;
    for (int i = 0; i < 60'000 && count == before; ++i) usleep(1000);
    EXPECT_GT(count, before);
  };
  for (int round = 0; round < 4; ++round) {
    wait_until_more(answered);
    if (round % 2 == 0) {
      server().stop();
      server().start();
    } else {
      server().freeze();
      wait_until_more(failed);
      server().thaw();
    }
  }
  wait_until_more(answered);
  over = true;
  writer.join();
  const auto records = open()->read_after(0, 1'000'000).value();
  EXPECT_EQ(static_cast<std::int64_t>(records.size()), answered);
  ChainVerifier verifier;
  for (const Record& record : records) {
    EXPECT_EQ(record.request_id, "r-" + std::to_string(record.revision - 1));
    EXPECT_TRUE(verifier.feed(record));
  }
}

}  // namespace
}  // namespace sluice::ledger
