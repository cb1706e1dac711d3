#include "server/setup/key_secrets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <functional>

#include "base/limits.h"
#include "base/secret/shared_hasher.h"
#include "document/fields.h"
#include "document/literals.h"
#include "policy/files/policy_files.h"
#include "server/command_error.h"
#include "telemetry/log/log.h"
#include "telemetry/prometheus.h"

namespace sluice::server {
namespace {

constexpr std::array<std::string_view, 1> kTopFields = {"secrets"};
constexpr std::array<std::string_view, 3> kSecretFields = {"version", "secret", "from"};

Literal<std::string> parse_secret(std::string_view text) {
  if (text.size() < kKeySecretBytesMin || text.size() > kKeySecretBytesMax)
    return std::unexpected(
        fmt::format("has {} characters; a secret has {} to {}, as `openssl rand -hex 32` makes", text.size(),
                    kKeySecretBytesMin, kKeySecretBytesMax));
  return std::string(text);
}

KeySecret read_secret(const DocumentNode& node, const Place& place) {
  const Fields fields(node, place, kSecretFields);
  KeySecret secret;
  if (!fields.is_map()) return secret;
  fields.missing("version");
  fields.missing("secret");
  secret.version = static_cast<int>(fields.integer("version", 1, kKeySecretVersionMax).value_or(0));
  secret.secret = fields.text("secret", parse_secret).value_or("");
  secret.from_us = fields.text("from", parse_instant_us).value_or(0);
  return secret;
}

// All texts in the file, wherever they are.
void collect_texts(const DocumentNode& node, std::vector<std::string>& texts) {
  if (!node.text.empty()) texts.push_back(node.text);
  const auto is_known = [](const std::string& name) {
    return std::ranges::find(kTopFields, name) != kTopFields.end() ||
           std::ranges::find(kSecretFields, name) != kSecretFields.end();
  };
  for (const DocumentNode::Key& key : node.keys)
    if (!is_known(key.text)) texts.push_back(key.text);
  for (const DocumentNode& item : node.items) collect_texts(item, texts);
}

// Messages quote the invalid text, and in this file that may be a secret in the wrong place.
void add_without_quotes(const Problems& found, const DocumentNode& tree, Problems& problems) {
  constexpr std::size_t kHarmlessBytesMax = 3;
  std::vector<std::string> texts;
  collect_texts(tree, texts);
  std::ranges::sort(texts, std::ranges::greater(), &std::string::size);
  for (Problem problem : found.list()) {
    for (const std::string& text : texts) {
      if (text.size() <= kHarmlessBytesMax) continue;
      for (std::string* part : {&problem.message, &problem.field})
        for (std::size_t at; (at = part->find(text)) != part->npos;) part->replace(at, text.size(), "…");
    }
    problems.add(std::move(problem));
  }
}

std::vector<KeySecret> read_secrets(const DocumentNode& tree, const Place& top) {
  std::vector<KeySecret> secrets;
  const Fields fields(tree, top, kTopFields);
  if (!fields.is_map()) return secrets;
  fields.missing("secrets");
  const DocumentNode* const list = fields.node("secrets");
  const Place place = top.field("secrets");
  if (!list || !is_list(*list, place)) return secrets;
  if (list->items.size() > SecretRing::kVersionsMax) {
    place.report(list->line, fmt::format("there are more than {} secrets", SecretRing::kVersionsMax));
    return secrets;
  }
  for (std::size_t i = 0; i < list->items.size(); ++i)
    secrets.push_back(read_secret(list->items[i], place.item(i)));
  return secrets;
}

// Other users who can read the file can undo its protection.
void warn_of_readers(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) == 0 && (about.st_mode & (S_IRGRP | S_IROTH)) != 0)
    log(LogEvent::kKeySecretsReadable,
        fmt::format("--key-secrets: {} is readable by other users; run chmod 600", path));
}

}  // namespace

std::vector<KeySecret> parse_key_secrets(std::string_view text, const std::string& file, Problems& problems) {
  const auto tree = parse_document_tree(text, file, problems);
  if (!tree) return {};
  Problems found;
  auto secrets = read_secrets(*tree, Place{file, found});
  add_without_quotes(found, *tree, problems);
  return secrets;
}

std::vector<KeySecret> read_key_secrets(const std::string& path, std::int64_t now_us,
                                        const SecretRing& ring) {
  Problems problems;
  std::vector<KeySecret> secrets;
  warn_of_readers(path);
  for (const PolicyFile& file : read_policy_files({path}, problems))
    if (problems.empty()) secrets = parse_key_secrets(file.text, file.path, problems);
  if (!problems.empty())
    throw CommandError(fmt::format("--key-secrets: {}", fmt::join(problems.texts(), "; ")));
  if (const auto checked = ring.check(secrets, now_us); !checked) {
    const Error& error = checked.error();
    throw CommandError(fmt::format("--key-secrets: {}: secrets{}: {}", path, error.field, error.message));
  }
  return secrets;
}

std::shared_ptr<SecretRing> open_key_secrets(const std::string& key_secret, const std::string& path,
                                             std::int64_t now_us) {
  if (path.empty()) return nullptr;
  if (!key_secret.empty())
    throw CommandError("--key-secret and --key-secrets exclude each other; move the secret into the file");
  auto ring = std::make_shared<SecretRing>();
  if (const auto taken = ring->take(read_key_secrets(path, now_us, *ring), now_us); !taken)
    throw CommandError(taken.error().message);
  return ring;
}

KeyHasher shared_hasher(const std::string& key_secret, const std::shared_ptr<SecretRing>& secrets) {
  if (secrets) return KeyHasher::with_hmac(secrets);
  return sluice::shared_hasher(key_secret);
}

std::string key_secret_metrics(const SecretRing& ring) {
  PrometheusText text;
  text.family("rate_limiter_key_secret_version", "gauge",
              "The version of --key-secrets that names counters.");
  text.sample({}, static_cast<std::uint64_t>(ring.version()));
  return std::move(text).take();
}

}  // namespace sluice::server
