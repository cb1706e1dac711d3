#include "policy/files/file_watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "policy/files/policy_files.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

// A place where a change may change what a path means: `name` in `directory`, or, if the name is empty,
// anything in the directory.
struct WatchPoint {
  std::string directory;
  std::string name;
  friend auto operator<=>(const WatchPoint&, const WatchPoint&) = default;
};

constexpr int kLinksMax = 40;  // as in the kernel: more is a loop

void add_points(const fs::path& path, int links_left, std::set<WatchPoint>& points) {
  std::error_code error;
  fs::path real = path.root_path();
  for (auto at = path.begin(); at != path.end(); ++at) {
    if (*at == path.root_path()) continue;
    const fs::path next = real / *at;
    if (!fs::is_symlink(fs::symlink_status(next, error))) {
      real = next;
      continue;
    }
    points.insert({real.string(), at->string()});
    fs::path target = real / fs::read_symlink(next, error);  // an absolute target replaces `real`
    if (error || links_left == 0) return;
    for (++at; at != path.end(); ++at) target /= *at;
    return add_points(target, links_left - 1, points);
  }
  points.insert({real.parent_path().string(), real.filename().string()});
  if (!fs::is_directory(real, error)) return;
  points.insert({real.string(), ""});
  Problems reported_when_read;
  for (const std::string& file : list_policy_files(real.string(), reported_when_read))
    if (fs::is_symlink(fs::symlink_status(file, error))) add_points(file, links_left, points);
}

// The places to watch to see every change of these files and directories: the file in its directory (it may
// be replaced or re-created), everything in a policy directory, and, for every symbolic link along the path,
// the link and its target. So a swapped link is detected wherever it is in the path.
std::set<WatchPoint> watch_points(const std::vector<std::string>& paths) {
  std::set<WatchPoint> points;
  std::error_code error;
  for (const std::string& path : paths) add_points(fs::absolute(path, error), kLinksMax, points);
  return points;
}

// A text that changes when any of the files does. Polled for file systems without change notification.
std::string fingerprint(const std::vector<std::string>& paths) {
  std::string print;
  Problems reported_when_read;
  for (const std::string& path : paths) {
    for (const std::string& file : list_policy_files(path, reported_when_read)) {
      struct stat info;
      print += file;
      if (stat(file.c_str(), &info) == 0)
        for (const auto number :
             {static_cast<long long>(info.st_dev), static_cast<long long>(info.st_ino),
              static_cast<long long>(info.st_size), static_cast<long long>(info.st_mtim.tv_sec),
              static_cast<long long>(info.st_mtim.tv_nsec), static_cast<long long>(info.st_ctim.tv_sec),
              static_cast<long long>(info.st_ctim.tv_nsec)})
          print += ' ' + std::to_string(number);
      print += '\n';
    }
  }
  return print;
}

constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MODIFY | IN_ATTRIB | IN_CREATE | IN_DELETE |
                                  IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

int checked(int fd) {
  if (fd < 0) throw std::runtime_error("no file descriptors left to watch the policy files");
  return fd;
}

int make_timer() { return checked(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)); }

timespec as_timespec(std::chrono::milliseconds time) {
  const auto ms = time.count();
  return {.tv_sec = static_cast<time_t>(ms / 1'000), .tv_nsec = static_cast<long>(ms % 1'000 * 1'000'000)};
}

void start_timer(int timer, std::chrono::milliseconds after, std::chrono::milliseconds every = {}) {
  const itimerspec times{.it_interval = as_timespec(every), .it_value = as_timespec(after)};
  timerfd_settime(timer, 0, &times, nullptr);
}

void stop_timer(int timer) { start_timer(timer, {}); }

bool readable(const pollfd& polled) { return (polled.revents & (POLLIN | POLLERR | POLLHUP)) != 0; }

// Whether the timer has expired; true once per expiry.
bool ran_out(const pollfd& timer) {
  std::uint64_t expirations;
  return readable(timer) && read(timer.fd, &expirations, sizeof expirations) > 0;
}

}  // namespace

FileWatcher::FileWatcher(std::vector<std::string> paths, Options options, std::function<void(Rest)> changed)
    : paths_(std::move(paths)),
      options_(options),
      changed_(std::move(changed)),
      inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      quiet_(make_timer()),
      patience_(make_timer()),
      poll_(make_timer()),
      stop_(checked(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC))) {
  watch();
  seen_ = fingerprint(paths_);
  start_timer(poll_, options_.poll_every, options_.poll_every);
  thread_ = std::thread([this] { run(); });
}

FileWatcher::~FileWatcher() {
  eventfd_write(stop_, 1);
  thread_.join();
  for (const int fd : {stop_, quiet_, patience_, poll_}) close(fd);
  if (inotify_ >= 0) close(inotify_);
}

void FileWatcher::run() {
  enum { kStop, kQuiet, kPatience, kLook, kInotify };
  bool waiting = false;  // for the files to become quiet
  for (;;) try {
      std::array<pollfd, 5> polled = {{{stop_, POLLIN, 0},
                                       {quiet_, POLLIN, 0},
                                       {patience_, POLLIN, 0},
                                       {poll_, POLLIN, 0},
                                       {inotify_, POLLIN, 0}}};
      poll(polled.data(), polled.size(), -1);
      if (readable(polled[kStop])) return;
      const bool noticed = readable(polled[kInotify]) && drain_events();
      if (noticed || (ran_out(polled[kLook]) && fingerprint(paths_) != seen_)) {
        start_timer(quiet_, options_.debounce);
        if (!std::exchange(waiting, true)) start_timer(patience_, options_.patience);
      }
      const bool is_quiet = !noticed && ran_out(polled[kQuiet]);
      if (!is_quiet && !ran_out(polled[kPatience])) continue;
      if (is_quiet) {
        waiting = false;
        stop_timer(patience_);
      } else {  // keep waiting for quiet: this may have been the last change
        start_timer(patience_, options_.patience);
      }
      // Before the callback, so that a change during it counts as new.
      watch();
      seen_ = fingerprint(paths_);
      changed_(is_quiet ? Rest::kQuiet : Rest::kChanging);
    } catch (const std::bad_alloc&) {
      start_timer(quiet_, options_.debounce);  // out of memory: try again
    }
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
