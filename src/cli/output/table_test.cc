#include "cli/output/table.h"

#include <gtest/gtest.h>

#include "cli/output/words.h"

namespace sluice::cli {
namespace {

const Table kTwo{{"NAME", "WHY"}, {{"a", "short"}, {"b", "a longer reason, with words"}}};

TEST(TableTest, ColumnsAreAsWideAsTheirCells) {
  EXPECT_EQ(table_text(kTwo, {}),
            "NAME  WHY\n"
            "a     short\n"
            "b     a longer reason, with words\n");
}

TEST(TableTest, LongCellsGoOnInTheNextLineAndNothingIsLost) {
  EXPECT_EQ(table_text(kTwo, {.columns = 20}),
            "NAME  WHY\n"
            "a     short\n"
            "b     a longer\n"
            "      reason, with\n"
            "      words\n");
  EXPECT_EQ(table_text({{"ID", "WHAT"}, {{"search.read", std::string(30, 'x')}}}, {.columns = 21}),
            "ID           WHAT\nsearch.read  xxxxxxxx\n             xxxxxxxx\n             xxxxxxxx\n"
            "             xxxxxx\n");
}

TEST(TableTest, TheFirstColumnGivesWayLast) {
  const std::string text = table_text({{"ID", "A"}, {{"model-service.cap", "12345678"}}}, {.columns = 20});
  EXPECT_EQ(text, "ID          A\nmodel-      12345678\nservice.\ncap\n");
}

TEST(TableTest, ColumnsThatCannotFitAreLeftWide) {
  EXPECT_EQ(table_text({{"FIRST HEADING", "SECOND HEADING"}, {}}, {.columns = 20}),
            "FIRST HEADING  SECOND HEADING\n");
}

TEST(TableTest, TextOfStrangersMovesNoCursor) {
  EXPECT_EQ(table_text({{"KEY"}, {{"a\x1b[2Jb\nc\xff"}}}, {}), "KEY\na?[2Jb?c?\n");
}

TEST(TableTest, OnlyHeadingsAreBoldAndOnlyWithColour) {
  EXPECT_EQ(table_text({{"KEY"}, {{"a"}}}, {.colour = true}), "\x1b[1mKEY\x1b[0m\na\n");
}

TEST(TableTest, CharactersCountNotBytes) {
  EXPECT_EQ(table_text({{"K", "V"}, {{"über", "1"}, {"a", "2"}}}, {}), "K     V\nüber  1\na     2\n");
  EXPECT_EQ(wrapped("äöüäöü", 4), (std::vector<std::string>{"äöüä", "öü"}));
}

TEST(WordsTest, RatesCannotBeMisread) {
  EXPECT_EQ(rate_words(60, 60'000'000), "60/minute");
  EXPECT_EQ(rate_words(1000, 1'000'000), "1,000/second");
  EXPECT_EQ(rate_words(10, 90'000'000), "10/90s");
  EXPECT_EQ(rate_words(0, 1'000'000), "none");
  EXPECT_EQ(rate_words("5/d"), "5/day");
  EXPECT_EQ(rate_words("unknown"), "unknown");
  EXPECT_EQ(per_words({}), "all together");
  EXPECT_EQ(per_words({"tenant", "user"}), "tenant, user");
}

TEST(WordsTest, WaitsAreRoundedUp) {
  EXPECT_EQ(wait_words(-5), "0 ms");
  EXPECT_EQ(wait_words(999), "999 ms");
  EXPECT_EQ(wait_words(1001), "2 s");
  EXPECT_EQ(wait_words(120'001), "3 min");
  EXPECT_EQ(wait_words(3 * 3'600'000), "3 h");
  EXPECT_EQ(wait_words(3 * 86'400'000), "3 d");
  EXPECT_EQ(instant_words("2026-12-01T13:00:00.5Z"), "2026-12-01 13:00:00");
}

}  // namespace
}  // namespace sluice::cli
