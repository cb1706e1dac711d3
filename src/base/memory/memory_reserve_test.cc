#include "base/memory/memory_reserve.h"

#include <gtest/gtest.h>

#include <new>

namespace sluice {
namespace {

// `new` calls the handler when it fails; a test cannot make it fail without harm to others.
TEST(MemoryReserve, is_spent_once_and_then_new_throws_until_it_is_filled_up) {
  const std::new_handler before = std::get_new_handler();
  MemoryReserve::keep(1u << 20);
  const std::new_handler failed = std::get_new_handler();
  EXPECT_FALSE(MemoryReserve::is_spent());
  failed();
  EXPECT_TRUE(MemoryReserve::is_spent());
  EXPECT_THROW(failed(), std::bad_alloc);
  EXPECT_TRUE(MemoryReserve::fill_up());
  EXPECT_FALSE(MemoryReserve::is_spent());
  failed();
  EXPECT_THROW(failed(), std::bad_alloc);
  std::set_new_handler(before);
}

}  // namespace
}  // namespace sluice
