#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "net/http2/http2_session.h"
#include "net/testing/http2_client.h"

namespace sluice::net {

// A client and the session that serves it, in memory, on a test clock.
class Http2SessionTest : public testing::Test {
 protected:
  void tick_after(std::int64_t us) {
    std::string out;
    clock_.advance(us);
    context_.refresh_time();
    client_.session.tick(out);
    client_.deliver(out);
    client_.run();
  }
  const Http2TestClient::Answer& call(const std::string& path, std::string_view message,
                                      const Http2TestClient::Headers& more = {}) {
    const std::int32_t id = client_.call(path, message, more);
    client_.run();
    return client_.answers[id];
  }
  const Http2TestClient::Answer& send(const Http2TestClient::Headers& headers, std::string body) {
    const std::int32_t id = client_.request(headers, std::move(body));
    client_.run();
    return client_.answers[id];
  }

  ManualClock clock_{784'111'777'000'000};
  TestApplication application_;
  SessionContext context_{application_, clock_, &application_};
  Http2TestClient client_{context_};
};

}  // namespace sluice::net
