#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "control/access/identities.h"
#include "net/tls/tls_server_context.h"
#include "server/serve_options.h"

// The server's own certificate, and the names in the certificates of clients.
namespace sluice::server {

// The TLS context of the server's ports, which follows changes of its files. Thread-safe.
class ServerTls {
 public:
  // Without --tls-cert there is no TLS. Throws a CommandError that names the flag or the file.
  explicit ServerTls(const ServeOptions& options);

  net::TlsServerContext* context() const { return context_.get(); }  // null: no TLS

  // Reloads files that have changed. A problem with them is logged once, and the previous ones stay in force.
  void look();

  // For /readyz: files that cannot be used, a certificate that expires soon.
  std::vector<std::string> problems(std::int64_t now_us) const;
  std::string metrics() const;

 private:
  const std::unique_ptr<net::TlsServerContext> context_;
  mutable Mutex mutex_;
  std::string problem_ SLUICE_GUARDED_BY(mutex_);  // with the files, at the last look
};

// The identities of --identities; reloaded on request. Thread-safe.
class IdentityFile {
 public:
  // An empty path: no identities. Throws a CommandError that names file, line and field.
  explicit IdentityFile(const std::string& path);

  const control::IdentityRegistry& registry() const { return registry_; }

  // Reads the file again, or another one. If it is invalid, the previous identities stay in force, and that
  // is logged.
  void reload(const std::string& path);
  std::vector<std::string> problems() const;  // for /readyz

 private:
  control::IdentityRegistry registry_;
  mutable Mutex mutex_;
  std::vector<std::string> problems_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::server
