#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/testing/port.h"
#include "redis/protocol/resp.h"

namespace sluice {

// A real redis-server on a free port of this machine, for tests. The destructor stops it. Not thread-safe.
class TestRedisServer {
 public:
  explicit TestRedisServer(std::vector<std::string> extra = {})
      : extra_(std::move(extra)), port_(free_test_port()) {
    char name[] = "/tmp/sluice-redis-XXXXXX";
    directory_ = mkdtemp(name);
  }
  ~TestRedisServer() {
    kill();
    std::filesystem::remove_all(directory_);
  }
  TestRedisServer(const TestRedisServer&) = delete;
  TestRedisServer& operator=(const TestRedisServer&) = delete;

  static constexpr const char* kProgram = "/usr/bin/redis-server";

  // Returns when it answers.
  void start() {
    std::vector<std::string> words = {kProgram,
                                      "--port",
                                      std::to_string(port_),
                                      "--bind",
                                      "127.0.0.1",
                                      "--save",
                                      "",
                                      "--appendonly",
                                      "no",
                                      "--dir",
                                      directory_,
                                      "--unixsocket",
                                      socket_path(),
                                      "--daemonize",
                                      "no",
                                      "--loglevel",
                                      "warning",
                                      "--enable-debug-command",
                                      "yes"};
    words.insert(words.end(), extra_.begin(), extra_.end());
    launch(std::move(words));
  }

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }
  void freeze() const { ::kill(pid_, SIGSTOP); }
  void thaw() const { ::kill(pid_, SIGCONT); }

  std::uint16_t port() const { return port_; }
  std::string socket_path() const { return directory_ + "/redis.sock"; }

  // Sends one command over a separate connection. The reply as text, empty if there is none; for an array,
  // its first element.
  std::string ask(std::initializer_list<std::string_view> words) const {
    return ask(std::span(words.begin(), words.size()));
  }
  std::string ask(std::span<const std::string_view> words) const {
    const std::vector<std::string> reply = ask_all(words);
    return reply.empty() ? "" : reply.front();
  }
  // The same for a whole array.
  std::vector<std::string> ask_all(std::span<const std::string_view> words) const {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to = loopback(port_);
    std::vector<std::string> reply;
    if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0) reply = exchange(fd, words);
    close(fd);
    return reply;
  }

  // A number out of INFO, for instance ("commandstats", "cmdstat_evalsha:calls=").
  long info(std::string_view section, std::string_view name) const {
    const std::string text = ask({"INFO", section});
    const std::size_t at = text.find(name);
    return at == std::string::npos ? 0 : std::strtol(text.c_str() + at + name.size(), nullptr, 10);
  }

 protected:
  const std::string& directory() const { return directory_; }

  void launch(std::vector<std::string> words) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      // If the test is killed, the server dies with it, even if the test was killed before the prctl.
      if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(127);
      if (std::freopen("/dev/null", "w", stdout) != nullptr) execv(kProgram, arguments.data());
      _exit(127);
    }
    for (int i = 0; i < 500 && ask({"PING"}).empty(); ++i) usleep(10'000);
  }

 private:
  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    return address;
  }

  static std::vector<std::string> exchange(int fd, std::span<const std::string_view> words) {
    std::string command;
    redis::append_command(command, words);
    if (write(fd, command.data(), command.size()) < 0) return {};
    redis::RespParser parser;
    char buffer[4096];
    while (parser.next() == redis::RespParser::Status::kNeedMore) {
      const ssize_t got = read(fd, buffer, sizeof(buffer));
      if (got <= 0) return {};
      parser.feed({buffer, static_cast<std::size_t>(got)});
      if (parser.next() == redis::RespParser::Status::kReply) break;
    }
    std::vector<std::string> texts;
    for (const redis::RespValue& value : parser.reply()) {
      if (value.type == redis::RespValue::Type::kArray) continue;
      texts.push_back(value.type == redis::RespValue::Type::kInteger ? std::to_string(value.integer)
                                                                     : std::string(value.bytes));
    }
    return texts;
  }

  const std::vector<std::string> extra_;
  const std::uint16_t port_;
  std::string directory_;
  pid_t pid_ = 0;
};

}  // namespace sluice
