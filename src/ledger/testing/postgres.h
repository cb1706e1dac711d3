#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/testing/port.h"
#include "ledger/testing/temp_folder.h"

namespace sluice::ledger {

// A real PostgreSQL server on a free port of this machine, for tests; destroyed with the object. Not
// thread-safe. PostgreSQL refuses to run as root, so for root it runs as the user from Debian's package.
class TestPostgres {
 public:
  static constexpr const char* kPassword = "s3cret:/@";

  TestPostgres() : port_(free_test_port()) {
    if (const passwd* user = getuid() == 0 ? getpwnam("postgres") : nullptr) {
      uid_ = user->pw_uid;
      gid_ = user->pw_gid;
      EXPECT_EQ(chown(folder_.path().c_str(), uid_, gid_), 0);
    }
    std::ofstream(folder_.file("password")) << kPassword << "\n";
    EXPECT_EQ(wait_for(launch("initdb",
                              {"-D", data(), "-U", "sluice", "--pwfile", folder_.file("password"), "--auth",
                               "scram-sha-256", "-E", "UTF8", "--no-sync", "--no-instructions"})),
              0);
  }
  ~TestPostgres() { stop(); }
  TestPostgres(const TestPostgres&) = delete;
  TestPostgres& operator=(const TestPostgres&) = delete;

  // Returns when the server answers. Always call it from the same thread: the server ends with the thread
  // that started it.
  void start() {
    pid_ = launch("postgres", {"-D", data(), "-p", std::to_string(port_), "-c", "listen_addresses=127.0.0.1",
                               "-c", "unix_socket_directories=" + folder_.path(), "-c", "fsync=off", "-c",
                               "max_connections=20", "-c", "shared_buffers=16MB"});
    for (int i = 0; i < 3000 && !answers(); ++i) usleep(10'000);
    EXPECT_TRUE(answers());
  }
  // Stops at once, without notice to clients, like a crash.
  void stop() {
    if (pid_ <= 0) return;
    thaw();
    kill(pid_, SIGQUIT);
    wait_for(pid_);
    pid_ = 0;
  }
  // Stops all its processes with SIGSTOP: connections stay open, but no one answers.
  void freeze() const { signal_all(SIGSTOP); }
  void thaw() const { signal_all(SIGCONT); }

  std::string url(const std::string& database) const { return url(database, port_); }
  // The same by way of another port, which leads to the server.
  static std::string url(const std::string& database, std::uint16_t port) {
    return "postgres://sluice:s3cret%3A%2F%40@127.0.0.1:" + std::to_string(port) + "/" + database;
  }
  std::uint16_t port() const { return port_; }

  // Runs SQL on a separate connection.
  void run_sql(const std::string& database, const std::string& sql) const {
    PGconn* connection = PQconnectdb(url(database).c_str());
    PGresult* result = PQexec(connection, sql.c_str());
    const ExecStatusType status = PQresultStatus(result);
    EXPECT_TRUE(status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) << PQerrorMessage(connection);
    PQclear(result);
    PQfinish(connection);
  }

 private:
  std::string data() const { return folder_.file("data"); }
  bool answers() const { return PQping(url("postgres").c_str()) == PQPING_OK; }

  static std::string program(const std::string& name) {
    for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql"))
      if (const auto path = version.path() / "bin" / name; std::filesystem::exists(path))
        return path.string();
    return name;
  }

  pid_t launch(const std::string& name, std::vector<std::string> words) const {
    words.insert(words.begin(), program(name));
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t parent = getpid(), child = fork();
    if (child != 0) return child;
    if (uid_ != 0 && (setgroups(0, nullptr) != 0 || setgid(gid_) != 0 || setuid(uid_) != 0)) _exit(126);
    prctl(PR_SET_PDEATHSIG, SIGQUIT);
    const int nowhere = open("/dev/null", O_RDWR);
    for (const int fd : {0, 1, 2}) dup2(nowhere, fd);
    if (getppid() == parent && chdir("/") == 0) execv(arguments[0], arguments.data());
    _exit(127);
  }
  static int wait_for(pid_t pid) {
    int status = -1;
    waitpid(pid, &status, 0);
    return status;
  }

  void signal_all(int number) const {
    // The parent first, so that it forks no more children.
    kill(pid_, number);
    const std::string own = std::to_string(pid_);
    std::ifstream children("/proc/" + own + "/task/" + own + "/children");
    for (pid_t child = 0; children >> child;) kill(child, number);
  }

  TempFolder folder_;
  const std::uint16_t port_;
  uid_t uid_ = 0;  // 0: our own
  gid_t gid_ = 0;
  pid_t pid_ = 0;
};

}  // namespace sluice::ledger
