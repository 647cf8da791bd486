// A port of the loopback that nobody had a moment ago.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace stepcast::kernels {

inline int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const general = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(descriptor, general, size), 0);
  EXPECT_EQ(::getsockname(descriptor, general, &size), 0);
  ::close(descriptor);
  return ntohs(address.sin_port);
}

}  // namespace stepcast::kernels
