#include "policy/file_watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <utility>

#include "policy/watch_list.h"

namespace sluice {
namespace {

constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE |
                                  IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

// A file that never comes to rest is read nevertheless, after this many postponements.
constexpr int kPostponedMax = 20;

int checked(int fd) {
  if (fd < 0) throw std::runtime_error("no file descriptors left to watch the policy files");
  return fd;
}

bool readable(const pollfd& polled) { return (polled.revents & (POLLIN | POLLERR | POLLHUP)) != 0; }

}  // namespace

FileWatcher::FileWatcher(std::vector<std::string> paths, Options options, std::function<void()> changed)
    : paths_(std::move(paths)),
      options_(options),
      changed_(std::move(changed)),
      inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      timer_(checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC))),
      stop_(checked(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))) {
  watch();
  seen_ = fingerprint(paths_);
  thread_ = std::thread([this] { run(); });
}

FileWatcher::~FileWatcher() {
  eventfd_write(stop_, 1);
  thread_.join();
  close(stop_);
  close(timer_);
  if (inotify_ >= 0) close(inotify_);
}

void FileWatcher::run() {
  enum { kStop, kTimer, kInotify };
  int postponed = 0;
  const auto settle = [&] {
    if (postponed++ < kPostponedMax) arm_timer();
  };
  for (;;) {
    std::array<pollfd, 3> polled = {{{stop_, POLLIN, 0}, {timer_, POLLIN, 0}, {inotify_, POLLIN, 0}}};
    const int ready = poll(polled.data(), polled.size(), static_cast<int>(options_.look_every.count()));
    if (readable(polled[kStop])) return;
    const bool noticed = readable(polled[kInotify]) && drain_events();
    if (noticed || (ready == 0 && fingerprint(paths_) != seen_)) settle();
    std::uint64_t expirations;
    if (!readable(polled[kTimer]) || read(timer_, &expirations, sizeof expirations) < 0) continue;
    postponed = 0;
    // Before the call, so that a change during it is one we have not seen.
    watch();
    seen_ = fingerprint(paths_);
    changed_();
  }
}

void FileWatcher::arm_timer() {
  const auto ns = std::chrono::nanoseconds(options_.debounce).count();
  itimerspec in{};
  in.it_value = {static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  timerfd_settime(timer_, 0, &in, nullptr);
}

void FileWatcher::watch() {
  if (inotify_ < 0) return;
  std::map<int, std::set<std::string>> now;
  for (const auto& [directory, name] : watch_points(paths_))
    if (const int number = inotify_add_watch(inotify_, directory.c_str(), kEvents); number >= 0)
      now[number].insert(name);
  for (const auto& [number, names] : watched_)
    if (!now.contains(number)) inotify_rm_watch(inotify_, number);
  watched_ = std::move(now);
}

bool FileWatcher::drain_events() {
  bool ours = false;
  alignas(inotify_event) std::array<char, 16 << 10> buffer;
  for (;;) {
    const ssize_t got = read(inotify_, buffer.data(), buffer.size());
    if (got <= 0) return ours;
    for (const char* at = buffer.data(); at < buffer.data() + got;) {
      const auto& event = *reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event.len;
      if ((event.mask & IN_Q_OVERFLOW) != 0) ours = true;
      const auto directory = watched_.find(event.wd);
      if (directory == watched_.end()) continue;
      const auto& names = directory->second;
      // An event without a name concerns the directory itself.
      if (event.len == 0 || names.contains("") || names.contains(event.name)) ours = true;
    }
  }
}

}  // namespace sluice
