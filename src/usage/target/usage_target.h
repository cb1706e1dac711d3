#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "redis/url/store_url.h"

namespace sluice::usage {

inline constexpr std::string_view kDefaultName = "usage.events";  // of the topic and of the stream

// A topic of Kafka. Plain data.
struct KafkaTarget {
  std::string brokers;  // "host:port,host:port"
  std::string topic;
  std::string user, password;  // empty: no login
  std::string mechanism;       // of the login: "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"
  bool tls = false;
  std::string ca_file, certificate_file, key_file;  // of TLS; empty: the system's CAs, no certificate of ours
  std::string compression = "lz4";

  friend bool operator==(const KafkaTarget&, const KafkaTarget&) = default;
};

// A stream of Redis. Plain data.
struct StreamTarget {
  redis::StoreTarget server;
  std::string stream;
  std::int64_t length = 0;  // about so many entries are kept; 0: all

  friend bool operator==(const StreamTarget&, const StreamTarget&) = default;
};

// Where usage events are sent. Plain data.
struct UsageTarget {
  std::variant<KafkaTarget, StreamTarget> server;

  // For logs and messages: never with a password.
  std::string to_string() const;
};

// Reads what `--usage-events` takes:
//
//   kafka://broker1:9092,broker2:9092/usage.events
//   kafkas://user:p%40ss@broker:9093/usage.events?sasl=SCRAM-SHA-512&ca=ca.pem        (over TLS)
//   redis://10.0.0.7/2?stream=usage.events&maxlen=1000000
//   rediss://  redis+sentinel://  redis+cluster://  unix://  …       as parse_store_url() takes them
//
// Topic and stream are `usage.events` if they are not named. Options of kafka: sasl (PLAIN, SCRAM-SHA-256,
// SCRAM-SHA-512), compression (none, gzip, snappy, lz4, zstd) and, of kafkas, ca, cert and key. Options of
// redis beside those of a store: stream, maxlen (0: unbounded). The error is a sentence for the author of the
// URL, and never contains a password.
Result<UsageTarget> parse_usage_target(std::string_view url);

}  // namespace sluice::usage
