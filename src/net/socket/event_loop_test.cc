#include "net/socket/event_loop.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
#include <memory>

namespace sluice::net {
namespace {

// A descriptor that is ready from the start; its callback is set by the test.
class ReadyWatcher final : public EventLoop::Watcher {
 public:
  explicit ReadyWatcher(EventLoop& loop) : loop_(loop), fd_(eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)) {
    loop_.add(fd_, EPOLLIN, *this);
  }
  ~ReadyWatcher() {
    loop_.remove(fd_, *this);
    close(fd_);
  }
  void on_events(std::uint32_t) override {
    const auto todo = when_called;  // it may destroy us
    todo();
  }

  std::function<void()> when_called;

 private:
  EventLoop& loop_;
  const int fd_;
};

TEST(EventLoop, AWatcherMayDestroyItself) {
  EventLoop loop;
  auto watcher = std::make_unique<ReadyWatcher>(loop);
  int calls = 0;
  watcher->when_called = [&] {
    ++calls;
    watcher.reset();
  };
  loop.wait(0);
  loop.dispatch();
  EXPECT_EQ(loop.wait(0), 0);
  EXPECT_EQ(calls, 1);
}

TEST(EventLoop, AWatcherMayDestroyOthersThatAreReadyToo) {
  EventLoop loop;
  auto one = std::make_unique<ReadyWatcher>(loop), two = std::make_unique<ReadyWatcher>(loop);
  int calls = 0;
  one->when_called = [&] {
    ++calls;
    two.reset();
  };
  two->when_called = [&] {
    ++calls;
    one.reset();
  };
  EXPECT_EQ(loop.wait(0), 2);
  loop.dispatch();
  EXPECT_EQ(calls, 1) << "whoever came first";
}

TEST(EventLoop, ANewcomerInTheOldOnesPlaceIsNotCalledInItsStead) {
  EventLoop loop;
  auto one = std::make_unique<ReadyWatcher>(loop), two = std::make_unique<ReadyWatcher>(loop);
  int newcomers_calls = 0;
  const auto replace = [&](std::unique_ptr<ReadyWatcher>& other) {
    void* const place = other.get();
    std::destroy_at(other.get());
    std::construct_at(static_cast<ReadyWatcher*>(place), loop)->when_called = [&] { ++newcomers_calls; };
  };
  one->when_called = [&] { replace(two); };
  two->when_called = [&] { replace(one); };
  EXPECT_EQ(loop.wait(0), 2);
  loop.dispatch();
  EXPECT_EQ(newcomers_calls, 0);
}

}  // namespace
}  // namespace sluice::net
