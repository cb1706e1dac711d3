#include "admin/control_plane_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <vector>

#include "admin/admin_door.h"
#include "admin/testing/admin_node.h"
#include "net/testing/reply.h"

namespace sluice::admin {
namespace {

using ::testing::HasSubstr;

class ControlPlaneClientTest : public AdminPlaneTest {
 protected:
  // The answer, delivered by a later tick.
  net::HttpResponse put_policy() {
    const std::vector<net::Header> none;
    const net::HttpRequest request{.method = "PUT",
                                   .path = "/v1/policies/a",
                                   .headers = none,
                                   .body = R"({"id":"a","limits":[{"rate":"5/s"}]})",
                                   .peer = &peer};
    net::TestReply<net::HttpResponse> reply;
    door.handle(request, reply);
    run_until([&] { return reply.is_answered(); }, [&] { door.tick(); });
    return reply.answer();
  }

  AdminDoor door{parts, 1};
  ControlPlaneClient client{parts};
};

TEST_F(ControlPlaneClientTest, WhatMemoryIsTooShortForIsAnsweredAndTheNextCallIsServed) {
  node.ledger.meanwhile = [] { throw std::bad_alloc(); };
  const auto refused = put_policy();
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("out of memory"));
  EXPECT_EQ(put_policy().status, 201);
  EXPECT_EQ(plane.status().shortages, 1u);
}

TEST_F(ControlPlaneClientTest, AnAnswerThatCannotBeToldDoesNotKeepTheOthersBack) {
  std::vector<int> told;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(client.ask([i](AdminContext&) { return i; },
                           [&, i](std::optional<int>&& answer) {
                             if (i == 1) throw std::bad_alloc();
                             told.push_back(*answer);
                           }));
  int failures = 0;
  run_until([&] { return told.size() == 2; },
            [&] {
              try {
                client.tick();
              } catch (const std::bad_alloc&) {
                ++failures;
              }
            });
  EXPECT_EQ(told, (std::vector{0, 2}));
  EXPECT_EQ(failures, 1);
}

}  // namespace
}  // namespace sluice::admin
