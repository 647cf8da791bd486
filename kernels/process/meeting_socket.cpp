#include "kernels/process/meeting_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include <fmt/format.h>

namespace stepcast::kernels {
namespace {

constexpr const char* closed = "closed";
/// What helps whatever went wrong between two hosts.
constexpr const char* reachable = "all processes run, and their hosts let each other in on this port";

tl::unexpected<Error> system_error(const char* call) { return fail(call, std::strerror(errno), reachable); }

/// Waits until the socket can be read or written. False: the deadline came first.
bool ready(int descriptor, short what, Deadline until) {
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()).count();
    if (left < 0) return false;
    pollfd waiting{descriptor, what, 0};
    constexpr long longest = 60'000;
    const int found = ::poll(&waiting, 1, static_cast<int>(std::min<long>(left + 1, longest)));
    if (found > 0) return true;
    if (found < 0 && errno != EINTR) return true;  // the read or write that follows says what is wrong
  }
}

bool of_loopback(const std::string& host) { return host == "127.0.0.1" || host == "localhost" || host == "::1"; }

void set_option(int descriptor, int level, int option, int value) {
  (void)::setsockopt(descriptor, level, option, &value, sizeof value);
}

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Expected<Addresses> addresses_of(const char* host, int port, int flags, int family) {
  addrinfo wanted{};
  wanted.ai_family = family;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = flags;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host, std::to_string(port).c_str(), &wanted, &found);
  if (status != 0)
    return fail(host == nullptr ? "getaddrinfo" : host, ::gai_strerror(status), "a host that getent hosts finds");
  return Addresses(found, &freeaddrinfo);
}

/// A descriptor of this address, not inherited by programs that this one starts, and never blocking.
MeetingSocket socket_of(const addrinfo& address) {
  return MeetingSocket(
      ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, address.ai_protocol));
}

Expected<void> connected(const MeetingSocket& socket, const addrinfo& address, Deadline until) {
  if (::connect(socket.descriptor(), address.ai_addr, address.ai_addrlen) == 0) return {};
  if (errno != EINPROGRESS) return system_error("connect");
  if (!ready(socket.descriptor(), POLLOUT, until)) return fail("connect", "no answer", reachable);
  int status = 0;
  socklen_t size = sizeof status;
  if (::getsockopt(socket.descriptor(), SOL_SOCKET, SO_ERROR, &status, &size) != 0) return system_error("getsockopt");
  if (status != 0) return fail("connect", std::strerror(status), reachable);
  return {};
}

}  // namespace

Deadline deadline_in(Seconds duration) {
  return std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                std::chrono::duration<double>(duration.value()));
}

MeetingSocket::~MeetingSocket() {
  if (descriptor_ >= 0) (void)::close(descriptor_);
}

Expected<MeetingSocket> MeetingSocket::listen_at(const std::string& host, int port) {
  const bool loopback = of_loopback(host);
  Error last{"socket", "no address to listen on", {}};
  // One IPv6 socket takes IPv4 too, where the host has IPv6 at all.
  const std::vector<int> families = loopback ? std::vector<int>{AF_INET} : std::vector<int>{AF_INET6, AF_INET};
  for (const int family : families) {
    const auto addresses = addresses_of(loopback ? "127.0.0.1" : nullptr, port, AI_PASSIVE, family);
    if (!addresses) {
      last = addresses.error();
      continue;
    }
    MeetingSocket socket = socket_of(**addresses);
    if (!socket.is_open()) {
      last = system_error("socket").value();
      continue;
    }
    set_option(socket.descriptor_, SOL_SOCKET, SO_REUSEADDR, 1);
    if (family == AF_INET6) set_option(socket.descriptor_, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    constexpr int backlog = 1024;
    if (::bind(socket.descriptor_, (*addresses)->ai_addr, (*addresses)->ai_addrlen) == 0 &&
        ::listen(socket.descriptor_, backlog) == 0)
      return socket;
    last = {fmt::format("{}:{}", host, port), std::strerror(errno),
        "another program has the port: set MASTER_PORT to one that is free"};
    if (errno == EADDRINUSE) break;
  }
  return tl::unexpected(std::move(last));
}

Expected<MeetingSocket> MeetingSocket::connect_to(const std::string& host, int port, Deadline until) {
  TRY(const auto addresses, addresses_of(host.c_str(), port, 0, AF_UNSPEC));
  Error last{host, "has no address", {}};
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    MeetingSocket socket = socket_of(*address);
    if (!socket.is_open()) continue;
    if (auto good = connected(socket, *address, until); !good) {
      last = std::move(good.error());
      continue;
    }
    set_option(socket.descriptor_, IPPROTO_TCP, TCP_NODELAY, 1);
    return socket;
  }
  return tl::unexpected(std::move(last));
}

MeetingSocket MeetingSocket::accept_one() const {
  MeetingSocket socket(::accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.is_open()) set_option(socket.descriptor_, IPPROTO_TCP, TCP_NODELAY, 1);
  return socket;
}

Expected<void> MeetingSocket::send_all(std::string_view bytes, Deadline until) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) {
      return fail("send", closed, reachable);
    } else if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) {
      return system_error("send");
    } else if (!ready(descriptor_, POLLOUT, until)) {
      return fail("send", "takes nothing in", reachable);
    }
  }
  return {};
}

Expected<std::string> MeetingSocket::receive_some(std::size_t bytes) const {
  std::string part(bytes, '\0');
  const ssize_t got = ::recv(descriptor_, part.data(), part.size(), 0);
  if (got == 0 || (got < 0 && errno == ECONNRESET)) return fail("recv", closed, reachable);
  if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return system_error("recv");
  part.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return part;
}

Expected<std::string> MeetingSocket::receive(std::size_t bytes, Deadline until) const {
  std::string all;
  while (all.size() < bytes) {
    // Parts of bounded size: a wrong length must not reserve memory before its bytes came.
    constexpr std::size_t most = 1 << 20;
    TRY(auto part, receive_some(std::min(most, bytes - all.size())));
    if (part.empty() && !ready(descriptor_, POLLIN, until)) return fail("recv", "sends nothing", reachable);
    all += part;
  }
  return all;
}

bool is_gone(const Error& error) { return error.what == closed; }

}  // namespace stepcast::kernels
