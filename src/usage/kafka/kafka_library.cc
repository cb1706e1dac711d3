#include "usage/kafka/kafka_library.h"

#include <dlfcn.h>

#include <string>

namespace sluice::usage {
namespace {

constexpr const char* kFile = "librdkafka.so.1";

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* from, KafkaLibrary& out) {
  return find(from, "rd_kafka_conf_new", out.conf_new) && find(from, "rd_kafka_conf_set", out.conf_set) &&
         find(from, "rd_kafka_conf_destroy", out.conf_destroy) &&
         find(from, "rd_kafka_conf_set_opaque", out.conf_set_opaque) &&
         find(from, "rd_kafka_conf_set_dr_msg_cb", out.conf_set_dr_msg_cb) &&
         find(from, "rd_kafka_conf_set_error_cb", out.conf_set_error_cb) &&
         find(from, "rd_kafka_conf_set_log_cb", out.conf_set_log_cb) &&
         find(from, "rd_kafka_new", out.make) && find(from, "rd_kafka_destroy", out.destroy) &&
         find(from, "rd_kafka_poll", out.poll) && find(from, "rd_kafka_purge", out.purge) &&
         find(from, "rd_kafka_topic_new", out.topic_new) &&
         find(from, "rd_kafka_topic_destroy", out.topic_destroy) &&
         find(from, "rd_kafka_produce", out.produce) && find(from, "rd_kafka_last_error", out.last_error) &&
         find(from, "rd_kafka_err2str", out.err2str) && find(from, "rd_kafka_fatal_error", out.fatal_error);
}

}  // namespace

Result<const KafkaLibrary*> KafkaLibrary::load() {
  static KafkaLibrary library{};
  static const std::string problem = [] {
    void* const from = dlopen(kFile, RTLD_NOW | RTLD_LOCAL);  // for the life of the process
    if (!from)
      return std::string(
          "librdkafka.so.1 is needed to send events to Kafka and cannot be loaded; install the package "
          "librdkafka1");
    return find_all(from, library) ? std::string()
                                   : std::string("librdkafka.so.1 is too old; install version 1.0 or newer");
  }();
  if (!problem.empty()) return std::unexpected(Error{ErrorCode::kUnavailable, problem, ""});
  return &library;
}

}  // namespace sluice::usage
