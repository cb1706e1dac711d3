#include "ledger/anchor.h"

#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "base/text/encode.h"
#include "base/try.h"
#include "ledger/chain.h"

namespace sluice::ledger {
namespace {

// Reads exactly what draft_of() wrote: the body of a record in the chain is unchanged.
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}

  void literal(std::string_view expected) {
    ok_ &= left_.starts_with(expected);
    if (ok_) left_.remove_prefix(expected.size());
  }
  std::int64_t number() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(left_.data(), left_.data() + left_.size(), value);
    ok_ &= error == std::errc();
    if (ok_) left_.remove_prefix(static_cast<std::size_t>(end - left_.data()));
    return value;
  }
  std::string hash() {
    auto bytes = from_hex(left_.substr(0, 2 * kHashBytes));
    ok_ &= bytes && bytes->size() == kHashBytes;
    if (ok_) left_.remove_prefix(2 * kHashBytes);
    return ok_ ? *std::move(bytes) : std::string();
  }
  bool is_whole() const { return ok_ && left_.empty(); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

}  // namespace

Draft draft_of(const Anchor& anchor, std::int64_t version) {
  std::string body = "{\"up_to\":" + std::to_string(anchor.revision) + ",\"hash\":\"" + to_hex(anchor.hash) +
                     "\",\"kept\":" + std::to_string(anchor.kept) + ",\"kept_hash\":\"" +
                     to_hex(anchor.kept_hash) + "\",\"removed\":" + std::to_string(anchor.removed) +
                     ",\"before_us\":" + std::to_string(anchor.before_us) + "}";
  return {.kind = Kind::kRetention,
          .name = std::string(kAnchorName),
          .action = "prune",
          .body = std::move(body),
          .expected_version = version};
}

Result<Anchor> read_anchor(const Record& record) {
  Reader reader(record.body);
  Anchor anchor;
  reader.literal("{\"up_to\":");
  anchor.revision = reader.number();
  reader.literal(",\"hash\":\"");
  anchor.hash = reader.hash();
  reader.literal("\",\"kept\":");
  anchor.kept = reader.number();
  reader.literal(",\"kept_hash\":\"");
  // If no records are kept, there is no hash.
  if (anchor.kept > 0) anchor.kept_hash = reader.hash();
  reader.literal("\",\"removed\":");
  anchor.removed = reader.number();
  reader.literal(",\"before_us\":");
  anchor.before_us = reader.number();
  reader.literal("}");
  if (reader.is_whole() && anchor.revision > 0 && anchor.revision < record.revision) return anchor;
  return std::unexpected(Error{ErrorCode::kFailedPrecondition,
                               "revision " + std::to_string(record.revision) +
                                   ": it does not state which records were removed before it",
                               ""});
}

Result<std::optional<AnchorRecord>> find_anchor(Ledger& ledger) {
  auto newest =
      SLUICE_TRY(ledger.history(Kind::kRetention, kAnchorName, std::numeric_limits<std::int64_t>::max(), 1));
  if (newest.empty()) return std::nullopt;
  auto anchor = SLUICE_TRY(read_anchor(newest.front()));
  return AnchorRecord{std::move(anchor), std::move(newest.front())};
}

void KeptHash::add(const Record& record) {
  ++count_;
  hash_ = sha256(hash_ + unlinked_hash(record) + record.hash);
}

}  // namespace sluice::ledger
