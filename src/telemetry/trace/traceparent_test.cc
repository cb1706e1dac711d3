#include "telemetry/trace/traceparent.h"

#include <gtest/gtest.h>

#include <random>

namespace sluice {
namespace {

constexpr std::string_view kGood = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(Traceparent, IsReadAndWritten) {
  const auto context = parse_traceparent(kGood);
  ASSERT_TRUE(context);
  EXPECT_TRUE(context->is_sampled());
  EXPECT_EQ(context->trace_id[0], 0x4b);
  EXPECT_EQ(context->span_id[7], 0xb7);
  EXPECT_EQ(traceparent_text(*context), kGood);
  EXPECT_FALSE(parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02")->is_sampled());
}

TEST(Traceparent, ALaterVersionMayHaveMoreFields) {
  EXPECT_TRUE(parse_traceparent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
  EXPECT_TRUE(parse_traceparent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes"));
  EXPECT_FALSE(parse_traceparent("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what-comes"));
  EXPECT_FALSE(parse_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more"));
}

TEST(Traceparent, WhatIsMalformedIsNoTrace) {
  for (const std::string_view header : {"", "00", "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                                        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                                        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                                        "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                                        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",
                                        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
                                        " 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
    EXPECT_FALSE(parse_traceparent(header)) << header;
}

TEST(Traceparent, AnyBytesAreReadWithoutHarm) {
  std::mt19937 random(11);
  for (int round = 0; round < 20'000; ++round) {
    std::string header(kGood);
    for (int changes = 0; changes < 2; ++changes)
      header[random() % header.size()] = static_cast<char>(random());
    header.resize(random() % (header.size() + 1));
    if (const auto context = parse_traceparent(header)) EXPECT_EQ(traceparent_text(*context), header);
    static_cast<void>(readable_tracestate(header));
  }
}

TEST(Tracestate, IsKeptAsAWholeOrNotAtAll) {
  for (const std::string_view good : {"rojo=00f067aa0ba902b7", "a=1, b=2,,c@vendor= x", "0a/b_c-d*=~!"})
    EXPECT_EQ(readable_tracestate(good), good);
  std::string many;
  for (int i = 0; i < 33; ++i) many += "k" + std::to_string(i) + "=v,";
  for (const std::string& bad :
       {std::string(""), std::string(",,"), std::string("a"), std::string("=1"), std::string("A=1"),
        std::string("a=b=c"), std::string("a=\x01"), "a=" + std::string(511, 'x'), many})
    EXPECT_EQ(readable_tracestate(bad), "") << bad;
}

}  // namespace
}  // namespace sluice
