// A process that spends through a limiter of a server, as tests tell it to.
//
//   remote_worker URL [deny] [return] [no-leases] [token=T] [ca=FILE] [timeout=MS]
//
// Reads commands from its input, one a line, and answers each with a line:
//
//   spend KEY THREADS CHECKS   that many checks on each of so many threads, then the counts
//   start KEY THREADS          checks until `stop`, which prints the counts
//   counts                     what they are now
//   stop
//   reset KEY                  prints how many counters there were
//   close
#include <sluice/limiter.h>
#include <sluice/open.h>

#include <atomic>
#include <charconv>
#include <iostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Counts {
  std::atomic<long> allowed = 0, denied = 0, leased = 0, degraded = 0, safe = 0, trouble = 0;

  void add(const sluice::Answer& answer) {
    ++(answer.allowed ? allowed : denied);
    if (answer.leased) ++leased;
    if (answer.degraded) ++degraded;
    if (answer.allowed && answer.leased && answer.degraded) ++safe;
    if (answer.trouble != sluice::Trouble::kNone) ++trouble;
  }
  void print() const {
    std::cout << "{\"allowed\": " << allowed << ", \"denied\": " << denied << ", \"leased\": " << leased
              << ", \"degraded\": " << degraded << ", \"safe\": " << safe << ", \"trouble\": " << trouble
              << "}" << std::endl;
  }
};

class Worker {
 public:
  explicit Worker(sluice::Limiter& limiter) : limiter_(limiter) {}

  // checks < 0: until stop().
  void start(const std::string& key, int threads, long checks) {
    counts_ = std::make_unique<Counts>();
    stops_ = false;
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this, key, checks] {
        for (long left = checks; left != 0 && !stops_; --left)
          counts_->add(limiter_.check({.key = key, .tenant = "shop", .resource = "/r", .cost = 1}));
      });
  }
  void join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    counts_->print();
  }
  void print() const { counts_->print(); }
  void stop() {
    stops_ = true;
    join();
  }

 private:
  sluice::Limiter& limiter_;
  std::unique_ptr<Counts> counts_;
  std::atomic<bool> stops_ = false;
  std::vector<std::thread> threads_;
};

sluice::RemoteOptions options_of(int argc, char** argv) {
  sluice::RemoteOptions options;
  options.url = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&word] { return word.substr(word.find('=') + 1); };
    if (word == "deny") options.when_unreachable = sluice::WhenUnreachable::kDeny;
    if (word == "return") options.return_unused = true;
    if (word == "no-leases") options.leases = false;
    if (word.starts_with("token=")) options.token = value();
    if (word.starts_with("ca=")) options.ca_file = value();
    if (word.starts_with("timeout=")) options.timeout = std::chrono::milliseconds(std::stol(value()));
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto opened = sluice::open_server(options_of(argc, argv));
  if (!opened) {
    std::cout << opened.error << std::endl;
    return 1;
  }
  Worker worker(*opened.limiter);
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string command, key;
    int threads = 1;
    long checks = -1;
    words >> command >> key >> threads >> checks;
    if (command == "spend") {
      worker.start(key, threads, checks);
      worker.join();
    } else if (command == "start") {
      worker.start(key, threads, -1);
      std::cout << "{}" << std::endl;
    } else if (command == "counts") {
      worker.print();
    } else if (command == "stop") {
      worker.stop();
    } else if (command == "reset") {
      const auto reset = opened.limiter->reset({.key = key, .tenant = "shop", .resource = "/r"});
      std::cout << "{\"counters\": " << reset.counters << "}" << std::endl;
    } else if (command == "close") {
      opened.limiter->close();
      std::cout << "{}" << std::endl;
    }
  }
  return 0;
}
