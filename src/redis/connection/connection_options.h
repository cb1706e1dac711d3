#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "redis/connection/address_source.h"
#include "redis/url/redis_url.h"

namespace sluice::redis {

struct ConnectionOptions {
  Address address;
  // Instead of `address`: asked again before every connection, see redis/sentinel/sentinel.h. For this
  // connection alone.
  std::shared_ptr<AddressSource> source;
  std::string client_name = "sluice";         // what CLIENT LIST shows
  bool reads_replica = false;                 // a Cluster's replica, which needs READONLY first
  std::string script;                         // loaded on every new connection; empty: none
  std::int64_t connect_timeout_us = 500'000;  // until the connection is ready
  std::int64_t backoff_first_us = 20'000;     // doubles with each failure, up to:
  std::int64_t backoff_max_us = 500'000;
  std::int64_t backoff_refused_us = 2'000'000;  // the server is up but refuses us (password, rights)
  std::int64_t idle_check_us = 30'000'000;      // a server that is quiet for this long gets a PING …
  std::int64_t idle_reply_us = 1'000'000;       // … and must answer it within this time
  // A connection is replaced after nine tenths of this to all of it: DNS names and load balancers change, and
  // leaks per connection in a server or a proxy must not last for ever.
  std::int64_t max_age_us = 3'600'000'000;
};

}  // namespace sluice::redis
