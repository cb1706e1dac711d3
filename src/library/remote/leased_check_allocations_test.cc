// What a leased check does on the caller's thread allocates nothing. Not under TSan, which has its own
// operator new.
#if !__has_feature(thread_sanitizer)
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "client/lease_answers.h"
#include "library/remote/messages.h"

namespace {

thread_local std::uint64_t allocations = 0;

}  // namespace

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sluice {
namespace {

TEST(LeasedCheckTest, AllocatesNothing) {
  const KeyHasher hasher = KeyHasher::from_text("test");
  const LeaseTerms terms{
      .limit = 100, .limit_name = "a name that is longer than a short string", .check_cost = 1};
  const std::pair<std::string_view, std::string_view> dimensions[] = {{"plan", "enterprise"}};
  const Request request{.key = "an address that is longer than a short string",
                        .tenant = "shop",
                        .resource = "/v1/orders/items",
                        .dimensions = dimensions};
  LeaseTable table;
  const auto found = [&] {
    char bytes[1024];
    net::WireCursor cursor(bytes);
    EXPECT_LE(remote::subject_room(request), sizeof(bytes));
    remote::write_subject(cursor, request);
    return hasher({bytes, static_cast<std::size_t>(cursor.at() - bytes)});
  };
  const auto place = table.insert(found());
  ASSERT_TRUE(place);
  table.set_terms(*place, &terms);
  table.bucket(*place).add(1'000, 2);

  const std::uint64_t before = allocations;
  int allowed = 0, denied = 0;
  for (int i = 0; i < 1'500; ++i) {
    if (i == 1'000) table.bucket(*place).deny_until(2);
    Answer answer;
    if (!decide_here(table, table.find(found()), request.cost, 1, true, answer).is_decided) break;
    ++(answer.allowed ? allowed : denied);
  }
  EXPECT_EQ(allocations - before, 0u);
  EXPECT_EQ(allowed, 1'000);
  EXPECT_EQ(denied, 500);
  delete new int;
  EXPECT_EQ(allocations - before, 1u) << "they are counted";
}

}  // namespace
}  // namespace sluice
#endif
