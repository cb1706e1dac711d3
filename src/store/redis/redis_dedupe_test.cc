#include "store/redis/testing/redis_store_fixture.h"
#include "store/testing/dedupe_conformance.h"

namespace sluice {
namespace {

class RedisUnderTest final : public DedupeUnderTest, private RedisStoreFixture {
 public:
  RedisUnderTest() {
    SetUp();
    server_.start();
    make_connected_store(options(server_));
  }
  Store& store() override { return *store_; }
  ParamsTable& params() override { return params_; }
  void wait(std::int64_t us) override { run_for(us); }
  bool run_until(const std::function<bool()>& done) override { return RedisStoreFixture::run_until(done); }

 private:
  void TestBody() override {}

  TestRedisServer server_;
};

INSTANTIATE_TEST_SUITE_P(Redis, DedupeConformance,
                         testing::Values(DedupeFactory{"redis",
                                                       [] { return std::make_unique<RedisUnderTest>(); }}));

}  // namespace
}  // namespace sluice
