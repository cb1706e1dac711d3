#include "base/text/near_name.h"

#include <gtest/gtest.h>

#include <array>

namespace sluice {
namespace {

TEST(NearNameTest, CountsSlips) {
  struct Row {
    std::string_view a, b;
    std::size_t slips;
  };
  for (const Row& row : {Row{"", "", 0},
                         {"", "key", 3},
                         {"key", "key", 0},
                         {"Key", "kEY", 0},
                         {"kye", "key", 1},
                         {"ky", "key", 1},
                         {"keys", "key", 1},
                         {"usr", "user", 1},
                         {"tokns", "tokens", 1},
                         {"tenantId", "tenant_id", 1},
                         {"abcd", "badc", 2},
                         {"cost", "tokens", 5}}) {
    EXPECT_EQ(slips_between(row.a, row.b), row.slips) << row.a << ' ' << row.b;
    EXPECT_EQ(slips_between(row.b, row.a), row.slips) << row.b << ' ' << row.a;
  }
}

TEST(NearNameTest, FindsTheOneThatWasMeant) {
  constexpr std::array<std::string_view, 5> kNames = {"key", "cost", "tokens", "tenant_id", "resource"};
  struct Row {
    std::string_view name, meant;
  };
  for (const Row& row : {Row{"tokns", "tokens"},
                         {"token", "tokens"},
                         {"tokenss", "tokens"},
                         {"tknes", "tokens"},
                         {"cots", "cost"},
                         {"Cost", "cost"},
                         {"kee", "key"},
                         {"tenant-id", "tenant_id"},
                         {"tenant", ""},
                         {"tokens", ""},
                         {"count", ""},
                         {"id", ""},
                         {"", ""},
                         {"something else", ""}})
    EXPECT_EQ(near_name(row.name, kNames), row.meant) << row.name;
}

}  // namespace
}  // namespace sluice
