// The order in which signals are handled; nothing waits for the work of SIGHUP.
#include "server/process/signals.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <semaphore>

#include "server/process/reloader.h"

namespace sluice::server {
namespace {

TEST(SignalsTest, TheEndComesFirstThenTheSwitchThenTheRest) {
  Signals signals;
  for (const int signal : {SIGHUP, SIGUSR1, SIGUSR2, SIGTERM}) raise(signal);
  EXPECT_EQ(signals.wait(), SIGTERM);
  raise(SIGINT);
  EXPECT_EQ(signals.wait_ms(60'000), SIGINT);
  EXPECT_EQ(signals.wait_ms(60'000), SIGUSR1);
  raise(SIGHUP);  // a storm: there is always one more
  EXPECT_EQ(signals.wait(), SIGUSR2);
  EXPECT_EQ(signals.wait(), SIGHUP);
  EXPECT_EQ(signals.wait_ms(0), std::nullopt);
}

TEST(ReloaderTest, WhoAsksDoesNotWaitAndManyWishesAreOne) {
  std::binary_semaphore begun(0), may_end(0);
  std::atomic<int> done = 0;
  {
    Reloader reloader([&] {
      begun.release();
      may_end.acquire();
      ++done;
    });
    reloader.request();
    begun.acquire();
    for (int i = 0; i < 1000; ++i) reloader.request();
    EXPECT_EQ(done, 0);
    may_end.release();
    begun.acquire();
    may_end.release();
  }
  EXPECT_EQ(done, 2);
}

}  // namespace
}  // namespace sluice::server
