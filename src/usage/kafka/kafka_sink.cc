#include "usage/kafka/kafka_sink.h"

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::usage {
namespace {

constexpr std::int64_t kRetryUs = 2'000'000;     // half of it to all of it
constexpr std::int64_t kPatienceUs = 5'000'000;  // without an acknowledgement, until that is a problem
constexpr std::size_t kErrorBytes = 512;

using Setting = std::pair<const char*, std::string>;

void ignore_log(const rd_kafka_t*, int, const char*, const char*) {}

// Errors of one broker, or of one connection: librdkafka tries others.
bool is_of_one_broker(int error) {
  return error == RD_KAFKA_RESP_ERR__TRANSPORT || error == RD_KAFKA_RESP_ERR__TIMED_OUT ||
         error == RD_KAFKA_RESP_ERR__RESOLVE;
}

std::vector<Setting> settings_of(const KafkaTarget& target) {
  const bool has_login = !target.user.empty();
  std::vector<Setting> settings = {
      {"bootstrap.servers", target.brokers},
      {"client.id", "sluice"},
      {"enable.idempotence", "true"},
      {"message.timeout.ms", "0"},  // never: the order would have a hole
      {"linger.ms", "5"},
      {"compression.codec", target.compression},
      {"partitioner", "murmur2_random"},  // that of Java's clients
      {"queue.buffering.max.messages", "10000"},
      {"socket.timeout.ms", "10000"},
      {"reconnect.backoff.ms", "100"},
      {"reconnect.backoff.max.ms", "5000"},
      {"security.protocol", std::string(has_login ? "sasl_" : "") + (target.tls ? "ssl" : "plaintext")}};
  if (has_login) {
    settings.emplace_back("sasl.mechanism", target.mechanism);
    settings.emplace_back("sasl.username", target.user);
    settings.emplace_back("sasl.password", target.password);
  }
  if (!target.ca_file.empty()) settings.emplace_back("ssl.ca.location", target.ca_file);
  if (!target.certificate_file.empty()) {
    settings.emplace_back("ssl.certificate.location", target.certificate_file);
    settings.emplace_back("ssl.key.location", target.key_file);
  }
  return settings;
}

}  // namespace

Result<std::unique_ptr<KafkaSink>> KafkaSink::make(const KafkaTarget& target, const Clock& clock,
                                                   OnDone on_done) {
  const auto library = KafkaLibrary::load();
  if (!library) return std::unexpected(library.error());
  std::unique_ptr<KafkaSink> sink(new KafkaSink(**library, target, clock, std::move(on_done)));
  if (auto started = sink->start(); !started) return std::unexpected(started.error());
  return sink;
}

KafkaSink::~KafkaSink() { close(); }

// The value of a setting may be a password, and librdkafka's words may repeat it.
Result<void> KafkaSink::configure(rd_kafka_conf_t* conf) {
  std::array<char, kErrorBytes> error{};
  for (const auto& [name, value] : settings_of(target_))
    if (library_.conf_set(conf, name, value.c_str(), error.data(), error.size()) != RD_KAFKA_CONF_OK)
      return invalid("usage-events", std::string("librdkafka does not take the setting ") + name +
                                         "; it may be built without TLS, SASL or that compression");
  library_.conf_set_opaque(conf, this);
  library_.conf_set_dr_msg_cb(conf, on_report);
  library_.conf_set_error_cb(conf, on_error);
  library_.conf_set_log_cb(conf, ignore_log);
  return {};
}

Result<void> KafkaSink::start() {
  rd_kafka_conf_t* const conf = library_.conf_new();
  if (auto configured = configure(conf); !configured) {
    library_.conf_destroy(conf);
    return configured;
  }
  std::array<char, kErrorBytes> error{};
  producer_ = library_.make(RD_KAFKA_PRODUCER, conf, error.data(), error.size());
  if (!producer_) {
    library_.conf_destroy(conf);
    return invalid("usage-events", std::string("librdkafka cannot start: ") + error.data());
  }
  topic_ = library_.topic_new(producer_, target_.topic.c_str(), nullptr);
  if (!topic_) return invalid("usage-events", "librdkafka does not take the topic's name");
  return {};
}

// What was not delivered waits to be given again.
void KafkaSink::close() {
  if (!producer_) return;
  library_.purge(producer_, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  library_.poll(producer_, 0);
  if (topic_) library_.topic_destroy(topic_);
  library_.destroy(producer_);
  producer_ = nullptr;
  topic_ = nullptr;
}

// The producer has given up on itself, as it does if a broker has forgotten what came last.
void KafkaSink::restart() {
  close();
  for (const auto& held : batches_)
    for (Event& event : held->events)
      if (event.fate == Fate::kGiven) event.fate = Fate::kWaits;
  has_waiting_ = !batches_.empty();
  restart_at_us_ = 0;
  if (const auto started = start(); !started) {
    close();
    note_problem(started.error().message);
    restart_at_us_ = clock_.now_us() + kRetryUs;
  }
}

void KafkaSink::take(std::unique_ptr<UsageBatch> batch) {
  if (status_.in_hand == 0) quiet_since_us_ = clock_.now_us();
  status_.in_hand += batch->size();
  auto held = std::make_unique<Held>();
  held->open = batch->size();
  held->events.assign(batch->size(), {held.get(), Fate::kWaits});
  held->batch = std::move(batch);
  batches_.push_back(std::move(held));
  has_waiting_ = true;
  give();
}

void KafkaSink::step(int timeout_ms) {
  if (restart_at_us_ != 0 && clock_.now_us() >= restart_at_us_) restart();
  give();
  if (producer_) library_.poll(producer_, timeout_ms);
  settle();
  tell_problem(clock_.now_us());
}

// Gives librdkafka what it does not have, in order.
void KafkaSink::give() {
  if (!has_waiting_ || !producer_ || restart_at_us_ != 0 || clock_.now_us() < give_at_us_) return;
  for (const auto& held : batches_)
    for (std::size_t i = 0; i < held->events.size(); ++i)
      if (held->events[i].fate == Fate::kWaits && !give(*held, i)) return;
  has_waiting_ = false;
}

// False: not now.
bool KafkaSink::give(Held& held, std::size_t i) {
  const std::string_view key = held.batch->key(i), body = held.batch->body(i);
  // The texts are not copied: they stay here until the report.
  if (library_.produce(topic_, RD_KAFKA_PARTITION_UA, 0, const_cast<char*>(body.data()), body.size(),
                       key.data(), key.size(), &held.events[i]) == 0) {
    held.events[i].fate = Fate::kGiven;
    return true;
  }
  const rd_kafka_resp_err_t error = library_.last_error();
  if (error == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) {
    ++status_.failed;
    finish(held.events[i]);
    return true;
  }
  if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
    note_problem(library_.err2str(error));
    give_at_us_ = clock_.now_us() + kRetryUs;
  }
  return false;
}

void KafkaSink::finish(Event& event) {
  event.fate = Fate::kDone;
  --event.held->open;
  --status_.in_hand;
  quiet_since_us_ = clock_.now_us();
}

void KafkaSink::settle() {
  while (!batches_.empty() && batches_.front()->open == 0) {
    on_done_(std::move(batches_.front()->batch));
    batches_.pop_front();
  }
}

void KafkaSink::report(const rd_kafka_message_t& message) {
  Event& event = *static_cast<Event*>(message._private);
  if (message.err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    ++status_.sent;
    problem_.clear();
    return finish(event);
  }
  if (message.err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE) {
    ++status_.failed;
    return finish(event);
  }
  event.fate = Fate::kWaits;
  has_waiting_ = true;
  note_problem(library_.err2str(message.err));
  give_at_us_ = clock_.now_us() + kRetryUs / 2 + static_cast<std::int64_t>(random_() % (kRetryUs / 2));
}

void KafkaSink::note_problem(std::string_view what) { problem_ = what; }

// A problem is one while events wait because of it.
void KafkaSink::tell_problem(std::int64_t now_us) {
  status_.problem.clear();
  if (status_.in_hand == 0) return;
  if (!problem_.empty())
    status_.problem = problem_;
  else if (now_us - quiet_since_us_ > kPatienceUs)
    status_.problem = "does not acknowledge events";
}

void KafkaSink::on_report(rd_kafka_t*, const rd_kafka_message_t* message, void* self) {
  static_cast<KafkaSink*>(self)->report(*message);
}

void KafkaSink::on_error(rd_kafka_t*, int error, const char* reason, void* self) {
  KafkaSink& sink = *static_cast<KafkaSink*>(self);
  if (error == RD_KAFKA_RESP_ERR__FATAL) {
    sink.restart_at_us_ =
        sink.clock_.now_us() + kRetryUs / 2 + static_cast<std::int64_t>(sink.random_() % (kRetryUs / 2));
    return sink.note_problem("the producer failed and is started again");
  }
  // A broker's words about a login are not ours to repeat.
  if (error == RD_KAFKA_RESP_ERR__AUTHENTICATION)
    return sink.note_problem("the login was refused; check user, password and mechanism");
  if (!is_of_one_broker(error) || sink.problem_.empty()) sink.note_problem(reason);
}

}  // namespace sluice::usage
