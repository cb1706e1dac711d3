#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "usage/kafka/kafka_library.h"
#include "usage/sink.h"
#include "usage/target/usage_target.h"

namespace sluice::usage {

// Sends events to a topic of Kafka by librdkafka's idempotent producer: within the life of a producer no
// event is written twice or out of its partition's order, however often it is sent. Events with the same
// tenant and key are in one partition. Belongs to one thread; librdkafka has threads of its own.
//
// librdkafka connects, chooses brokers and tries again, for as long as it takes. If it gives up on an event
// (a topic that does not exist, a right that is missing), or on itself, the events that were not delivered
// are given to it, or to a new producer, again after a while; then some may arrive twice.
class KafkaSink final : public UsageSink {
 public:
  // Does not connect yet. kInvalidArgument: the settings are wrong, for instance a file that cannot be read.
  // REQUIRES: clock outlives it.
  static Result<std::unique_ptr<KafkaSink>> make(const KafkaTarget& target, const Clock& clock,
                                                 OnDone on_done);
  ~KafkaSink() override;
  KafkaSink(const KafkaSink&) = delete;
  KafkaSink& operator=(const KafkaSink&) = delete;

  bool has_room() const override { return batches_.size() < kBatchesMax; }
  void take(std::unique_ptr<UsageBatch> batch) override;
  void step(int timeout_ms) override;
  const Status& status() const override { return status_; }

 private:
  static constexpr std::size_t kBatchesMax = 32;

  // What became of an event. Its address comes back with librdkafka's report.
  struct Held;
  enum class Fate : std::uint8_t { kWaits, kGiven, kDone };  // kGiven: to librdkafka
  struct Event {
    Held* held;
    Fate fate;
  };
  // A batch whose texts librdkafka may be reading.
  struct Held {
    std::unique_ptr<UsageBatch> batch;
    std::vector<Event> events;
    std::size_t open = 0;  // events that are not done
  };

  KafkaSink(const KafkaLibrary& library, const KafkaTarget& target, const Clock& clock, OnDone on_done)
      : library_(library), target_(target), clock_(clock), on_done_(std::move(on_done)) {}
  Result<void> start();
  Result<void> configure(rd_kafka_conf_t* conf);
  void close();
  void restart();
  void give();
  bool give(Held& held, std::size_t i);
  void finish(Event& event);
  void settle();
  void note_problem(std::string_view what);
  void tell_problem(std::int64_t now_us);

  static void on_report(rd_kafka_t* producer, const rd_kafka_message_t* message, void* self);
  static void on_error(rd_kafka_t* producer, int error, const char* reason, void* self);
  void report(const rd_kafka_message_t& message);

  const KafkaLibrary& library_;
  const KafkaTarget target_;
  const Clock& clock_;
  const OnDone on_done_;
  rd_kafka_t* producer_ = nullptr;
  rd_kafka_topic_t* topic_ = nullptr;
  std::deque<std::unique_ptr<Held>> batches_;  // oldest first
  bool has_waiting_ = false;                   // some event is not given
  std::int64_t give_at_us_ = 0;                // not before
  std::int64_t restart_at_us_ = 0;             // 0: the producer works
  std::int64_t quiet_since_us_ = 0;            // when an event was acknowledged last, or none was in hand
  std::string problem_;                        // since then
  std::minstd_rand random_{std::random_device()()};
  Status status_;
};

}  // namespace sluice::usage
