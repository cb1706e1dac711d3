#pragma once

#include <nghttp2/nghttp2.h>

#include <span>
#include <string>

namespace bench {

// The server's side of one HTTP/2 connection that answers every gRPC call with the same bytes, about as long
// as a real answer: bytes in, bytes out, no socket. Both loops run it, so that they differ in nothing else.
class ConstantSession {
 public:
  ConstantSession();
  ~ConstantSession() { nghttp2_session_del(session_); }
  ConstantSession(const ConstantSession&) = delete;
  ConstantSession& operator=(const ConstantSession&) = delete;

  // Appends to `out` what is to be sent. False: the connection is over.
  bool receive(std::span<const unsigned char> bytes, std::string& out);

 private:
  static int on_frame(nghttp2_session* session, const nghttp2_frame* frame, void* self);
  nghttp2_session* session_ = nullptr;
};

}  // namespace bench
