#include "library/remote/messages.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace sluice::remote {
namespace {

std::string subject_of(const Request& request) {
  std::string subject;
  net::append_wire(subject, subject_room(request),
                   [&](net::WireCursor& cursor) { write_subject(cursor, request); });
  return subject;
}

TEST(Messages, EveryPartOfARequestIsInItsSubject) {
  const std::pair<std::string_view, std::string_view> plan[] = {{"plan", "pro"}},
                                                      swapped[] = {{"pro", "plan"}};
  std::set<std::string> subjects;
  for (const Request& request :
       {Request{}, Request{.key = "a"}, Request{.tenant = "a"}, Request{.resource = "a"},
        Request{.policy_id = "a"}, Request{.key = "a", .tenant = "b"}, Request{.key = "ab"},
        Request{.key = "a", .dimensions = plan}, Request{.key = "a", .dimensions = swapped}})
    EXPECT_TRUE(subjects.insert(subject_of(request)).second);
  EXPECT_EQ(subject_of({.key = "a", .request_id = "x", .cost = 5}), subject_of({.key = "a"}));
}

TEST(Messages, ACheckNamesItsCostOnlyIfItHasOne) {
  std::string with, without;
  write_check(with, "", 0, "");
  write_check(without, "", std::nullopt, "");
  EXPECT_EQ(with, std::string("\x18\0", 2));
  EXPECT_EQ(without, "");
}

TEST(Messages, ACheckResponseBecomesAnAnswer) {
  std::string bytes;
  net::WireWriter writer(bytes);
  writer.boolean(1, false);
  writer.int32(2, 3);
  writer.int64(3, 10'500);
  writer.int32(4, 250);
  writer.string(5, "api#7");
  const auto quota = writer.begin_message(6);
  writer.string(1, "burst");
  writer.end_message(quota);
  writer.int64(7, 20);
  writer.string(11, "limited");
  writer.boolean(16, true);
  TermsBook terms;
  const auto read = read_check(bytes, terms, 10'000);
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->answer.allowed);
  EXPECT_EQ(read->answer.remaining, 3);
  EXPECT_EQ(read->answer.limit, 20);
  EXPECT_EQ(read->answer.retry_after, std::chrono::milliseconds(250));
  EXPECT_EQ(read->answer.reset_after, std::chrono::milliseconds(500));
  EXPECT_EQ(read->answer.reason, "limited");
  EXPECT_EQ(read->answer.policy_version, "api#7");
  EXPECT_EQ(read->answer.limit_name, "burst");
  EXPECT_TRUE(read->lease_advised);
  EXPECT_FALSE(read_check("\x08", terms, 0)) << "cut off";
}

TEST(Messages, WhereNoLimitAppliedNumbersAreZero) {
  std::string bytes;
  net::WireWriter writer(bytes);
  writer.boolean(1, true);
  writer.int32(2, -1);
  writer.int64(7, -1);
  writer.string(11, "a reason of a newer server");
  TermsBook terms;
  const auto read = read_check(bytes, terms, 0);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->answer.remaining, 0);
  EXPECT_EQ(read->answer.limit, 0);
  EXPECT_EQ(read->answer.reason, "other");
}

TEST(Messages, ALeaseResponse) {
  std::string bytes;
  net::WireWriter writer(bytes);
  writer.string(1, "id");
  writer.int32(2, 40);
  writer.int32(4, 1'000);
  writer.int32(5, 7);
  writer.int32(6, -1);
  writer.string(7, "api#7");
  writer.int32(8, 10'000);
  writer.int64(10, 3);
  const auto read = read_lease(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->answer.lease_id, "id");
  EXPECT_EQ(read->answer.granted, 40);
  EXPECT_EQ(read->answer.refresh_after_us, kSecondUs);
  EXPECT_EQ(read->answer.safe_capacity, 7);
  EXPECT_LT(read->answer.retry_after_us, 0) << "never";
  EXPECT_EQ(read->answer.expires_after_us, 10 * kSecondUs);
  EXPECT_EQ(read->terms.policy_version, "api#7");
  EXPECT_EQ(read->terms.check_cost, 3);
}

TEST(Messages, TermsAreKeptOnceAndNotWithoutBound) {
  TermsBook book;
  const LeaseTerms* first = book.keep({.policy_version = "api#1"});
  EXPECT_EQ(book.keep({.policy_version = "api#1"}), first);
  for (std::size_t i = 0; i < 2 * TermsBook::kTermsMax; ++i)
    book.keep({.limit = static_cast<std::int64_t>(i)});
  EXPECT_EQ(book.keep({.policy_version = "new"})->policy_version, "");
  EXPECT_EQ(first->policy_version, "api#1");
}

}  // namespace
}  // namespace sluice::remote
