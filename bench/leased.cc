// A leased check through the library's public API, against an uncontended atomic subtraction. Prints one JSON
// object.
//
//   leased http://127.0.0.1:8080 5     5 runs of each; the server must grant whatever is asked for
//
// Times are CPU time of the checking threads, of one and of eight on one key.
#include <sluice/limiter.h>
#include <sluice/open.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "thread_costs.h"

namespace {

constexpr int kChecks = 2'000'000, kThreads = 8, kBatch = 1'000;

struct Tally {
  std::int64_t ns = 0;
  std::uint64_t leased = 0, others = 0;
  std::uint64_t batches = 0, allocating = 0;  // of kBatch checks; a check that waits for units allocates

  void add(const Tally& more) {
    ns += more.ns;
    leased += more.leased;
    others += more.others;
    batches += more.batches;
    allocating += more.allocating;
  }
  double ns_per_check() const { return static_cast<double>(ns) / static_cast<double>(leased + others); }
};

Tally check(sluice::Limiter& limiter, int checks) {
  Tally tally;
  const std::int64_t before = cpu_ns();
  std::uint64_t allocated = allocations;  // the library's own thread may allocate
  for (int i = 0; i < checks; ++i) {
    const sluice::Answer answer =
        limiter.check({.key = "whale", .tenant = "bench", .resource = "/leased", .cost = 1});
    ++(answer.leased && answer.allowed ? tally.leased : tally.others);
    if (i % kBatch != kBatch - 1) continue;
    ++tally.batches;
    if (std::exchange(allocated, allocations) != allocations) ++tally.allocating;
  }
  tally.ns = cpu_ns() - before;
  return tally;
}

Tally check_on_many_threads(sluice::Limiter& limiter) {
  std::vector<Tally> tallies(kThreads);
  std::vector<std::thread> threads;
  for (Tally& tally : tallies) threads.emplace_back([&] { tally = check(limiter, kChecks / kThreads); });
  for (std::thread& thread : threads) thread.join();
  Tally sum;
  for (const Tally& tally : tallies) sum.add(tally);
  return sum;
}

double subtraction_ns() {
  std::atomic<std::int64_t> units = kChecks;
  const std::int64_t before = cpu_ns();
  for (int i = 0; i < kChecks; ++i) units.fetch_sub(1, std::memory_order_acq_rel);
  return static_cast<double>(cpu_ns() - before) / kChecks;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc == 3 ? std::atoi(argv[2]) : 0;
  if (runs < 1) {
    std::fputs("usage: leased URL RUNS\n", stderr);
    return 2;
  }
  const auto opened = sluice::open_server({.url = argv[1]});
  if (!opened) {
    std::fprintf(stderr, "leased: %s\n", opened.error.c_str());
    return 1;
  }
  check(*opened.limiter, kChecks);  // until leases are as large as they get
  std::vector<double> subtraction, one, many;
  Tally all;
  for (int run = 0; run < runs; ++run) {
    subtraction.push_back(subtraction_ns());
    const Tally single = check(*opened.limiter, kChecks), threads = check_on_many_threads(*opened.limiter);
    one.push_back(single.ns_per_check());
    many.push_back(threads.ns_per_check());
    all.add(single);
    all.add(threads);
  }
  const double checks = static_cast<double>(all.leased + all.others);
  std::printf(
      "{\"subtraction_ns\": %.2f, \"one_ns\": %.2f, \"many_ns\": %.2f, \"allocating_batches\": %.6f, "
      "\"not_leased\": %.6f}\n",
      median(subtraction), median(one), median(many),
      static_cast<double>(all.allocating) / static_cast<double>(all.batches),
      static_cast<double>(all.others) / checks);
  return 0;
}
