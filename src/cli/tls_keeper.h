#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cli/serve_options.h"
#include "net/tls_server_context.h"

namespace sluice::cli {

// The TLS of the server's ports, which keeps up with its files. Thread-safe.
class TlsKeeper {
 public:
  // No --tls-cert: no TLS. Throws CommandError that names the flag or the file.
  explicit TlsKeeper(const ServeOptions& options);

  net::TlsServerContext* context() const { return context_.get(); }  // null: no TLS

  // Takes over what has changed in the files. What is wrong there is logged once, and the old stays in force.
  void look();

  // For /readyz: files that cannot be used, a certificate that ends soon.
  std::vector<std::string> problems(std::int64_t now_us) const;
  std::string metrics() const;

 private:
  const std::unique_ptr<net::TlsServerContext> context_;
  mutable std::mutex mutex_;
  std::string problem_;  // with the files, the last time; guarded by mutex_
};

}  // namespace sluice::cli
