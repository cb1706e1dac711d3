#include "control/ledger_follower.h"

#include <algorithm>
#include <utility>

#include "base/limits/control_limits.h"
#include "base/memory/freed_memory.h"
#include "base/try.h"
#include "document/literals.h"
#include "ledger/anchor.h"
#include "ledger/chain.h"
#include "ledger/prune.h"

namespace sluice::control {
namespace {

constexpr std::size_t kRecordsAtATime = 1000;
// Each further attempt means that another node has written.
constexpr int kWriteAttemptsMax = 100;

}  // namespace

Error LedgerFollower::lost() const {
  return {ErrorCode::kUnavailable,
          "it has lost policies that were there: revision " + std::to_string(revision_) +
              " has changed; restore the database, or " +
              (copy_ && !copy_->path().empty()
                   ? "remove the copy " + copy_->path() + ", and those of other nodes, and "
                   : "") +
              "restart all nodes to continue with what the database has",
          ""};
}

Error LedgerFollower::went_back() const {
  return {
      ErrorCode::kUnavailable,
      "it has lost policies that were there: it does not have revision " + std::to_string(known_->revision) +
          " of " + instant_text(known_->at_us) + ", which the copy " + copy_->path() +
          " was made from; restore the database, or remove that file and restart this node to continue with "
          "what the database has",
      ""};
}

Result<void> LedgerFollower::load() {
  SLUICE_TRY(recognize_copy());
  const auto revision = SLUICE_TRY(ledger_.revision());
  {
    std::vector<ledger::Record> documents;
    SLUICE_TRY(apply_documents(revision, documents));
    SLUICE_TRY(note_newest(revision));
    // If that fails, it is tried again by keep_copy(), which says so.
    if (copy_) {
      [[maybe_unused]] const auto copied = copy_->replace(revision_, hash_, documents);
    }
  }
  return_freed_memory();  // of what was read: it took as much as what has become of it
  SLUICE_TRY(follow());
  loaded_ = true;
  return {};
}

// The next copy replaces one that cannot be read, but what that one knew is lost.
Result<LedgerCopy::Contents> LedgerFollower::read_copy() {
  auto contents = copy_->read();
  if (!contents && contents.error().code != ErrorCode::kNotFound)
    copy_trouble_ = "the copy of the policy database could not be used at the start (" +
                    contents.error().message +
                    "), so this node cannot tell whether the database has lost policies since; check that it "
                    "has all of them";
  return contents;
}

// The copy is read before the ledger: another node that shares it may be writing to both.
Result<void> LedgerFollower::recognize_copy() {
  if (!copy_) return {};
  if (!known_) {
    known_ = read_copy().value_or(LedgerCopy::Contents{});
    known_->documents = {};
  }
  if (known_->revision == 0) return {};
  const auto found = SLUICE_TRY(ledger_.read_after(known_->revision - 1, 1));
  if (found.empty()) return std::unexpected(went_back());
  const auto is_another = [this](const std::string& hash) {
    return !known_->hash.empty() && hash != known_->hash;
  };
  if (found.front().revision == known_->revision)
    return is_another(found.front().hash) ? Result<void>(std::unexpected(went_back())) : Result<void>();
  // There are newer ones. It was removed as old; or it is missing, which the list of documents tells.
  const auto anchor = SLUICE_TRY(ledger::find_anchor(ledger_));
  if (anchor && anchor->anchor.revision == known_->revision && is_another(anchor->anchor.hash))
    return std::unexpected(went_back());
  return {};
}

Result<void> LedgerFollower::apply_documents(std::int64_t revision, std::vector<ledger::Record>& documents) {
  auto read =
      ledger_.for_each_document([&](ledger::Record&& record) { documents.push_back(std::move(record)); });
  if (!read && read.error().code != ErrorCode::kFailedPrecondition) return read;
  if (!read && salvaged_ == revision) return read;  // nothing is new
  salvaged_ = revision;
  problems_.clear();
  salvaged_documents_.clear();
  if (!read)
    for (const ledger::Record& record : documents) salvaged_documents_.insert({record.kind, record.name});
  if (read) take_back_restored(documents);
  apply(documents);
  if (read) restored_.clear();
  return read;
}

// The ledger does not have these documents: it is another ledger, or was restored from a backup.
void LedgerFollower::take_back_restored(std::vector<ledger::Record>& documents) const {
  auto restored = restored_;
  for (const ledger::Record& record : documents) restored.erase({record.kind, record.name});
  for (const auto& [kind, name] : restored)
    documents.push_back({.kind = kind, .name = name, .action = "delete"});
}

std::optional<std::string> LedgerFollower::restore() {
  if (!copy_) return std::nullopt;
  auto contents = read_copy();
  if (!contents) return std::nullopt;
  std::erase_if(contents->documents, [&](const ledger::Record& record) {
    return salvaged_documents_.contains({record.kind, record.name});
  });
  apply(contents->documents, Source::kCopy);
  for (const ledger::Record& record : contents->documents) restored_.insert({record.kind, record.name});
  return "its contents at revision " + std::to_string(contents->revision) + ", " +
         instant_text(contents->at_us) + ", are in force, from the copy " + copy_->path();
}

Result<void> LedgerFollower::keep_copy(const Clock& clock) {
  if (!copy_ || !loaded_) return {};
  return copy_->write_if_due(clock, [this] { return replace_copy(); });
}

// Made anew, from all there is, unless that is less than there was. What is written meanwhile comes as news.
Result<void> LedgerFollower::replace_copy() {
  SLUICE_TRY(follow());
  std::vector<ledger::Record> documents;
  auto read =
      ledger_.for_each_document([&](ledger::Record&& record) { documents.push_back(std::move(record)); });
  return read ? copy_->replace(revision_, hash_, documents) : read;
}

Result<void> LedgerFollower::note_newest(std::int64_t revision) {
  revision_ = revision;
  if (revision == 0) return {};
  const auto newest = SLUICE_TRY(ledger_.read_after(revision - 1, 1));
  if (newest.empty() || newest.front().revision != revision) return std::unexpected(lost());
  hash_ = newest.front().hash;
  return {};
}

// A page has two records, if there are: the known one and a new one.
Result<void> LedgerFollower::follow() {
  static_assert(kLedgerPageMin >= 2);
  for (;;) {
    const auto records =
        SLUICE_TRY(ledger_.read_after(std::max<std::int64_t>(revision_ - 1, 0), kRecordsAtATime));
    std::span<const ledger::Record> news = records;
    if (revision_ > 0) {
      if (news.empty()) return std::unexpected(lost());
      if (news.front().revision == revision_) {
        if (news.front().hash != hash_) return std::unexpected(lost());
        news = news.subspan(1);
      } else if (auto known = recognize_removed(); !known) {
        return known;
      }
    }
    if (news.empty()) return {};
    apply(news);
    if (copy_) copy_->note(news);
    revision_ = news.back().revision;
    hash_ = news.back().hash;
  }
}

Result<void> LedgerFollower::check(const ledger::Change& change) {
  std::map<ledger::Kind, std::vector<const ledger::Draft*>> by_kind;
  for (const ledger::Draft& draft : change.drafts) by_kind[draft.kind].push_back(&draft);
  for (const auto& [kind, drafts] : by_kind) {
    const auto documents = kinds_.find(kind);
    if (documents == kinds_.end()) continue;
    auto fits = documents->second->check(drafts);
    if (fits) continue;
    if (auto& item = fits.error().item)
      item = static_cast<std::uint32_t>(drafts[*item] - change.drafts.data());
    return fits;
  }
  return {};
}

Result<void> LedgerFollower::recognize_removed() const {
  const auto anchor = SLUICE_TRY(ledger::find_anchor(ledger_));
  if (!anchor || anchor->anchor.revision < revision_) return std::unexpected(lost());
  if (anchor->anchor.revision == revision_ && anchor->anchor.hash == hash_) return {};
  return std::unexpected(Error{ErrorCode::kUnavailable,
                               "it has pruned records that this node had not read yet (revision " +
                                   std::to_string(revision_) + "); restart this node",
                               ""});
}

Result<std::int64_t> LedgerFollower::prune(std::int64_t before_us, std::int64_t now_us) {
  auto removed = ledger::prune(ledger_, before_us, now_us);
  if (!removed || *removed == 0) return removed;
  SLUICE_TRY(follow());
  return removed;
}

Result<std::vector<ledger::Record>> LedgerFollower::write(ledger::Change change, const Permission& may) {
  // What others wrote meanwhile may conflict with this change. Events conflict with nothing.
  const bool has_documents = std::ranges::any_of(
      change.drafts, [](const ledger::Draft& draft) { return draft.kind != ledger::Kind::kEvent; });
  if (auto ready = refresh(); !ready)
    return std::unexpected(Error{ErrorCode::kUnavailable, ready.error().message, ""});
  for (int attempt = 1;; ++attempt) {
    Result<void> good = may ? may() : Result<void>();
    if (good) good = check(change);
    if (!good) return answer_of_then(change, good.error());
    if (has_documents) change.expected_revision = revision_;
    auto written = ledger_.append(change);
    const bool refused = !written && written.error().code == ErrorCode::kUnavailable;
    if (written || refused) write_trouble_ = refused ? written.error().message : "";
    if (written) {
      SLUICE_TRY(catch_up(*written));
      return written;
    }
    if (written.error().code != ErrorCode::kStale) return written;
    const std::int64_t before = revision_;
    SLUICE_TRY(follow());
    if (revision_ == before) return written;  // nothing new: the author has seen an old version
    if (attempt == kWriteAttemptsMax)
      return std::unexpected(Error{ErrorCode::kUnavailable, "too many concurrent writes; try again", ""});
  }
}

Result<std::vector<ledger::Record>> LedgerFollower::answer_of_then(const ledger::Change& change,
                                                                   Error error) {
  auto earlier = SLUICE_TRY(ledger_.find_request(change.actor, change.request_id));
  if (earlier.empty()) return std::unexpected(std::move(error));
  return answer_again(change, std::move(earlier));
}

Result<void> LedgerFollower::catch_up(std::span<const ledger::Record> written) {
  if (written.back().revision <= revision_) return {};
  if (written.front().revision != revision_ + 1) return follow();
  apply(written);
  if (copy_) copy_->note(written);
  revision_ = written.back().revision;
  hash_ = written.back().hash;
  return {};
}

void LedgerFollower::apply(std::span<const ledger::Record> records, Source source) {
  Newest newest;
  bool has_policies = false;
  for (const ledger::Record& record : records) {
    if (record.kind == ledger::Kind::kEvent) continue;
    newest[{record.kind, record.name}] = &record;
    has_policies |= record.kind == ledger::Kind::kPolicy;
  }
  // Policies can conflict with each other and with rollouts, so a changed policy retries all problems; other
  // kinds can only affect their own.
  if (!newest.empty()) bring_into_force(std::move(newest), has_policies, source);
}

void LedgerFollower::bring_into_force(Newest newest, bool with_all_problems, Source source) {
  std::map<ledger::Kind, std::vector<const ledger::Record*>> by_kind;
  for (const auto& [name, record] : newest) by_kind[name.first];
  if (with_all_problems) by_kind[ledger::Kind::kPolicy];  // files may have taken the place of some
  Problems problems;  // the new list; the old one stays until all is done, even if something throws
  for (const auto& [name, problem] : problems_) {
    if (!with_all_problems && !by_kind.contains(name.first))
      problems[name] = problem;
    else if (!problem.record.name.empty())
      newest.try_emplace(name, &problem.record);
  }
  for (const auto& [name, record] : newest) by_kind[name.first].push_back(record);
  // A ledger that does not answer once is not asked again: each call may take seconds, and files may have
  // taken the place of many policies.
  bool answers = true;
  for (auto& [kind, list] : by_kind) {
    const auto documents = kinds_.find(kind);
    if (documents == kinds_.end()) continue;
    std::ranges::sort(list, {}, &ledger::Record::revision);
    for (auto& [name, sentence] :
         source == Source::kCopy ? documents->second->apply_copy(list) : documents->second->apply(list)) {
      Problem& problem = problems[{kind, name}] = {{}, std::move(sentence)};
      if (const auto about = newest.find({kind, name}); about != newest.end()) {
        problem.record = *about->second;
      } else if (answers) {
        auto found = newest_version(kind, name);
        answers = found.has_value();
        if (found) problem.record = std::move(*found);
      }
    }
  }
  problems_.swap(problems);
}

Result<ledger::Record> LedgerFollower::newest_version(ledger::Kind kind, const std::string& name) {
  if (name.empty()) return {};
  auto newest = SLUICE_TRY(ledger_.history(kind, name, INT64_MAX, 1));
  return newest.empty() ? ledger::Record{} : std::move(newest.front());
}

std::vector<std::string> LedgerFollower::problems() const {
  std::vector<std::string> sentences;
  for (const auto& [document, problem] : problems_) sentences.push_back(problem.sentence);
  if (!copy_trouble_.empty()) sentences.push_back(copy_trouble_);
  return sentences;
}

const ledger::Record* LedgerFollower::not_in_force(ledger::Kind kind, std::string_view name) const {
  const auto found = problems_.find({kind, std::string(name)});
  return found == problems_.end() || found->second.record.name.empty() ? nullptr : &found->second.record;
}

}  // namespace sluice::control
