// One check without any network, against the least it could cost. Prints one JSON object.
//
//   in_process keys 10000000 5     a check over that many keys, and a bare hash plus one random 32-byte read;
//                                  5 runs of each
//   in_process routes 1000000 5    the same, but the checks ask for ten routes in random order
//   in_process policies 10000 5    a check with one policy in force, and with that many
//
// Each step waits for the one before it, on both sides, as a caller waits for its answer; otherwise the
// processor would overlap several reads and the time of one could not be seen. Times are CPU time of the
// thread.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "engine/hot/hot_keys.h"
#include "store/memory/memory_counters.h"
#include "store/memory/memory_store.h"
#include "thread_costs.h"

namespace sluice {
namespace {

constexpr std::uint64_t kStepsPerRun = 2'000'000;
constexpr std::uint64_t kChecksPerTick = 16'384;  // some milliseconds
constexpr int kWarmUpKeys = 10;                   // each route once

std::int64_t resident_bytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long long total = 0, resident = 0;
  if (file == nullptr || std::fscanf(file, "%lld %lld", &total, &resident) != 2)
    throw std::runtime_error("no /proc/self/statm");
  std::fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Keys "k000000000"…, uniform. The next key depends on what the last step returned.
class Keys {
 public:
  explicit Keys(std::uint32_t keys) : keys_(keys) {}
  std::string_view at(std::uint32_t key) {
    for (int i = 9; i > 0; --i, key /= 10) text_[i] = static_cast<char>('0' + key % 10);
    return {text_, sizeof text_};
  }
  // REQUIRES: last_result < 2^62. It adds nothing, but the processor cannot know.
  std::string_view next(std::uint64_t last_result) {
    state_ += 0x9e3779b97f4a7c15 + (last_result >> 62);
    std::uint64_t z = (state_ ^ (state_ >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return at(static_cast<std::uint32_t>(((z >> 32) * keys_) >> 32));
  }

 private:
  const std::uint64_t keys_;
  std::uint64_t state_ = 1;
  char text_[10] = {'k'};
};

template <class Step>
double ns_per_step(std::uint32_t keys, Step&& step) {
  Keys source(keys);
  std::uint64_t last = 0;
  const std::int64_t before = cpu_ns();
  for (std::uint64_t i = 0; i < kStepsPerRun; ++i) last = step(source.next(last));
  const std::int64_t after = cpu_ns();
  return static_cast<double>(after - before) / kStepsPerRun;
}

// As many slots as keys, on huge pages, all zero.
class Slots {
 public:
  struct Slot {
    std::uint64_t words[4];
  };
  explicit Slots(std::size_t count) : count_(count) {
    constexpr std::size_t kHugePage = 2u << 20;
    const std::size_t bytes = (count * sizeof(Slot) + kHugePage - 1) / kHugePage * kHugePage;
    slots_ = static_cast<Slot*>(std::aligned_alloc(kHugePage, bytes));
    if (slots_ == nullptr) throw std::bad_alloc();
    madvise(slots_, bytes, MADV_HUGEPAGE);
    std::memset(static_cast<void*>(slots_), 0, bytes);
  }
  ~Slots() { std::free(slots_); }
  Slots(const Slots&) = delete;
  Slots& operator=(const Slots&) = delete;

  std::uint64_t read(const KeyHash& hash) const {
    __extension__ using Wide = unsigned __int128;
    const Slot& slot = slots_[static_cast<std::size_t>(static_cast<Wide>(hash.low) * count_ >> 64)];
    return slot.words[0] + slot.words[1] + slot.words[2] + slot.words[3];
  }

 private:
  const std::size_t count_;
  Slot* slots_;
};

// One GCRA limit per tenant and key: never denies here, and no counter falls idle while this runs.
Policy make_policy(std::string id, std::string tenant, std::string resource) {
  Policy policy;
  policy.id = std::move(id);
  policy.tenant = std::move(tenant);
  policy.resource = std::move(resource);
  policy.limits = {{.name = "burst",
                    .per = {"key", "tenant"},
                    .params = make_limit_params(Algorithm::kGcra, {1000, 86'400'000'000}, 1000).value()}};
  return policy;
}

// What the checks ask for: a key's last digit says which, so a key has one counter however many routes there
// are.
using Routes = std::array<std::string_view, 10>;
constexpr Routes one_route() {
  Routes routes;
  routes.fill("/bench");
  return routes;
}
constexpr Routes kOneRoute = one_route();
constexpr Routes kTenRoutes = {
    "/cart",      "/login",           "/search",      "/upload",        "/v1/users",
    "/v1/orders", "/v1/orders/items", "/v1/payments", "/v2/reports/eu", "/v2/reports/monthly"};

// The policies that the checks match, one per route, and others: exact paths, prefixes, segments, some for
// any tenant.
std::vector<Policy> make_policies(const Routes& routes, std::size_t count) {
  std::vector<Policy> policies;
  for (const std::string_view route : std::set(routes.begin(), routes.end()))
    policies.push_back(make_policy("bench" + std::string(route), "bench", std::string(route)));
  for (std::size_t i = 1; i < count; ++i) {
    const std::string n = std::to_string(i);
    const std::string patterns[] = {"/bench/" + n, "/v" + n + "/*", "/users/{id}/" + n, "/"};
    const std::string tenant = i % 5 == 0 ? "" : "tenant-" + std::to_string(i / 4);
    const std::string& resource = i % 5 == 0 ? patterns[i % 3] : patterns[i % 4];
    policies.push_back(make_policy("p" + n, tenant, resource));
  }
  return policies;
}

// A whole engine on the real clock.
struct WholeEngine {
  explicit WholeEngine(const Routes& asked, std::size_t policies = 1) : routes(asked) {
    auto snapshot = Snapshot::compile(make_policies(routes, policies), params);
    if (!snapshot) throw std::runtime_error(snapshot.error().message);
    snapshots.publish(*snapshot);
  }
  std::uint64_t check(std::string_view key) {
    const std::string_view route = routes[static_cast<std::size_t>(key.back() - '0')];
    const auto decision = engine.check({.tenant = "bench", .resource = route, .key = key});
    if (!decision || !decision->allowed || decision->tightest == nullptr)
      throw std::runtime_error("a check was not allowed");
    if (++checks % kChecksPerTick == 0) hot.tick(clock.now_us());
    return static_cast<std::uint64_t>(decision->remaining());
  }
  void fill(std::uint32_t keys) {
    Keys source(keys);
    for (std::uint32_t i = 0; i < keys; ++i) check(source.at(i));
  }

  const Routes routes;
  SystemClock clock;
  ParamsTable params;
  MemoryCounters counters{clock, params};
  MemoryStore store{counters, clock};
  SnapshotPublisher snapshots;
  KeyHasher hasher = KeyHasher::with_random_secret();
  DecisionTotals totals;
  HotKeys hot_keys{kHotKeyRate};
  HotSketch hot{hot_keys, hasher, 1, true};
  std::uint64_t checks = 0;
  Engine engine{{.store = store,
                 .policies = snapshots,
                 .hasher = hasher,
                 .clock = clock,
                 .totals = totals,
                 .hot = &hot}};
};

// What runs of both sides gave.
struct Sides {
  std::vector<double> ours_ns, baseline_ns, ratios;

  void add(double ours, double baseline) {
    ours_ns.push_back(ours);
    baseline_ns.push_back(baseline);
    ratios.push_back(ours / baseline);
  }
  void print(const char* more) const {
    std::printf("{\"ours_ns\": %.2f, \"baseline_ns\": %.2f, \"ratio\": %.4f, \"ratios\": [", median(ours_ns),
                median(baseline_ns), median(ratios));
    for (std::size_t i = 0; i < ratios.size(); ++i) std::printf("%s%.4f", i == 0 ? "" : ", ", ratios[i]);
    std::printf("]%s}\n", more);
  }
};

void measure_keys(const Routes& routes, std::uint32_t keys, int runs) {
  WholeEngine engine(routes);
  engine.fill(kWarmUpKeys);
  const std::int64_t before = resident_bytes();
  engine.fill(keys);
  const double bytes_per_key = static_cast<double>(resident_bytes() - before) / (keys - kWarmUpKeys);
  const std::uint64_t kept = engine.counters.stats().keys;

  const Slots slots(keys);
  Sides sides;
  std::uint64_t allocated = 0;
  for (int run = 0; run < runs; ++run) {
    const double baseline =
        ns_per_step(keys, [&](std::string_view key) { return slots.read(engine.hasher(key)); });
    const std::uint64_t allocated_before = allocations;
    const double ours = ns_per_step(keys, [&](std::string_view key) { return engine.check(key); });
    allocated += allocations - allocated_before;
    sides.add(ours, baseline);
  }
  char more[256];
  std::snprintf(more, sizeof more,
                ", \"bytes_per_key\": %.2f, \"keys\": %llu, \"allocations_per_check\": %.9f", bytes_per_key,
                static_cast<unsigned long long>(kept),
                static_cast<double>(allocated) / (static_cast<double>(runs) * kStepsPerRun));
  sides.print(more);
}

void measure_policies(std::size_t policies, int runs) {
  constexpr std::uint32_t kKeys = 100'000;
  WholeEngine many(kOneRoute, policies), one(kOneRoute);
  many.fill(kKeys);
  one.fill(kKeys);
  Sides sides;
  for (int run = 0; run < runs; ++run) {
    const double baseline = ns_per_step(kKeys, [&](std::string_view key) { return one.check(key); });
    sides.add(ns_per_step(kKeys, [&](std::string_view key) { return many.check(key); }), baseline);
  }
  sides.print("");
}

int run(int argc, char** argv) {
  const std::string what = argc == 4 ? argv[1] : "";
  const int count = argc == 4 ? std::atoi(argv[2]) : 0, runs = argc == 4 ? std::atoi(argv[3]) : 0;
  const Routes* routes = what == "keys" ? &kOneRoute : what == "routes" ? &kTenRoutes : nullptr;
  if ((routes == nullptr && what != "policies") || count <= kWarmUpKeys || runs < 1) {
    std::fputs("usage: in_process keys|routes|policies COUNT RUNS\n", stderr);
    return 2;
  }
  if (routes != nullptr)
    measure_keys(*routes, static_cast<std::uint32_t>(count), runs);
  else
    measure_policies(static_cast<std::size_t>(count), runs);
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  try {
    return sluice::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "in_process: %s\n", error.what());
    return 1;
  }
}
