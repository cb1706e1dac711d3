#include "policy/files/watch_list.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>

#include "policy/files/policy_files.h"

namespace sluice {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

std::set<WatchPoint> watch_points(const std::vector<std::string>& paths) {
  std::set<WatchPoint> points;
  std::error_code error;
  for (const std::string& path : paths) add_points(fs::absolute(path, error), kLinksMax, points);
  return points;
}

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

}  // namespace sluice
