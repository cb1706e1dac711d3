#pragma once

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <initializer_list>
#include <string>
#include <vector>

namespace sluice::usage {

// librdkafka's stand-in for a broker, in this process, for tests: one topic with one partition. Not
// thread-safe.
class MockKafka {
 public:
  static constexpr const char* kTopic = "usage.events";

  MockKafka() {
    owner_ = rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), nullptr, 0);
    cluster_ = rd_kafka_mock_cluster_new(owner_, 1);
    rd_kafka_mock_topic_create(cluster_, kTopic, 1, 1);
  }
  ~MockKafka() {
    if (consumer_) rd_kafka_destroy(consumer_);
    rd_kafka_mock_cluster_destroy(cluster_);
    rd_kafka_destroy(owner_);
  }
  MockKafka(const MockKafka&) = delete;
  MockKafka& operator=(const MockKafka&) = delete;

  std::string brokers() const { return rd_kafka_mock_cluster_bootstraps(cluster_); }
  void set_down() { rd_kafka_mock_broker_set_down(cluster_, 1); }
  void set_up() { rd_kafka_mock_broker_set_up(cluster_, 1); }

  // The answers to the next requests with events.
  void fail_produce(std::initializer_list<rd_kafka_resp_err_t> errors) {
    constexpr std::int16_t kProduce = 0;
    rd_kafka_mock_push_request_errors_array(cluster_, kProduce, errors.size(), errors.begin());
  }

  // The first so many events of the topic, and those that come with them.
  std::vector<std::string> read(std::size_t count) {
    begin_to_read();
    constexpr int kWaitMs = 100, kLooks = 600, kLastLooks = 3;
    for (int looks = 0; looks < kLooks && bodies_.size() < count;) looks += read_one(kWaitMs) ? 0 : 1;
    for (int looks = 0; looks < kLastLooks;) looks += read_one(kWaitMs) ? 0 : 1;
    return bodies_;
  }
  const std::string& key() const { return key_; }  // of the event that was read last

 private:
  void begin_to_read() {
    if (consumer_) return;
    rd_kafka_conf_t* const conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", brokers().c_str(), nullptr, 0);
    rd_kafka_conf_set(conf, "group.id", "test", nullptr, 0);
    rd_kafka_conf_set(conf, "auto.offset.reset", "earliest", nullptr, 0);
    consumer_ = rd_kafka_new(RD_KAFKA_CONSUMER, conf, nullptr, 0);
    rd_kafka_poll_set_consumer(consumer_);
    rd_kafka_topic_partition_list_t* const all = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(all, kTopic, 0)->offset = RD_KAFKA_OFFSET_BEGINNING;
    rd_kafka_assign(consumer_, all);
    rd_kafka_topic_partition_list_destroy(all);
  }
  bool read_one(int wait_ms) {
    rd_kafka_message_t* const message = rd_kafka_consumer_poll(consumer_, wait_ms);
    if (!message) return false;
    const bool is_event = message->err == RD_KAFKA_RESP_ERR_NO_ERROR;
    if (is_event) {
      bodies_.emplace_back(static_cast<const char*>(message->payload), message->len);
      key_.assign(static_cast<const char*>(message->key), message->key_len);
    }
    rd_kafka_message_destroy(message);
    return is_event;
  }

  rd_kafka_t* owner_;
  rd_kafka_mock_cluster_t* cluster_;
  rd_kafka_t* consumer_ = nullptr;
  std::vector<std::string> bodies_;
  std::string key_;
};

}  // namespace sluice::usage
