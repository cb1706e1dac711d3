#include "net/socket/event_loop.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <system_error>

namespace sluice::net {
namespace {

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

}  // namespace

EventLoop::EventLoop()
    : epoll_fd_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll_create1")),
      wake_fd_(checked(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd")) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = nullptr;  // the only entry without a watcher
  checked(epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, wake_fd_, &event), "epoll_ctl");
}

EventLoop::~EventLoop() {
  close(wake_fd_);
  close(epoll_fd_);
}

void EventLoop::add(int fd, std::uint32_t events, Watcher& watcher) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &watcher;
  checked(epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
}

void EventLoop::modify(int fd, std::uint32_t events, Watcher& watcher) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &watcher;
  checked(epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, fd, &event), "epoll_ctl");
}

void EventLoop::remove(int fd, const Watcher& watcher) {
  epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
  for (int i = 0; i < ready_; ++i) {
    epoll_event& event = events_[static_cast<std::size_t>(i)];
    if (event.data.ptr == &watcher) event.events = 0;
  }
}

int EventLoop::wait(int timeout_ms) {
  if (sleep_clock_) slept_us_ -= sleep_clock_->now_us();
  ready_ = epoll_wait(epoll_fd_, events_.data(), static_cast<int>(events_.size()), timeout_ms);
  if (ready_ < 0) {
    assert(errno == EINTR);
    ready_ = 0;
  }
  if (sleep_clock_) slept_us_ += sleep_clock_->now_us();
  return ready_;
}

void EventLoop::dispatch() {
  for (int i = 0; i < ready_; ++i) {
    const epoll_event& event = events_[static_cast<std::size_t>(i)];
    if (event.events == 0) continue;  // removed meanwhile
    if (event.data.ptr) {
      static_cast<Watcher*>(event.data.ptr)->on_events(event.events);
    } else {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto bytes = read(wake_fd_, &count, sizeof(count));
    }
  }
  ready_ = 0;
}

void EventLoop::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto bytes = write(wake_fd_, &one, sizeof(one));
}

}  // namespace sluice::net
