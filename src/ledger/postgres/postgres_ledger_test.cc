#include "ledger/postgres/postgres_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "ledger/testing/ledger_fault_conformance.h"
#include "ledger/testing/postgres.h"
#include "ledger/testing/slow_link.h"
#include "ledger/verify.h"

namespace sluice::ledger {
namespace {

using testing::HasSubstr;
using testing::Not;

// One server for all tests of this program: starting one takes seconds.
TestPostgres& server() {
  static TestPostgres* started = nullptr;
  if (started == nullptr) {
    static TestPostgres made;
    started = &made;
    started->start();
  }
  return *started;
}

// A separate database for each test.
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
INSTANTIATE_TEST_SUITE_P(Postgres, LedgerPruning, testing::Values(kListening));

class PostgresLedgerServer final : public LedgerServer {
 public:
  std::unique_ptr<Ledger> open() override {
    return PostgresLedger::open(server().url(database_), {}).value();
  }
  void crash() override { server().stop(); }
  void start() override { server().start(); }
  void freeze() override { server().freeze(); }
  void thaw() override { server().thaw(); }

 private:
  const std::string database_ = new_database();
};
INSTANTIATE_TEST_SUITE_P(Postgres, LedgerFaults,
                         testing::Values(LedgerServerFactory{
                             "postgres", [] { return std::make_unique<PostgresLedgerServer>(); }}));

class PostgresLedgerFaults : public testing::Test {
 protected:
  std::unique_ptr<PostgresLedger> open() { return PostgresLedger::open(server().url(database_), {}).value(); }
  const std::string& database() const { return database_; }

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
  EXPECT_THAT(error.message, HasSubstr("postgres://127.0.0.1:"));
  EXPECT_THAT(error.message, HasSubstr("password authentication failed"));
  EXPECT_FALSE(ledger->wait(1));
}

TEST_F(PostgresLedgerFaults, TablesOfAnotherFormatAreRefused) {
  ASSERT_TRUE(open()->append(sample()));
  server().run_sql(database(), "UPDATE sluice_head SET format = 2");
  const auto error = open()->revision().error();
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error.message, HasSubstr("have format 2, but this version of Sluice supports only 1"));
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

TEST_F(PostgresLedgerFaults, AChangedListOfDocumentsIsFoundByTheVerifier) {
  const auto ledger = open();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ledger->append(sample(std::to_string(i))));
  EXPECT_TRUE(verify_ledger(*ledger));
  for (const auto& [change, finding] :
       {std::pair{"version = 2", "revision 3: the list of documents calls it version 2 of policy 'p', which"},
        std::pair{"version = 3, withdrawn = true", "calls it version 3 of policy 'p', withdrawn, which"},
        std::pair{"withdrawn = false, revision = 2",
                  "revision 2: the list of documents calls it the newest"}}) {
    server().run_sql(database(), std::string("UPDATE sluice_documents SET ") + change);
    EXPECT_THAT(verify_ledger(*ledger).error().message, HasSubstr(finding));
  }
}

TEST_F(PostgresLedgerFaults, ADocumentWithoutItsRecordIsToldToWhoLoads) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample()));
  ASSERT_TRUE(ledger->append(sample()));
  server().run_sql(database(), "DELETE FROM sluice_records WHERE revision = 2");
  Change other = sample();
  other.drafts.front().name = "other";
  ASSERT_TRUE(ledger->append(other));
  std::vector<std::string> names;
  const auto read = ledger->for_each_document([&](Record&& record) { names.push_back(record.name); });
  EXPECT_THAT(names, testing::ElementsAre("other"));
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::kFailedPrecondition);
  EXPECT_THAT(read.error().message,
              HasSubstr("revision 2: it is missing, but the list of documents names it"));
}

// A database that runs transactions concurrently (CockroachDB) reports this from time to time.
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

Change sample_of(int documents, std::size_t bytes) {
  Change change = sample();
  change.drafts.clear();
  for (int i = 0; i < documents; ++i)
    change.drafts.push_back({Kind::kPolicy, "p" + std::to_string(i), "create", std::string(bytes, 'x')});
  return change;
}

// All documents together take longer than a statement may.
TEST_F(PostgresLedgerFaults, ASlowLinkDeliversLargeDocumentsInPages) {
  const auto written = open()->append(sample_of(48, 512 << 10)).value();
  const SlowLink link(server().port(), 4 << 20);
  const auto ledger = PostgresLedger::open(TestPostgres::url(database(), link.port()), {}).value();
  std::size_t documents = 0;
  const auto read = ledger->for_each_document([&](Record&&) { ++documents; });
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(documents, written.size());
}

TEST_F(PostgresLedgerFaults, PagesThatTakeTooLongAreHalved) {
  const auto ledger = open();
  ASSERT_TRUE(ledger->append(sample_of(1000, 10)));
  server().run_sql(
      database(),
      "CREATE FUNCTION slow() RETURNS boolean LANGUAGE plpgsql VOLATILE COST 1000000 AS $$ BEGIN "
      "PERFORM pg_sleep(0.004); RETURN true; END $$;"
      "ALTER TABLE sluice_records RENAME TO fast_records;"
      "CREATE VIEW sluice_records AS SELECT * FROM fast_records WHERE slow();"
      "ANALYZE");
  std::size_t attempts = 1;
  auto page = ledger->read_after(0, 1000);
  for (; !page && attempts < 5; ++attempts) page = ledger->read_after(0, 1000);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_GT(page->size(), 1u);
  EXPECT_LT(page->size(), 1000u);
}

// Another client holds the lock that every writer needs.
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

}  // namespace
}  // namespace sluice::ledger
