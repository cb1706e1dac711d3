#include "doors/check/batch_answers.h"

#include <cassert>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "doors/http/fields/check_field.h"

namespace sluice::doors {
namespace {

// The answers of a batch while some of them are pending. Those before the first pending one are concatenated;
// from there on each has its own place.
class Gathering {
 public:
  Gathering(std::size_t size, WriteOne write) : size_(size), write_(write) {}

  void put(std::size_t i, const Result<Decision>& decision) {
    std::string& place = places_.empty() ? joined_ : places_[i];
    if (decision) [[likely]]
      return write_(decision, i == 0, place);
    if (decision.error().code == ErrorCode::kOverloaded && ++shed_ == size_) all_shed_ = decision.error();
    write_(std::unexpected(in_batch(i, decision.error())), i == 0, place);
  }

  void expect_one_later() {
    places_.resize(size_);
    ++missing_;
  }
  void put_late(std::size_t i, const Result<Decision>& decision) {
    put(i, decision);
    if (--missing_ > 0) return;
    assert(finish);
    finish(result());
  }
  bool complete() const { return missing_ == 0; }

  // If no check was decided, the batch was not.
  Result<std::string> result() {
    if (all_shed_) return std::unexpected(std::move(*all_shed_));
    for (const std::string& place : places_) joined_.append(place);
    return std::move(joined_);
  }

  LaterBatch finish;

 private:
  const std::size_t size_;
  const WriteOne write_;
  std::string joined_;
  std::vector<std::string> places_;  // empty: no answer is pending
  std::size_t missing_ = 0;
  std::size_t shed_ = 0;
  std::optional<Error> all_shed_;
};

Result<void> validate_all(DoorEngine& engine, std::span<const CheckRequest> checks) {
  std::map<KeyHash, std::uint64_t> fingerprints;  // by request_id
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (auto valid = engine.validate(checks[i]); !valid)
      return std::unexpected(in_batch(i, std::move(valid.error())));
    const std::optional<Dedupe> identity = engine.identity(checks[i]);
    if (!identity) continue;
    const auto first = fingerprints.try_emplace(identity->id, identity->fingerprint).first;
    if (first->second != identity->fingerprint)
      return std::unexpected(in_batch(i, Engine::request_id_conflict()));
  }
  return {};
}

}  // namespace

std::optional<Result<std::string>> check_all(DoorEngine& engine, Permit permit,
                                             std::span<const CheckRequest> checks, WriteOne write,
                                             const std::function<LaterBatch()>& postpone) {
  const Engine::Hold hold = engine.hold();
  const Engine::InOrder in_order = engine.in_order();
  if (auto valid = validate_all(engine, checks); !valid)
    return Result<std::string>(std::unexpected(std::move(valid.error())));

  const auto gathering = std::make_shared<Gathering>(checks.size(), write);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const auto decision = engine.check(permit, checks[i], [&] {
      gathering->expect_one_later();
      return [gathering, i](const Result<Decision>& late) { gathering->put_late(i, late); };
    });
    if (decision) gathering->put(i, *decision);
  }
  if (gathering->complete()) return gathering->result();
  gathering->finish = postpone();
  return std::nullopt;
}

}  // namespace sluice::doors
