#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/limits/control_limits.h"
#include "base/text/encode.h"
#include "base/time_units.h"
#include "cli/admin/audit_list_command.h"
#include "cli/command.h"
#include "document/literals.h"
#include "ledger/chain.h"
#include "ledger/verify.h"
#include "server/serve_options.h"
#include "server/setup/ledger_setup.h"

namespace sluice::cli {

using server::open_ledger_to_read;
using server::ServeOptions;
namespace {

struct VerifyOptions {
  std::string policy_db = "sqlite:./sluice.db";
  std::string key_prefix = ServeOptions().key_prefix;
  std::int64_t revision = 0;
  std::string hash;  // hexadecimal
  std::int64_t audit_days = kAuditDays;
};

std::optional<ledger::NotedHash> noted_hash(const VerifyOptions& options) {
  if (options.hash.empty()) return std::nullopt;
  auto bytes = from_hex(options.hash);
  if (!bytes || bytes->size() != ledger::kHashBytes)
    throw CommandError(
        fmt::format("--expect-hash must be {} hexadecimal digits, as `sluice audit verify` printed them",
                    2 * ledger::kHashBytes));
  return ledger::NotedHash{options.revision, *std::move(bytes)};
}

int verify(const VerifyOptions& options) {
  const auto noted = noted_hash(options);
  const auto ledger = open_ledger_to_read(options.policy_db, options.key_prefix);
  const auto found = ledger::verify_ledger(*ledger, {.noted = noted, .kept_us = options.audit_days * kDayUs});
  if (!found) {
    if (found.error().code != ErrorCode::kFailedPrecondition) throw CommandError(found.error().message);
    fmt::print(stderr, "{} was tampered with: {}\n", ledger->name(), found.error().message);
    return kExitDenied;
  }
  fmt::print("{}: {} records, no tampering found\n", ledger->name(), found->records);
  if (found->records == 0) return kExitOk;
  if (const auto& anchor = found->anchor)
    fmt::print("expired and removed: all but {} of the records up to revision {}, from before {}\n",
               anchor->kept, anchor->revision, instant_text(anchor->before_us));
  fmt::print("first: revision {} at {}\n", found->first_revision, instant_text(found->first_at_us));
  fmt::print("last: revision {} at {}\n", found->revision, instant_text(found->last_at_us));
  fmt::print("keep in a safe place: --expect-revision {} --expect-hash {}\n", found->revision,
             to_hex(found->hash));
  return kExitOk;
}

}  // namespace

void add_audit(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("audit", "The audit log: read it, and prove that it is whole");
  command->require_subcommand(1);
  command->footer(
      "Example:\n  sluice audit list --kind policy\n  sluice audit verify --policy-db sqlite:./sluice.db");
  add_audit_list(*command, exit_code);

  const auto options = std::make_shared<VerifyOptions>();
  CLI::App* check = command->add_subcommand(
      "verify",
      "Verify that the audit log has not been changed; exit status 0 intact, 1 tampered with, 2 error");
  check
      ->add_option("--policy-db", options->policy_db,
                   "sqlite:FILE, postgres://… or redis://…; a server may be using it")
      ->capture_default_str()
      ->envname("SLUICE_POLICY_DB");
  check->add_option("--key-prefix", options->key_prefix, "prefix of the server's keys in Redis")
      ->capture_default_str()
      ->envname("SLUICE_KEY_PREFIX");
  auto* revision =
      check->add_option("--expect-revision", options->revision, "a revision noted at an earlier verification")
          ->check(CLI::PositiveNumber);
  auto* hash = check->add_option("--expect-hash", options->hash,
                                 "and its hash: proves that nothing up to it was cut off or rewritten");
  check
      ->add_option("--audit-days", options->audit_days,
                   "--audit-days of the server: newer entries must still be there; 0: any may be gone")
      ->capture_default_str()
      ->envname("SLUICE_AUDIT_DAYS")
      ->check(CLI::Range(std::int64_t{0}, kAuditDaysMax));
  revision->needs(hash);
  hash->needs(revision);
  check->footer("Example:\n  sluice audit verify --policy-db sqlite:./sluice.db");
  check->callback([options, &exit_code] { exit_code = verify(*options); });
}

}  // namespace sluice::cli
