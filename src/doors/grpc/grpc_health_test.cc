#include "doors/grpc/grpc_health.h"

#include "doors/testing/doors_fixture.h"

namespace sluice::doors::testing {
namespace {

// HealthCheckResponse by status.
const std::string kServing = "\x08\x01";
const std::string kNotServing = "\x08\x02";
const std::string kServiceUnknown = "\x08\x03";

std::string request_for(std::string_view service) {
  std::string out;
  net::WireWriter(out).string(1, service);
  return out;
}

class GrpcHealthTest : public DoorsFixture {
 protected:
  GrpcAnswer health(std::string_view service) {
    return send_to(app, {.path = "/grpc.health.v1.Health/Check", .peer = &peer}, request_for(service));
  }
  std::unique_ptr<net::GrpcStreamHandler> watch(RecordedStream& stream) {
    return app.open_stream({.path = "/grpc.health.v1.Health/Watch", .peer = &peer}, stream);
  }
};

TEST_F(GrpcHealthTest, CheckFollowsReadiness) {
  EXPECT_EQ(health("").message, kServing);
  EXPECT_EQ(health("sluice.v1.RateLimiter").message, kServing);
  readiness.ready = false;
  EXPECT_EQ(health("").message, kNotServing);
  EXPECT_EQ(health("nobody").status.code, net::GrpcCode::kNotFound);
}

TEST_F(GrpcHealthTest, AStoreThatIsSlowHasAStatusOfItsOwn) {
  EXPECT_EQ(health("sluice.store").message, kServing);
  RecordedStream store_stream, service_stream;
  const auto store_watcher = watch(store_stream), service_watcher = watch(service_stream);
  store_watcher->on_message(request_for("sluice.store"));
  service_watcher->on_message(request_for("sluice.v1.RateLimiter"));
  readiness.degraded = true;
  app.publish_health();
  EXPECT_EQ(health("sluice.store").message, kNotServing);
  EXPECT_EQ(health("").message, kServing) << "no load balancer makes a shared store faster";
  readiness.degraded = false;
  app.publish_health();
  readiness.ready = false;
  app.publish_health();
  EXPECT_EQ(store_stream.sent, (std::vector{kServing, kNotServing, kServing, kNotServing}));
  EXPECT_EQ(service_stream.sent, (std::vector{kServing, kNotServing}));
}

TEST_F(GrpcHealthTest, WatchTellsEveryChangeOnce) {
  RecordedStream stream;
  const auto watcher = watch(stream);
  watcher->on_message(request_for(""));
  watcher->on_half_close();
  app.publish_health();
  readiness = {.ready = false, .draining = true};
  app.publish_health();
  app.publish_health();
  readiness.ready = true;
  app.publish_health();
  EXPECT_EQ(stream.sent, (std::vector{kServing, kNotServing, kServing}));
  EXPECT_FALSE(stream.finished);
}

TEST_F(GrpcHealthTest, WatchOfAnUnknownServiceStaysOpen) {
  RecordedStream stream;
  const auto watcher = watch(stream);
  watcher->on_message(request_for("nobody"));
  readiness.ready = false;
  app.publish_health();
  EXPECT_EQ(stream.sent, std::vector{kServiceUnknown});
  EXPECT_FALSE(stream.finished);
}

TEST_F(GrpcHealthTest, WatchWithoutARequestEnds) {
  RecordedStream silent;
  watch(silent)->on_half_close();
  EXPECT_EQ(silent.code, net::GrpcCode::kInternal);
  RecordedStream garbled;
  watch(garbled)->on_message("\xff");
  EXPECT_EQ(garbled.code, net::GrpcCode::kInternal);
}

TEST_F(GrpcHealthTest, AWatcherThatLeftHearsNothing) {
  RecordedStream gone;
  RecordedStream stays;
  auto leaver = watch(gone);
  const auto stayer = watch(stays);
  leaver->on_message(request_for(""));
  stayer->on_message(request_for(""));
  leaver.reset();
  readiness.ready = false;
  app.publish_health();
  EXPECT_EQ(gone.sent.size(), 1u);
  EXPECT_EQ(stays.sent.size(), 2u);
}

}  // namespace
}  // namespace sluice::doors::testing
