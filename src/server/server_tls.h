#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "net/tls/tls_server_context.h"
#include "server/serve_options.h"

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
  mutable std::mutex mutex_;
  std::string problem_;  // with the files, at the last look; guarded by mutex_
};

}  // namespace sluice::server
