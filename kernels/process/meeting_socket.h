// TCP sockets with deadlines: every call returns by its deadline, with what came or with an Error. Linux.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "model/base/error.h"
#include "model/base/units.h"

namespace stepcast::kernels {

using Deadline = std::chrono::steady_clock::time_point;
Deadline deadline_in(Seconds duration);

class MeetingSocket {
 public:
  MeetingSocket() = default;
  explicit MeetingSocket(int descriptor) : descriptor_(descriptor) {}
  MeetingSocket(MeetingSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  MeetingSocket& operator=(MeetingSocket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~MeetingSocket();

  /// On every address of this host; on the loopback alone where `host` is one of its names.
  static Expected<MeetingSocket> listen_at(const std::string& host, int port);
  /// Tries every address of the host once.
  static Expected<MeetingSocket> connect_to(const std::string& host, int port, Deadline until);
  /// An open connection that waits, or one without descriptor where none does. Does not wait itself.
  [[nodiscard]] MeetingSocket accept_one() const;

  [[nodiscard]] Expected<void> send_all(std::string_view bytes, Deadline until) const;
  /// Exactly that many. Fails with an error that is_gone() where the other side is gone.
  [[nodiscard]] Expected<std::string> receive(std::size_t bytes, Deadline until) const;
  /// What has come so far, at most `bytes`; "" where nothing has. Fails as receive() does.
  [[nodiscard]] Expected<std::string> receive_some(std::size_t bytes) const;

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  [[nodiscard]] int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

/// Whether a call failed because the other side has closed the connection.
bool is_gone(const Error& error);

}  // namespace stepcast::kernels
