#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/grpc/grpc_text.h"
#include "net/http2/http2_session.h"
#include "net/testing/application.h"

namespace sluice::net {

// An HTTP/2 client in memory, connected to a server session. For tests.
class Http2TestClient final : public SessionHost {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  struct Answer {
    Headers headers;  // trailers included
    std::string body;
    bool closed = false;
    std::uint32_t error_code = 0;

    std::string header(std::string_view name) const {
      for (const auto& [key, value] : headers)
        if (key == name) return value;
      return "(none)";
    }
    int status() const { return std::atoi(header(":status").c_str()); }
    std::string grpc_status() const { return header("grpc-status"); }
    // The messages of a gRPC answer, one after the other.
    std::vector<std::string> messages() const {
      std::vector<std::string> found;
      for (std::string_view rest = body; rest.size() >= kGrpcPrefixBytes;) {
        const std::size_t length = read_grpc_prefix(rest)->length;
        found.emplace_back(rest.substr(kGrpcPrefixBytes, length));
        rest.remove_prefix(kGrpcPrefixBytes + length);
      }
      return found;
    }
  };

  // A small window makes the server wait for the client.
  explicit Http2TestClient(SessionContext& context, std::uint32_t window_bytes = 65'535)
      : session(context, *this, kTestPeer) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_option* options = nullptr;
    nghttp2_option_new(&options);
    nghttp2_option_set_no_auto_window_update(options, 1);
    nghttp2_option_set_max_send_header_block_length(options, 1u << 20);
    nghttp2_session_client_new2(&client, callbacks, this, options);
    nghttp2_option_del(options);
    nghttp2_session_callbacks_del(callbacks);
    const nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window_bytes};
    nghttp2_submit_settings(client, NGHTTP2_FLAG_NONE, &window, 1);
  }
  ~Http2TestClient() { nghttp2_session_del(client); }

  void output_ready() override { ready = true; }

  // Sends a request; END_STREAM at its end unless `open`.
  std::int32_t request(const Headers& headers, std::string body, bool open = false) {
    std::vector<nghttp2_nv> list;
    for (const auto& [name, value] : headers) list.push_back(nv(name, value));
    Upload* upload = uploads_.emplace_back(new Upload{std::move(body), 0, !open}).get();
    nghttp2_data_provider provider{};
    provider.source.ptr = upload;
    provider.read_callback = read_upload;
    const std::int32_t id =
        nghttp2_submit_request(client, nullptr, list.data(), list.size(), &provider, nullptr);
    upload->id = id;
    return id;
  }
  std::int32_t call(const std::string& path, std::string_view message, const Headers& more = {},
                    bool open = false) {
    Headers headers = grpc_headers(path);
    headers.insert(headers.end(), more.begin(), more.end());
    return request(headers, framed(message), open);
  }
  // More of the body of an open request.
  void upload(std::int32_t id, std::string_view bytes, bool end) {
    for (const auto& upload : uploads_) {
      if (upload->id != id) continue;
      upload->body.append(bytes);
      upload->ends = end;
      nghttp2_session_resume_data(client, id);
    }
  }

  // Exchanges bytes until neither side has more to send.
  void run() {
    while (true) {
      std::string to_server;
      const std::uint8_t* data = nullptr;
      for (ssize_t bytes; (bytes = nghttp2_session_mem_send(client, &data)) > 0;)
        to_server.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(bytes));
      std::string to_client;
      if (!to_server.empty()) session.receive({to_server.data(), to_server.size()}, to_client);
      session.resume(to_client);
      ready = false;
      if (to_client.empty() && to_server.empty()) return;
      deliver(to_client);
    }
  }
  void deliver(std::string_view bytes) {
    look_for_goaway(bytes);
    nghttp2_session_mem_recv(client, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  // Sends raw bytes to the server, bypassing the client's own state.
  void inject(std::string bytes) {
    std::string out;
    session.receive({bytes.data(), bytes.size()}, out);
    deliver(out);
  }

  static Headers grpc_headers(const std::string& path) {
    return {{":method", "POST"},
            {":scheme", "http"},
            {":path", path},
            {":authority", "test"},
            {"content-type", "application/grpc"},
            {"te", "trailers"}};
  }
  static Headers http_headers(const std::string& method, const std::string& path) {
    return {{":method", method}, {":scheme", "http"}, {":path", path}, {":authority", "test"}};
  }
  static std::string framed(std::string_view message, bool compressed = false) {
    std::string bytes(kGrpcPrefixBytes, '\0');
    write_grpc_prefix(bytes.data(), {compressed, static_cast<std::uint32_t>(message.size())});
    return bytes.append(message);
  }
  static std::string frame(std::uint8_t type, std::uint8_t flags, std::uint32_t stream_id,
                           std::string_view payload) {
    const auto byte = [](std::size_t value, int shift) { return static_cast<char>(value >> shift & 0xff); };
    std::string bytes = {byte(payload.size(), 16), byte(payload.size(), 8),  byte(payload.size(), 0),
                         static_cast<char>(type),  static_cast<char>(flags), byte(stream_id, 24),
                         byte(stream_id, 16),      byte(stream_id, 8),       byte(stream_id, 0)};
    return bytes.append(payload);
  }

  Http2Session session;
  nghttp2_session* client = nullptr;
  std::map<std::int32_t, Answer> answers;
  std::uint32_t goaway_code = ~0u;  // of the last GOAWAY
  int goaways = 0;
  int pings_answered = 0;
  bool ready = false;

 private:
  struct Upload {
    std::string body;
    std::size_t sent;
    bool ends;
    std::int32_t id = 0;
  };

  // Parsed here and not by nghttp2, which stops processing when a test sends it answers that it did not
  // request.
  void look_for_goaway(std::string_view frames) {
    const auto number = [&](std::size_t at, std::size_t bytes) {
      std::uint32_t value = 0;
      for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | static_cast<unsigned char>(frames[at + i]);
      return value;
    };
    for (; !frames.empty(); frames.remove_prefix(9 + number(0, 3))) {
      if (frames[3] != NGHTTP2_GOAWAY) continue;
      goaway_code = number(13, 4);
      ++goaways;
    }
  }
  static nghttp2_nv nv(const std::string& name, const std::string& value) {
    const auto bytes = [](const std::string& text) {
      return const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(text.data()));
    };
    return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
  }
  static Http2TestClient& self(void* user) { return *static_cast<Http2TestClient*>(user); }

  static ssize_t read_upload(nghttp2_session*, std::int32_t, std::uint8_t* buffer, std::size_t room,
                             std::uint32_t* flags, nghttp2_data_source* source, void*) {
    Upload& upload = *static_cast<Upload*>(source->ptr);
    const std::size_t bytes = upload.body.copy(reinterpret_cast<char*>(buffer), room, upload.sent);
    upload.sent += bytes;
    const bool all = upload.sent == upload.body.size();
    if (all && upload.ends) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return bytes == 0 && !upload.ends ? ssize_t{NGHTTP2_ERR_DEFERRED} : static_cast<ssize_t>(bytes);
  }
  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                       std::size_t name_bytes, const std::uint8_t* value, std::size_t value_bytes,
                       std::uint8_t, void* user) {
    self(user).answers[frame->hd.stream_id].headers.emplace_back(
        std::string(reinterpret_cast<const char*>(name), name_bytes),
        std::string(reinterpret_cast<const char*>(value), value_bytes));
    return 0;
  }
  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data,
                     std::size_t bytes, void* user) {
    self(user).answers[id].body.append(reinterpret_cast<const char*>(data), bytes);
    return 0;
  }
  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t error_code, void* user) {
    self(user).answers[id].closed = true;
    self(user).answers[id].error_code = error_code;
    return 0;
  }
  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK)) ++self(user).pings_answered;
    return 0;
  }

  std::vector<std::unique_ptr<Upload>> uploads_;
};

}  // namespace sluice::net
