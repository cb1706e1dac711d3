#include "server/cells/cell_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/limits.h"

namespace sluice::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CellFile, IsReadWithAllItsFields) {
  Problems problems;
  const auto read = parse_cells(R"(
cells:
  - name: eu
    store: redis://:secret@eu.internal:6380/2
    tenants: [acme, "bank-*", "7"]
    tiers: [enterprise]
    when_moved: reset
  - { name: here, store: memory, tiers: [free] }
start_anew: [corp]
)",
                                "cells.yaml", problems);
  const auto& cells = read.cells;
  EXPECT_THAT(read.start_anew, ElementsAre("corp"));
  EXPECT_THAT(problems.texts(), ElementsAre());
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].name, "eu");
  ASSERT_TRUE(cells[0].store.redis);
  EXPECT_EQ(cells[0].store.redis->addresses.front().host, "eu.internal");
  EXPECT_THAT(cells[0].tenants, ElementsAre("acme", "bank-*", "7"));
  EXPECT_THAT(cells[0].tiers, ElementsAre("enterprise"));
  EXPECT_EQ(cells[0].when_moved, WhenMoved::kReset);
  EXPECT_FALSE(cells[1].store.redis);
  EXPECT_EQ(cells[1].when_moved, WhenMoved::kKeep);
}

TEST(CellFile, NoCellsIsAFileToo) {
  Problems problems;
  EXPECT_TRUE(parse_cells("cells: []", "cells.yaml", problems).cells.empty());
  EXPECT_TRUE(problems.empty());
}

TEST(CellFile, WhatIsWrongIsNamedWithLineAndField) {
  struct Row {
    std::string text;
    std::string expected;
  };
  const std::string a = "cells:\n- {name: a, store: memory, tenants: [t, x]}\n";
  for (const Row& row : {
           Row{"", "c.yaml: the file is empty"},
           {"eu", "c.yaml:1: must be a map of fields, not a text"},
           {"cells: [", "c.yaml:"},
           {"{}", "cells: is missing"},
           {"cells: eu", "c.yaml:1: cells: must be a list, not a text"},
           {"cell: []", "unknown field \"cell\"; did you mean \"cells\"?"},
           {"cells: [eu]", "cells[0]: must be a map of fields"},
           {a + "- {store: memory, tenants: [b]}", "c.yaml:3: cells[1].name: is missing"},
           {a + "- {name: b, tenants: [b]}", "c.yaml:3: cells[1].store: is missing"},
           {a + "- {name: b, store: memory}", "cells[1].tenants: is missing; a cell needs"},
           {a + "- {name: b, store: memory, tenant: [b], tiers: [c]}", "did you mean \"tenants\"?"},
           {a + "- {name: a, store: memory, tenants: [b]}",
            "c.yaml:3: cells[1].name: cells[0] is named \"a\""},
           {a + "- {name: default, store: memory, tenants: [b]}", "c.yaml:3: cells[1].name: \"default\" is"},
           {a + "- name: b\n  store: floppy\n  tenants: [b]",
            "c.yaml:4: cells[1].store: the store URL has no"},
           {a + "- {name: b, store: memory, tenants: [b, x]}",
            "c.yaml:3: cells[1].tenants[1]: \"x\" is placed by cells[0].tenants[1] already"},
           {a + "- {name: b, store: memory, tenants: [\"b*\", \"b*\"]}", "\"b*\" is placed by"},
           {a + "- {name: b, store: memory, tiers: [f, f]}", "cells[1].tiers[1]: \"f\" is placed by"},
           {a + "- {name: b, store: memory, tenants: [\"b*c\"]}", "cells[1].tenants[0]: \"b*c\" has a *"},
           {a + "- {name: b, store: memory, tenants: [\"\"]}", "cells[1].tenants[0]: must not be empty"},
           {a + "- {name: b, store: memory, tenants: [7]}", "put it in quotes"},
           {a + "- {name: b, store: memory, tenants: b}", "cells[1].tenants: must be a list"},
           {a + "- {name: b, store: memory, tiers: [b], when_moved: burn}",
            "cells[1].when_moved: \"burn\" is neither keep nor reset"},
           {a + "start_anew: [t, 'b*']\n", "c.yaml:3: start_anew[1]: \"b*\" has a *"},
       }) {
    Problems problems;
    parse_cells(row.text, "c.yaml", problems);
    ASSERT_FALSE(problems.empty()) << row.text;
    EXPECT_THAT(problems.texts().front(), HasSubstr(row.expected)) << row.text;
  }
}

TEST(CellFile, ThereAreOnlySoManyCellsAndTenants) {
  const auto problems_of = [](std::size_t cells, std::size_t tenants) {
    std::string text = "cells:\n";
    for (std::size_t i = 0; i < cells; ++i) {
      text += "- {name: c" + std::to_string(i) + ", store: memory, tiers: [t" + std::to_string(i) + "]";
      text += ", tenants: [";
      for (std::size_t j = 0; i == 0 && j < tenants; ++j) text += "t" + std::to_string(j) + ", ";
      text += "]}\n";
    }
    Problems problems;
    parse_cells(text, "c.yaml", problems);
    return problems.texts();
  };
  EXPECT_THAT(problems_of(kCellsMax, 1), ElementsAre());
  EXPECT_THAT(problems_of(kCellsMax + 1, 1), ElementsAre(HasSubstr("cells: there are more than 64 cells")));
  EXPECT_THAT(problems_of(1, kCellPlacesMax - 1), ElementsAre());
  EXPECT_THAT(problems_of(1, kCellPlacesMax), ElementsAre(HasSubstr("more than 100000 tenants and tiers")));
}

TEST(CellFile, APasswordIsNeverInAProblem) {
  Problems problems;
  parse_cells("cells: [{name: a, store: 'redis://u:geheim@h:x', tenants: [t]}]", "c.yaml", problems);
  ASSERT_FALSE(problems.empty());
  EXPECT_THAT(problems.texts().front(), ::testing::Not(HasSubstr("geheim")));
}

}  // namespace
}  // namespace sluice::server
