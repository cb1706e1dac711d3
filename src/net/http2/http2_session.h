#pragma once

#include <deque>
#include <string>

#include "net/http2/http2_frame_scan.h"
#include "net/http2/http2_guard.h"
#include "net/http2/http2_stream.h"
#include "net/session.h"

struct nghttp2_session;

namespace sluice::net {

struct Http2Callbacks;

// The memory of a stream besides its texts: our part, nghttp2's, and the handler of a streaming call.
inline constexpr std::size_t kOpenStreamBytes = 2048;

// HTTP/2 on one connection: JSON requests and gRPC calls side by side. Not thread-safe.
//
// nghttp2 does frames, header compression and flow control. This class handles the requests: plain HTTP in
// http2_session.cc, gRPC in http2_grpc.cc. An abusive peer gets GOAWAY with ENHANCE_YOUR_CALM. A peer with
// many unread answers is not abusive: its next requests wait until it has read some.
class Http2Session final : public Session {
 public:
  Http2Session(SessionContext& context, SessionHost& host, const Peer& peer);
  ~Http2Session() override;

  void receive(std::span<char> bytes, std::string& out) override;
  void resume(std::string& out) override { flush(out); }
  void tick(std::string& out) override;
  void drain(std::string& out) override;
  void end_of_input() override { finished_ = true; }
  bool finished() const override { return finished_; }
  bool wants_input() const override { return !context_.is_busy() || !owes_answer(); }
  bool idle() const override { return open_streams_ == 0; }
  bool owes_answer() const override;
  std::size_t held_bytes() const override {
    // A body that grows allocates up to twice the memory that it needs.
    return 2 * buffered_bytes_ + output_memory_ + kept_bytes_ + open_streams_ * kOpenStreamBytes;
  }
  void shed(std::string& out) override;

 private:
  friend struct Http2Callbacks;
  friend struct Http2Stream;

  // Lifetime of a stream.
  Http2Stream* find_stream(std::int32_t id);
  Http2Stream* open_stream(std::int32_t id);
  void close_stream(Http2Stream& stream, std::uint32_t error_code);
  void release(Http2Stream& stream);
  static constexpr std::size_t kHeaderOverheadBytes = 32;  // as HTTP/2 counts a header
  // Resets a stream whose block of headers is not worth reading to its end.
  void give_up_headers(std::int32_t stream_id);
  void add_header(Http2Stream& stream, std::string_view name, std::string_view value);
  void begin_request(Http2Stream& stream);
  void add_data(Http2Stream& stream, std::string_view bytes);
  void end_request(Http2Stream& stream);
  bool has_room_for_answer() const;
  void handle_request(Http2Stream& stream);
  bool handle_waiting();
  void drop_body(Http2Stream& stream);
  void keep_bytes(Http2Stream& stream, std::size_t bytes);

  // Plain HTTP.
  void handle_http(Http2Stream& stream);
  void submit_http(Http2Stream& stream);
  void refuse(Http2Stream& stream, int status, std::string_view detail);

  // gRPC.
  void begin_grpc(Http2Stream& stream);
  void add_grpc_data(Http2Stream& stream);
  void add_streaming_data(Http2Stream& stream);
  void end_grpc(Http2Stream& stream);
  void handle_unary(Http2Stream& stream, std::string_view message);
  void open_streaming(Http2Stream& stream);
  bool unpack(Http2Stream& stream, bool compressed, std::string_view& message);
  bool make_grpc_context(Http2Stream& stream, GrpcContext& context);
  void send_unary(Http2Stream& stream);
  void pack_output(Http2Stream& stream);
  void send_message(Http2Stream& stream, std::string_view message);
  void wake_output(Http2Stream& stream);
  void submit_grpc_head(Http2Stream& stream);
  void submit_grpc_end(Http2Stream& stream, const GrpcStatus& status);
  void fail_grpc(Http2Stream& stream, GrpcCode code, std::string_view message);
  void submit_trailers(Http2Stream& stream);

  void submitted(Http2Stream& stream);
  void count_output(Http2Stream& stream, std::size_t bytes) {
    pending_output_bytes_ += bytes;
    settle_output(stream);
  }
  void count_sent(std::size_t bytes) { pending_output_bytes_ -= bytes; }
  void settle_output(Http2Stream& stream);
  void tick_stream(Http2Stream& stream);
  void tick_answered(Http2Stream& stream);
  void dismiss(Http2Stream& stream);
  void answer_sent(Http2Stream& stream);
  void reset(Http2Stream& stream, std::uint32_t error_code);
  void count_reset();
  void calm_down();
  void terminate(std::uint32_t error_code);
  void flush(std::string& out);

  SessionContext& context_;
  SessionHost& host_;
  const Peer& peer_;
  nghttp2_session* session_ = nullptr;
  Http2Stream* recent_ = nullptr;  // the stream whose frames were read or written last
  Http2Stream* in_headers_ = nullptr;
  std::size_t block_bytes_ = 0;     // of the headers or trailers that are being read
  Http2Stream* streams_ = nullptr;  // all open ones
  std::size_t open_streams_ = 0;
  std::size_t buffered_bytes_ = 0;        // of requests
  std::size_t pending_output_bytes_ = 0;  // of answers that nghttp2 has not fetched yet
  std::size_t output_memory_ = 0;         // of answers, with what was fetched and is not freed yet
  std::size_t kept_bytes_ = 0;            // heads, and bodies whose answers are deferred
  std::deque<std::int32_t> waiting_;      // streams whose requests wait for room; some may be closed
  std::string* out_ = nullptr;            // only while flushing
  std::string unpacked_;
  HeaderList decoded_metadata_;
  Http2Guard guard_;
  Http2FrameScan frame_scan_;
  std::int64_t idle_since_us_;
  std::int64_t goaway_at_us_ = 0;
  bool draining_ = false;
  bool goaway_sent_ = false;  // the last GOAWAY of a drain
  bool terminated_ = false;
  bool finished_ = false;
};

}  // namespace sluice::net
