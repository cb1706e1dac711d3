#include "redis/cluster/config_epochs.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace sluice::redis {
namespace {

// As Redis 7.0 replies.
constexpr std::string_view kNodes =
    "07c37df 127.0.0.1:30004@31004,hostname4 slave e7d1eec 0 1426238317239 4 connected\n"
    "67ed2db 127.0.0.1:30002@31002,hostname2 master - 0 1426238316232 2 connected 5461-10922\n"
    "6ec2392 127.0.0.1:30005@31005, master,fail - 0 1426238316232 18446744073709551615 disconnected\n"
    "e7d1eec 127.0.0.1:30001@31001,hostname1 myself,master - 0 0 4 connected 0-5460 [93-<-67ed2db]\n";

TEST(ConfigEpochs, AreReadByIdWithTheNodeThatWasAsked) {
  const ConfigEpochs epochs(kNodes);
  EXPECT_EQ(epochs.of("67ed2db"), 2u);
  EXPECT_EQ(epochs.of("e7d1eec"), 4u);
  EXPECT_EQ(epochs.of("07c37df"), 4u) << "a replica has that of its master";
  EXPECT_EQ(epochs.of("6ec2392"), UINT64_MAX);
  EXPECT_EQ(epochs.of("67ed2d"), std::nullopt);
  EXPECT_EQ(epochs.self(), "e7d1eec");
  EXPECT_FALSE(epochs.empty());
}

TEST(ConfigEpochs, WhatIsOfAnotherFormIsLeftOut) {
  for (const std::string_view text : {"", "\n\n", "OK", "id 127.0.0.1:1@2 master - 0 0", "a b c d e f -1 g",
                                      "a b myself d e f 7x g", " b myself d e f 7 g"}) {
    SCOPED_TRACE(text);
    const ConfigEpochs epochs(text);
    EXPECT_TRUE(epochs.empty());
    EXPECT_EQ(epochs.self(), "");
  }
  const ConfigEpochs last("x\na b notmyself d e f 7");
  EXPECT_EQ(last.of("a"), 7u) << "the last line needs no end";
  EXPECT_EQ(last.self(), "");
}

TEST(ConfigEpochs, AnyBytesAreRead) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string text(kNodes.substr(0, random() % kNodes.size()));
    for (unsigned changes = random() % 20; changes > 0 && !text.empty(); --changes)
      text[random() % text.size()] = "\n ,0a"[random() % 5];
    const ConfigEpochs epochs(text);
    EXPECT_TRUE(epochs.self().empty() || epochs.of(epochs.self())) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sluice::redis
