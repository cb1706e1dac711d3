#include "document/yaml_words.h"

#include <gtest/gtest.h>

namespace sluice {
namespace {

TEST(YamlWords, TruthHasManyNames) {
  for (const char* word : {"true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"})
    EXPECT_EQ(yaml_truth(word), true) << word;
  for (const char* word : {"false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"})
    EXPECT_EQ(yaml_truth(word), false) << word;
  for (const char* word : {"", "tRUE", "TRue", "1", "0", "yess", "t", "nO"})
    EXPECT_EQ(yaml_truth(word), std::nullopt) << word;
}

TEST(YamlWords, WholeNumbersHaveBases) {
  EXPECT_EQ(yaml_integer("0"), 0);
  EXPECT_EQ(yaml_integer("1000"), 1000);
  EXPECT_EQ(yaml_integer("1_000"), 1000);
  EXPECT_EQ(yaml_integer("+5"), 5);
  EXPECT_EQ(yaml_integer("-5"), -5);
  EXPECT_EQ(yaml_integer("0x1F"), 31);
  EXPECT_EQ(yaml_integer("0b101"), 5);
  EXPECT_EQ(yaml_integer("0o17"), 15);
  EXPECT_EQ(yaml_integer("010"), 8);
  EXPECT_EQ(yaml_integer("9223372036854775807"), INT64_MAX);
  for (const char* word : {"", "-", "+", "_1", "1.5", "1e3", "ten", "0x", "0b2", "08", "0x-1", "--1", "-0x-1",
                           "9223372036854775808", "0z1"})
    EXPECT_EQ(yaml_integer(word), std::nullopt) << word;
}

}  // namespace
}  // namespace sluice
