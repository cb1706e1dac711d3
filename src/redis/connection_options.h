#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "redis/address_source.h"
#include "redis/redis_url.h"

namespace sluice::redis {

struct ConnectionOptions {
  Address address;
  // Instead of `address`: asked again for every new connection, see redis/sentinel.h. Of this connection
  // alone.
  std::shared_ptr<AddressSource> source;
  std::string client_name = "sluice";         // what CLIENT LIST shows
  bool reads_replica = false;                 // of a Cluster: it answers only who says READONLY
  std::string script;                         // loaded whenever a connection is made
  std::int64_t connect_timeout_us = 500'000;  // for all until it is ready
  std::int64_t backoff_first_us = 20'000;     // doubles with each failure, up to:
  std::int64_t backoff_max_us = 500'000;
  std::int64_t backoff_refused_us = 2'000'000;  // the server is there but does not want us (password, rights)
  std::int64_t idle_check_us = 30'000'000;      // a server that has been quiet for so long gets a PING …
  std::int64_t idle_reply_us = 1'000'000;       // … and has so long to answer it
  // After nine tenths of this to all of it a connection is replaced: names and load balancers move, and what
  // leaks in a server's or a proxy's connection must not leak for ever.
  std::int64_t max_age_us = 3'600'000'000;
};

}  // namespace sluice::redis
