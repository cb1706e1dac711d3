#include "doors/batch_answers.h"

#include <cassert>
#include <memory>
#include <utility>
#include <vector>

#include "doors/check_field.h"

namespace sluice::doors {
namespace {

// The answers of a batch while some of them are still on their way. Until the first of those, they are
// written one after the other; from there on each has its own place.
class Gathering {
 public:
  Gathering(std::size_t size, WriteOne write) : size_(size), write_(write) {}

  void put(std::size_t i, const Result<Decision>& decision) {
    if (!decision) {
      if (!error_) error_ = in_batch(i, decision.error());
    } else if (places_.empty()) {
      write_(*decision, i == 0, joined_);
    } else {
      write_(*decision, i == 0, places_[i]);
    }
  }

  void expect_one_later() {
    places_.resize(size_);
    ++missing_;
  }
  void put_late(std::size_t i, const Result<Decision>& decision) {
    put(i, decision);
    if (--missing_ > 0) return;
    assert(finish);
    finish(join());
  }
  bool complete() const { return missing_ == 0; }

  Result<std::string> join() {
    if (error_) return std::unexpected(std::move(*error_));
    for (const std::string& place : places_) joined_.append(place);
    return std::move(joined_);
  }

  LaterBatch finish;

 private:
  const std::size_t size_;
  const WriteOne write_;
  std::string joined_;
  std::vector<std::string> places_;  // empty: no answer comes later
  std::size_t missing_ = 0;
  std::optional<Error> error_;
};

}  // namespace

std::optional<Result<std::string>> check_all(Limiter& limiter, std::span<const CheckRequest> checks,
                                             WriteOne write, const std::function<LaterBatch()>& postpone) {
  const Limiter::Hold hold(limiter);
  for (std::size_t i = 0; i < checks.size(); ++i)
    if (auto valid = limiter.validate(checks[i]); !valid)
      return Result<std::string>(std::unexpected(in_batch(i, std::move(valid.error()))));

  const auto gathering = std::make_shared<Gathering>(checks.size(), write);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const auto decision = limiter.check(checks[i], [&] {
      gathering->expect_one_later();
      return [gathering, i](const Result<Decision>& late) { gathering->put_late(i, late); };
    });
    if (decision) gathering->put(i, *decision);
  }
  if (gathering->complete()) return gathering->join();
  gathering->finish = postpone();
  return std::nullopt;
}

}  // namespace sluice::doors
