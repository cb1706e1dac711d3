#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "store/store.h"

namespace sluice {

// Stores that get no new calls any more. Each keeps its connections until its calls are answered, by their
// deadlines at the latest, and is then destroyed. Belongs to one event loop's thread.
class DrainingStores {
 public:
  void add(std::unique_ptr<Store> store, std::int64_t now_us);
  void tick(std::int64_t now_us);
  std::int64_t next_due_us() const;
  std::size_t size() const { return stores_.size(); }

 private:
  struct Draining {
    std::unique_ptr<Store> store;
    std::int64_t not_before_us;
    std::int64_t not_after_us;
  };
  std::vector<Draining> stores_;
};

// A Store that forwards to another store, which can be replaced while calls are in flight: settings
// change, connections move. Belongs to one event loop's thread.
//
// New calls go to the new store at once; the old one drains.
class ReplaceableStore final : public Store {
 public:
  explicit ReplaceableStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  void replace(std::unique_ptr<Store> store, std::int64_t now_us);
  Store& current() { return *store_; }
  std::size_t draining() const { return draining_.size(); }

  bool start(StoreCall& call) override { return store_->start(call); }
  void prefetch(const KeyHash& key) const override { store_->prefetch(key); }
  bool answers_at_once() const override { return store_->answers_at_once(); }
  void reset(std::span<const CounterName> counters, std::function<void(int)> done) override {
    store_->reset(counters, std::move(done));
  }
  void begin_burst() override { store_->begin_burst(); }
  void end_burst() override { store_->end_burst(); }
  void tick(std::int64_t now_us) override;
  std::int64_t next_due_us() const override;
  bool busy() const override { return store_->busy(); }
  Health health() const override { return store_->health(); }
  void report(StoreReport& report) const override { store_->report(report); }

 private:
  std::unique_ptr<Store> store_;
  DrainingStores draining_;
};

}  // namespace sluice
