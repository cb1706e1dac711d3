#include "server/setup/certificates.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "base/time_units.h"
#include "document/literals.h"
#include "policy/files/policy_files.h"
#include "server/command_error.h"
#include "telemetry/log/log.h"
#include "telemetry/prometheus.h"

namespace sluice::server {
namespace {

constexpr std::int64_t kSoonSeconds = 7LL * 86'400;

void check_flags(const ServeOptions& options) {
  if (options.tls_cert.empty() != options.tls_key.empty())
    throw CommandError("--tls-cert and --tls-key must be given together");
  if (options.tls_cert.empty() && !options.tls_client_ca.empty())
    throw CommandError("--tls-client-ca needs --tls-cert and --tls-key");
  if (options.tls_client_ca.empty() && options.tls_require_client_cert)
    throw CommandError("--tls-require-client-cert needs --tls-client-ca, which names the CAs to trust");
  if (options.tls_client_ca.empty() && !options.identities.empty())
    throw CommandError("--identities needs --tls-client-ca: without it no client shows a certificate");
}

std::unique_ptr<net::TlsServerContext> load(const ServeOptions& options) {
  check_flags(options);
  if (options.tls_cert.empty()) return nullptr;
  auto loaded = net::TlsServerContext::load({.certificate_file = options.tls_cert,
                                             .key_file = options.tls_key,
                                             .client_ca_file = options.tls_client_ca,
                                             .requires_client_certificate = options.tls_require_client_cert,
                                             .on_failed_handshake = [](const std::string& sentence) {
                                               log(LogEvent::kTlsHandshakeFailed, sentence);
                                             }});
  if (!loaded) throw CommandError("TLS: " + loaded.error().message);
  return std::move(*loaded);
}

std::vector<control::Identity> read_identities(const std::string& path, Problems& problems) {
  std::vector<control::Identity> identities;
  if (path.empty()) return identities;
  for (const PolicyFile& file : read_policy_files({path}, problems))
    if (problems.empty()) identities = control::parse_identities(file.text, file.path, problems);
  return identities;
}

}  // namespace

ServerTls::ServerTls(const ServeOptions& options) : context_(load(options)) {}

void ServerTls::look() {
  if (!context_) return;
  const auto changed = context_->reload();
  const std::string problem =
      changed ? "" : fmt::format("TLS: {}; keeping the previous certificate", changed.error().message);
  if (changed && *changed)
    log(LogEvent::kTlsCertificateLoaded,
        fmt::format("new connections use the new TLS certificate in {}; it expires {}",
                    context_->certificate_file(), instant_text(context_->expires_unix_s() * kSecondUs)));
  const Lock lock(mutex_);
  if (!problem.empty() && problem != problem_) log(LogEvent::kTlsCertificateRefused, problem);
  problem_ = problem;
}

std::vector<std::string> ServerTls::problems(std::int64_t now_us) const {
  if (!context_) return {};
  std::vector<std::string> problems;
  const std::int64_t end_s = context_->expires_unix_s(), left_s = end_s - now_us / kSecondUs;
  if (left_s < kSoonSeconds)
    problems.push_back(fmt::format("the TLS certificate in {} {} {}; replace it",
                                   context_->certificate_file(), left_s < 0 ? "expired" : "expires",
                                   instant_text(end_s * kSecondUs)));
  const Lock lock(mutex_);
  if (!problem_.empty()) problems.push_back(problem_);
  return problems;
}

std::string ServerTls::metrics() const {
  if (!context_) return "";
  PrometheusText text;
  text.family("rate_limiter_tls_handshakes_total", "counter",
              "TLS handshakes of clients, by how they ended.");
  text.sample({{"result", "ok"}}, context_->good_handshakes());
  text.sample({{"result", "failed"}}, context_->failed_handshakes());
  text.family("rate_limiter_tls_certificate_expiry_timestamp_seconds", "gauge",
              "When the TLS certificate in force expires, in Unix time.");
  text.sample({}, static_cast<std::uint64_t>(context_->expires_unix_s()));
  return std::move(text).take();
}

IdentityFile::IdentityFile(const std::string& path) {
  Problems problems;
  auto identities = read_identities(path, problems);
  if (!problems.empty())
    throw CommandError(fmt::format("--identities: {}", fmt::join(problems.texts(), "; ")));
  registry_.replace(std::move(identities));
}

void IdentityFile::reload(const std::string& path) {
  Problems found;
  auto identities = read_identities(path, found);
  if (found.empty()) registry_.replace(std::move(identities));
  std::vector<std::string> problems;
  for (const std::string& text : found.texts())
    problems.push_back(fmt::format("--identities: {}; keeping the previous ones", text));
  for (const std::string& problem : problems) log(LogEvent::kIdentitiesRefused, problem);
  const Lock lock(mutex_);
  problems_ = std::move(problems);
}

std::vector<std::string> IdentityFile::problems() const {
  const Lock lock(mutex_);
  return problems_;
}

}  // namespace sluice::server
