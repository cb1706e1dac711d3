#pragma once

#include <librdkafka/rdkafka.h>

#include "base/error.h"

namespace sluice::usage {

// The functions of librdkafka that we use, from the library that is loaded when events are first sent to
// Kafka. Nobody else needs it on their machine, and no start waits for it; docs/decisions/0015-librdkafka.md.
// Immutable once loaded; thread-safe.
struct KafkaLibrary {
  decltype(&rd_kafka_conf_new) conf_new;
  decltype(&rd_kafka_conf_set) conf_set;
  decltype(&rd_kafka_conf_destroy) conf_destroy;
  decltype(&rd_kafka_conf_set_opaque) conf_set_opaque;
  decltype(&rd_kafka_conf_set_dr_msg_cb) conf_set_dr_msg_cb;
  decltype(&rd_kafka_conf_set_error_cb) conf_set_error_cb;
  decltype(&rd_kafka_conf_set_log_cb) conf_set_log_cb;
  decltype(&rd_kafka_new) make;
  decltype(&rd_kafka_destroy) destroy;
  decltype(&rd_kafka_poll) poll;
  decltype(&rd_kafka_purge) purge;
  decltype(&rd_kafka_topic_new) topic_new;
  decltype(&rd_kafka_topic_destroy) topic_destroy;
  decltype(&rd_kafka_produce) produce;
  decltype(&rd_kafka_last_error) last_error;
  decltype(&rd_kafka_err2str) err2str;
  decltype(&rd_kafka_fatal_error) fatal_error;

  // Loads it once per process. The error says which package is missing.
  static Result<const KafkaLibrary*> load();
};

}  // namespace sluice::usage
