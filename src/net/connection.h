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

#include "net/buffer_budget.h"
#include "net/event_loop.h"
#include "net/session.h"
#include "net/tls_server_context.h"

namespace sluice::net {

class Connection;

// The numeric address of a peer, as logs and policies want it: an IPv4 client of a socket that listens on
// both is an IPv4 client.
std::string address_text(const sockaddr_storage& address);

// The connections of one loop, and what they share. Not thread-safe.
class ConnectionSet {
 public:
  ConnectionSet(EventLoop& loop, SessionContext& context, BufferBudget& budget);
  ~ConnectionSet();
  ConnectionSet(const ConnectionSet&) = delete;
  ConnectionSet& operator=(const ConnectionSet&) = delete;

  // Takes over a connected, non-blocking socket. tls: null, in plain text; outlives the set. Throws what
  // std::bad_alloc and std::system_error are for; then the socket is still the caller's.
  void add(int fd, Peer peer, TlsServerContext* tls = nullptr);
  std::size_t size() const { return connections_.size(); }
  std::size_t size(Port port) const { return by_port_[static_cast<std::size_t>(port)]; }

  // Sends what deferred answers have become; after every batch of events.
  void flush();
  // Some have still more to send: don't wait for events before the next flush().
  bool has_ready() const { return !ready_.empty(); }
  void tick();
  void drain();

  // Closes connections that nobody misses much, so that somebody else can come: of that port, or any. Who has
  // said nothing goes first, then strangers, then who is idle, then who has sent half a request; of these
  // whoever has been silent for longest. Never one that waits for its answer. False: there is none.
  bool make_room(std::optional<Port> port);
  // Sheds the largest holders of memory while there is too much of it, and this loop has a part in it.
  void relieve();
  // Sheds the largest holders until half of what they hold is given back.
  void relieve_by_half();

  const BufferAccount& account() const { return account_; }
  std::uint64_t shed_for_memory() const { return shed_for_memory_; }
  std::uint64_t shed_for_room() const { return shed_for_room_; }

  // Connections that bring much at a time wait until the others had their turn; then, in every turn, one of
  // them is read. Otherwise somebody with a single question would wait for the work of all of them.
  bool has_large() const { return !large_.empty(); }
  void read_large();

 private:
  friend class Connection;
  static constexpr std::size_t kInputBytes = 64u << 10;
  void remove(Connection& connection);  // destroys it
  template <class Enough>
  void shed_largest(bool strangers_only, const Enough& enough);

  EventLoop& loop_;
  SessionContext& context_;
  BufferAccount account_;
  std::uint64_t shed_for_memory_ = 0;
  std::uint64_t shed_for_room_ = 0;
  std::array<std::size_t, kPorts> by_port_{};
  std::vector<std::unique_ptr<Connection>> connections_;
  std::uint32_t last_id_ = 0;       // of a peer
  std::size_t next_compared_ = 0;   // by make_room()
  std::vector<Connection*> ready_;  // nullptr: gone meanwhile
  std::deque<Connection*> large_;   // those that wait to be read
  std::unique_ptr<char[]> input_;   // one for all: a connection keeps only what it can't use at once
  std::string output_;              // of a session
  std::string opened_, sealed_;     // what TLS has decrypted and encrypted
};

// A socket and the session that speaks over it. Lives in a ConnectionSet, not thread-safe.
//
// One recv() and one send() per wake-up. What the peer does not take is kept here, and while that is much,
// nothing more is read. An end that we choose is gentle: the peer gets to read the last answer before the
// socket goes.
//
// With TLS, unsent_ is what goes over the network; the session sees and says plain text only, and is not made
// before the handshake is done.
class Connection final : private EventLoop::Watcher, private SessionHost {
 public:
  Connection(ConnectionSet& set, int fd, Peer peer, TlsServerContext* tls);
  ~Connection();

 private:
  friend class ConnectionSet;

  // How much it is missed if it goes, see make_room().
  enum class Worth : std::uint8_t { kSilent, kStranger, kIdle, kHalfRequest, kOwedAnswer };
  Worth worth() const;

  // Does one thing with this connection, which may end it. An allocation that fails ends it, and no more.
  template <class Action>
  void carefully(const Action& action);
  // Tells the set's account what is held now.
  void settle();

  // Those that return bool return false if the connection is gone, and `this` with it.
  void on_events(std::uint32_t events) override;
  bool handle_events(std::uint32_t events);
  void output_ready() override;
  bool read();
  bool receive(std::span<char> bytes);
  bool receive_sealed(std::string_view bytes);
  bool end_of_input();
  bool resume();
  bool tick();
  std::int64_t first_words_us() const;
  bool may_go() const;  // a drain waits no longer for its first words
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
  TlsServerContext* const tls_context_;   // null: in plain text
  const std::unique_ptr<TlsEngine> tls_;  // the same
  std::unique_ptr<Session> session_;      // none until the protocol is known
  std::string first_bytes_;               // until then
  std::string unsent_;
  std::int64_t since_us_;  // opened, or last took some of the session's output, or began to linger
  std::uint32_t interest_ = EPOLLIN;
  std::size_t held_bytes_ = 0;     // as the set's account has it
  bool held_as_stranger_ = false;  // the same
  std::size_t recent_bytes_ = 0;   // read of late
  bool is_ready_ = false;          // in the set's list
  bool is_large_ = false;          // the same, of those that bring much
  bool input_ended_ = false;
  bool lingering_ = false;
  bool shaking_hands_ = false;  // the client has begun, and neither side has finished
  bool said_goodbye_ = false;   // TLS's own, behind all that the session said
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
