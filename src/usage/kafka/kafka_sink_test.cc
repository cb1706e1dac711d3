#include "usage/kafka/kafka_sink.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "usage/kafka/testing/mock_kafka.h"
#include "usage/testing/sink_driver.h"

namespace sluice::usage {
namespace {

std::unique_ptr<KafkaSink> sink_at(const MockKafka& kafka, SinkDriver& driver) {
  const auto target = parse_usage_target("kafka://" + kafka.brokers() + "/" + MockKafka::kTopic);
  auto sink = KafkaSink::make(std::get<KafkaTarget>(target->server), driver.clock(), driver.on_done());
  EXPECT_TRUE(sink) << sink.error().message;
  return std::move(*sink);
}

TEST(KafkaSink, DeliversInOrderAndOnce) {
  MockKafka kafka;
  SinkDriver driver;
  const auto sink = sink_at(kafka, driver);
  ASSERT_TRUE(driver.send_all(*sink, 500, 100));
  EXPECT_EQ(kafka.read(500), SinkDriver::bodies(500));
  EXPECT_EQ(kafka.key(), "t/alice");
  EXPECT_EQ(sink->status().sent, 500u);
  EXPECT_EQ(sink->status().failed, 0u);
  EXPECT_EQ(sink->status().problem, "");
  EXPECT_EQ(driver.done(), 500u);
}

TEST(KafkaSink, WaitsForABrokerThatIsDown) {
  MockKafka kafka;
  SinkDriver driver;
  const auto sink = sink_at(kafka, driver);
  ASSERT_TRUE(driver.send_all(*sink, 100, 100));
  kafka.set_down();
  while (sink->has_room()) driver.give(*sink, 10);
  ASSERT_TRUE(driver.turns_until(*sink, [&] { return !sink->status().problem.empty(); }));
  EXPECT_GT(sink->status().in_hand, 0u);
  kafka.set_up();
  ASSERT_TRUE(driver.turns_until(*sink, [&] { return sink->status().in_hand == 0; }));
  EXPECT_EQ(kafka.read(driver.given()), SinkDriver::bodies(driver.given()))
      << "idempotent: in order, each once";
  sink->step(0);
  EXPECT_EQ(sink->status().problem, "");
}

TEST(KafkaSink, ErrorsThatPassAreTriedAgain) {
  MockKafka kafka;
  SinkDriver driver;
  const auto sink = sink_at(kafka, driver);
  kafka.fail_produce({RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
                      RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS});
  ASSERT_TRUE(driver.send_all(*sink, 100, 10));
  EXPECT_EQ(kafka.read(100), SinkDriver::bodies(100));
}

// librdkafka gives up on these; we do not.
TEST(KafkaSink, WhatWasRefusedIsGivenAgain) {
  MockKafka kafka;
  SinkDriver driver;
  const auto sink = sink_at(kafka, driver);
  kafka.fail_produce({RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED});
  driver.give(*sink, 10);
  ASSERT_TRUE(driver.turns_until(*sink, [&] { return !sink->status().problem.empty(); }));
  EXPECT_EQ(sink->status().sent, 0u);
  ASSERT_TRUE(driver.turns_until(*sink, [&] { return sink->status().in_hand == 0; }));
  EXPECT_EQ(sink->status().sent, 10u);
  std::vector<std::string> all = kafka.read(10);
  std::ranges::sort(all);
  EXPECT_EQ(all, SinkDriver::bodies(10));
}

TEST(KafkaSink, AnEventThatIsTooLargeStopsNobody) {
  MockKafka kafka;
  SinkDriver driver;
  const auto sink = sink_at(kafka, driver);
  auto batch = std::make_unique<UsageBatch>();
  for (const std::string& body :
       {std::string("{\"n\":0}"), std::string(2'000'000, 'x'), std::string("{\"n\":1}")})
    batch->add(0, [](std::string& out) { out += "t/alice"; }, [&](std::string& out) { out += body; });
  sink->take(std::move(batch));
  ASSERT_TRUE(driver.turns_until(*sink, [&] { return sink->status().in_hand == 0; }));
  EXPECT_EQ(sink->status().failed, 1u);
  EXPECT_EQ(sink->status().sent, 2u);
  EXPECT_EQ(kafka.read(2), SinkDriver::bodies(2));
}

TEST(KafkaSink, EndsAlthoughNobodyAnswers) {
  SinkDriver driver;
  const auto target = parse_usage_target("kafka://127.0.0.1:1/x");
  auto sink = KafkaSink::make(std::get<KafkaTarget>(target->server), driver.clock(), driver.on_done());
  ASSERT_TRUE(sink);
  driver.give(**sink, 10);
  ASSERT_TRUE(driver.turns_until(**sink, [&] { return !(*sink)->status().problem.empty(); }));
  sink->reset();
  EXPECT_EQ(driver.done(), 0u);
}

TEST(KafkaSink, RefusesSettingsThatLibrdkafkaCannotUse) {
  SinkDriver driver;
  const auto target = parse_usage_target("kafkas://u:hunter2@127.0.0.1:1/x?ca=/nowhere/ca.pem");
  const auto sink = KafkaSink::make(std::get<KafkaTarget>(target->server), driver.clock(), driver.on_done());
  ASSERT_FALSE(sink);
  EXPECT_TRUE(sink.error().message.contains("ssl.ca.location")) << sink.error().message;
  EXPECT_FALSE(sink.error().message.contains("hunter2")) << sink.error().message;
}

}  // namespace
}  // namespace sluice::usage
