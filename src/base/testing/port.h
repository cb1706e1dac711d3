#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>

namespace sluice {

// A loopback port on which nothing listens, and that no other test is about to use. The claim is a locked
// file and ends with the process; tests/blackbox/harness/ports.py follows the same rules. Ports are below the
// kernel's range for outgoing connections, so nothing takes the port of a server that is down for a moment.
// Thread-safe.
inline std::uint16_t free_test_port() {
  const std::string folder =
      (std::filesystem::temp_directory_path() / ("sluice-test-ports-" + std::to_string(getuid()))).string();
  mkdir(folder.c_str(), 0700);
  std::random_device random;
  for (;;) {
    const auto port = static_cast<std::uint16_t>(12'000 + random() % 18'000);
    const int claim =
        ::open((folder + "/" + std::to_string(port)).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool free = claim >= 0 && flock(claim, LOCK_EX | LOCK_NB) == 0 &&
                      bind(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
    close(probe);
    if (free) return port;
    if (claim >= 0) close(claim);
  }
}

}  // namespace sluice
