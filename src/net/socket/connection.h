#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "net/session.h"
#include "net/socket/buffer_budget.h"
#include "net/socket/event_loop.h"
#include "net/tls/tls_server_context.h"

namespace sluice::net {

class Connection;

// The numeric address of a peer, as logs and policies need it: an IPv4 client of a dual-stack socket is shown
// as IPv4.
std::string address_text(const sockaddr_storage& address);

// The connections of one loop, and what they share. Not thread-safe.
class ConnectionSet {
 public:
  ConnectionSet(EventLoop& loop, SessionContext& context, BufferBudget& budget);
  ~ConnectionSet();
  ConnectionSet(const ConnectionSet&) = delete;
  ConnectionSet& operator=(const ConnectionSet&) = delete;

  // Takes over a connected, non-blocking socket. tls: null for plain text; outlives the set. Throws
  // std::bad_alloc and std::system_error; then the caller still owns the socket.
  void add(int fd, Peer peer, TlsServerContext* tls = nullptr);
  std::size_t size() const { return connections_.size(); }
  std::size_t size(Port port) const { return by_port_[static_cast<std::size_t>(port)]; }

  // Sends the output of deferred answers; call it after every batch of events.
  void flush();
  // Some connections have more to send: do not wait for events before the next flush().
  bool has_ready() const { return !ready_.empty(); }
  void tick();
  void drain();

  // Closes the least valuable connection, of that port or of any, to make room for a new one. Order:
  // 1. connections that have sent nothing for a second;
  // 2. strangers, and those whose first request is incomplete after a second;
  // 3. new ones: younger than a second, and without a complete request. So each has its chance, and however
  //    many there are, none takes the place of a connection that has been served;
  // 4. idle ones;
  // 5. those with a partial request, after others that were served.
  // Among equals, the one that has been silent longest. Never one that waits for its answer. Returns false if
  // there is none.
  bool make_room(std::optional<Port> port);
  // Sheds the largest holders of memory while there is too much of it and this loop holds more than its
  // share; if it is that of TLS, the least valuable ones, in the order of make_room().
  void relieve();
  // Sheds holders until half of this loop's memory is freed.
  void relieve_by_half();

  const BufferAccount& account() const { return account_; }
  std::uint64_t shed_for_memory() const { return shed_for_memory_; }
  std::uint64_t shed_for_room() const { return shed_for_room_; }

  // Connections that send much at a time wait until the others had their turn; then each turn reads one of
  // them. Otherwise a client with a single request would wait for the work of all of them.
  bool has_large() const { return !large_.empty(); }
  void read_large();

 private:
  friend class Connection;
  static constexpr std::size_t kInputBytes = 64u << 10;
  void remove(Connection& connection);  // destroys it
  template <class Enough>
  void shed_largest(bool strangers_only, const Enough& enough);
  template <class Enough>
  void shed_tls(BufferBudget::Pool pool, const Enough& enough);

  EventLoop& loop_;
  SessionContext& context_;
  BufferAccount account_;
  std::uint64_t shed_for_memory_ = 0;
  std::uint64_t shed_for_room_ = 0;
  std::array<std::size_t, kPorts> by_port_{};
  std::vector<std::unique_ptr<Connection>> connections_;
  std::uint32_t last_id_ = 0;       // of peers
  std::size_t next_compared_ = 0;   // by make_room()
  std::vector<Connection*> ready_;  // nullptr: closed meanwhile
  std::deque<Connection*> large_;   // waiting to be read
  std::unique_ptr<char[]> input_;   // shared: a connection keeps only what it cannot process at once
  std::string output_;              // of a session
  std::string opened_, sealed_;     // what TLS has decrypted and encrypted
};

// A socket and its session. Lives in a ConnectionSet, not thread-safe.
//
// One recv() and one send() per wake-up. Output that the peer does not read is kept here, and while there is
// much of it, nothing more is read. When we close, we close gracefully: the peer can read the last answer
// before the socket is closed.
//
// With TLS, unsent_ holds encrypted bytes. The session handles plain text only, and is created after the
// handshake.
class Connection final : private EventLoop::Watcher, private SessionHost {
 public:
  Connection(ConnectionSet& set, int fd, Peer peer, TlsServerContext* tls);
  ~Connection();

 private:
  friend class ConnectionSet;

  // The value of a connection, in ascending order; see make_room().
  enum class Worth : std::uint8_t { kSilent, kStranger, kNew, kIdle, kPartialRequest, kOwedAnswer };
  Worth worth() const;

  // Runs one action on this connection, which may close it. If an allocation fails, only this connection is
  // closed.
  template <class Action>
  void carefully(const Action& action);
  // Reports to the set's account what is held now.
  void settle();
  std::size_t settle_tls();

  // Functions that return bool return false if the connection is closed; then `this` is destroyed.
  void on_events(std::uint32_t events) override;
  bool handle_events(std::uint32_t events);
  void output_ready() override;
  bool read();
  bool receive(std::span<char> bytes);
  bool receive_hello(std::string_view bytes);
  bool receive_sealed(std::string_view bytes);
  bool end_of_input();
  bool resume();
  bool tick();
  std::int64_t first_bytes_us() const;
  bool may_go() const;  // a drain no longer waits for its first bytes
  bool drain();
  bool read_before_end();
  bool write(std::string& said);
  bool transmit(std::string& out);
  bool after_write();
  bool finish();
  bool linger();
  bool shed();
  bool close();
  std::string& output();
  std::string& sealed_output() { return unsent_.empty() ? set_.sealed_ : unsent_; }
  void update_interest();

  ConnectionSet& set_;
  const int fd_;
  std::size_t index_ = 0;  // in the set
  Peer peer_;
  const bool needs_token_;               // it began as a stranger
  TlsServerContext* const tls_context_;  // null: plain text
  std::unique_ptr<TlsEngine> tls_;       // none until the ClientHello is whole, nor while lingering
  std::unique_ptr<Session> session_;     // none until the protocol is known
  std::string first_bytes_;              // until the ClientHello is whole; then until the protocol is known
  std::string unsent_;
  const std::int64_t opened_us_;
  // When it was opened, last sent some of the session's output, or began to linger.
  std::int64_t since_us_;
  std::uint32_t interest_ = EPOLLIN;
  std::size_t held_bytes_ = 0;                              // as in the set's account
  bool held_as_stranger_ = false;                           // the same
  std::size_t held_by_tls_ = 0;                             // the same
  BufferBudget::Pool tls_pool_ = BufferBudget::Pool::kTls;  // the same
  std::size_t recent_bytes_ = 0;                            // read recently
  bool is_ready_ = false;                                   // in the set's list
  bool is_large_ = false;                                   // likewise, in the list of large ones
  bool input_ended_ = false;
  bool lingering_ = false;
  bool shaking_hands_ = false;      // the client has begun the handshake, which is not complete
  bool close_notify_sent_ = false;  // TLS close_notify, after the session's last bytes
};

template <class Action>
void Connection::carefully(const Action& action) {
  try {
    if (action()) settle();
  } catch (const std::bad_alloc&) {
    close();
  }
}

}  // namespace sluice::net
