#include "kernels/process/rendezvous.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"

namespace stepcast::kernels {
namespace {

/// Numbers travel as 8 bytes, lowest first, whatever the machine.
void put(std::string& into, std::uint64_t value) {
  for (int byte = 0; byte < 8; ++byte) into += static_cast<char>(value >> (8 * byte) & 0xff);
}
std::uint64_t number_at(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t byte = 0; byte < 8; ++byte)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[at + byte])} << (8 * byte);
  return value;
}

// The first words of whoever connects: protocol, job (FNV-1a of its name), process, processes. Process 0 answers with
// the protocol's name and one letter.
constexpr std::string_view protocol = "stepcast meets 1";
constexpr std::size_t greeting_size = protocol.size() + 3 * 8;
constexpr char welcome = 'w', other_job = 'j', wrong_number = 'n', taken = 't';

std::string greeting_of(const LaunchPlace& place) {
  std::string text(protocol);
  for (const std::uint64_t value : {fnv1a(place.job), std::uint64_t(place.process), std::uint64_t(place.processes)})
    put(text, value);
  return text;
}

// A message: letter of the call, number of the call, length, bytes.
constexpr char gather_call = 'g', broadcast_call = 'b', barrier_call = 'w', failure = 'f';
constexpr std::size_t head_size = 1 + 2 * 8;
constexpr std::uint64_t longest_message = 1ULL << 30;

std::string message(char call, std::uint64_t number, std::string_view bytes) {
  std::string text(1, call);
  put(text, number);
  put(text, bytes.size());
  return text.append(bytes);
}

struct Message {
  char call = 0;
  std::uint64_t number = 0;
  std::string bytes;
};

Expected<Message> receive_message(const MeetingSocket& socket, Deadline until) {
  TRY(auto head, socket.receive(head_size, until));
  const std::uint64_t length = number_at(head, 9);
  if (length > longest_message)
    return fail("recv", fmt::format("a message of {} bytes", length), "the same version of the program on every host");
  TRY(auto bytes, socket.receive(length, until));
  return Message{head.front(), number_at(head, 1), std::move(bytes)};
}

Error lost(int process, const Error& cause) {
  const bool gone = is_gone(cause);
  return {fmt::format("process {}", process),
      gone ? std::string("ended before the others") : fmt::format("does not answer: {}", cause.what),
      gone ? "its own output says why" : "it hangs, or its host cannot be reached"};
}

/// Parts of what all gave, each after its length.
std::string packed(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) {
    put(text, part.size());
    text += part;
  }
  return text;
}
std::vector<std::string> unpacked(std::string_view text) {
  std::vector<std::string> parts;
  while (text.size() >= 8) {
    const std::size_t length = std::min<std::size_t>(number_at(text, 0), text.size() - 8);
    parts.emplace_back(text.substr(8, length));
    text.remove_prefix(8 + length);
  }
  return parts;
}

/// Somebody who connected and has not said all of the first words yet.
struct Visitor {
  MeetingSocket socket;
  std::string said;
};

/// The visitor's process where it belongs here; else the answer that sends it away.
struct Judged {
  int process = 0;
  char answer = welcome;
};
Judged judged(std::string_view said, const LaunchPlace& place, const std::vector<MeetingSocket>& known) {
  if (number_at(said, protocol.size()) != fnv1a(place.job)) return {0, other_job};
  const std::uint64_t process = number_at(said, protocol.size() + 8);
  if (number_at(said, protocol.size() + 16) != std::uint64_t(place.processes) || process == 0 ||
      process >= known.size())
    return {0, wrong_number};
  return {static_cast<int>(process), known[process].is_open() ? taken : welcome};
}

Error missing(const std::vector<MeetingSocket>& known, Seconds waited) {
  std::vector<std::size_t> absent;
  for (std::size_t process = 1; process < known.size(); ++process)
    if (!known[process].is_open()) absent.push_back(process);
  constexpr std::size_t most_named = 8;
  const std::size_t count = absent.size();
  absent.resize(std::min(count, most_named));
  return {fmt::format("process {}{}", fmt::join(absent, ", "), count > most_named ? ", ..." : ""),
      fmt::format("{} of {} processes did not come within {} s", count, known.size(), waited.value()),
      "their own output says why; MASTER_ADDR and MASTER_PORT must lead all of them to the host of process 0"};
}

}  // namespace

Expected<std::unique_ptr<Rendezvous>> Rendezvous::meet(const LaunchPlace& place, const Patience& patience) {
  std::unique_ptr<Rendezvous> here(new Rendezvous(place, patience));
  if (place.processes == 1) return here;
  TRY(place.process == 0 ? here->wait_for_others(place) : here->go_to_first(place));
  // Nobody goes on before all are there.
  TRY(here->barrier());
  return here;
}

Expected<void> Rendezvous::wait_for_others(const LaunchPlace& place) {
  TRY(auto door, MeetingSocket::listen_at(place.meet_host, place.meet_port));
  others_.resize(static_cast<std::size_t>(processes_));
  std::vector<Visitor> visitors;
  const Deadline until = deadline_in(patience_.meet);
  for (int there = 1; there < processes_;) {
    if (std::chrono::steady_clock::now() >= until) {
      const Error error = missing(others_, patience_.meet);
      tell_all(failure, to_text(error));
      return tl::unexpected(error);
    }
    std::vector<pollfd> waiting{{door.descriptor(), POLLIN, 0}};
    for (const Visitor& visitor : visitors) waiting.push_back({visitor.socket.descriptor(), POLLIN, 0});
    constexpr int look_again_ms = 50;
    if (::poll(waiting.data(), waiting.size(), look_again_ms) <= 0) continue;
    for (MeetingSocket socket = door.accept_one(); socket.is_open(); socket = door.accept_one())
      visitors.push_back({std::move(socket), {}});
    std::vector<Visitor> still;
    for (Visitor& visitor : visitors) {
      const auto part = visitor.socket.receive_some(greeting_size - visitor.said.size());
      if (!part) continue;  // gone again, or broken: a scanner, a process that died while it connected
      visitor.said += *part;
      // A stranger is left standing as soon as its words differ.
      if (visitor.said.substr(0, protocol.size()) != protocol.substr(0, visitor.said.size())) continue;
      if (visitor.said.size() < greeting_size) {
        still.push_back(std::move(visitor));
        continue;
      }
      const Judged who = judged(visitor.said, place, others_);
      const auto answered = visitor.socket.send_all(std::string(protocol) + who.answer, deadline_in(Seconds(1)));
      if (who.answer != welcome || !answered) continue;
      others_[static_cast<std::size_t>(who.process)] = std::move(visitor.socket);
      ++there;
    }
    visitors = std::move(still);
  }
  return {};
}

Expected<void> Rendezvous::go_to_first(const LaunchPlace& place) {
  const std::string door = fmt::format("{}:{}", place.meet_host, place.meet_port);
  const Deadline until = deadline_in(patience_.meet);
  Error last;
  do {
    auto socket = MeetingSocket::connect_to(place.meet_host, place.meet_port, until);
    if (!socket) {
      last = std::move(socket.error());
    } else if (!socket->send_all(greeting_of(place), until)) {
      last = {door, "closed the connection", {}};
    } else if (auto answer = socket->receive(protocol.size() + 1, until); !answer) {
      // A connection that is closed without an answer may be the port's previous owner on its way out: try again.
      last = {door, is_gone(answer.error()) ? "closed the connection without an answer" : "does not answer", {}};
    } else if (answer->substr(0, protocol.size()) != protocol) {
      return fail(
          door, "another program listens there", "set MASTER_PORT to a port that is free on the host of process 0");
    } else if (answer->back() == other_job) {
      return fail(door, "another job of stepcast listens there", "set MASTER_PORT to a port of its own for each job");
    } else if (answer->back() != welcome) {
      return fail(door,
          fmt::format("process 0 does not expect process {} of {}{}", process_, processes_,
              answer->back() == taken ? ": it is there already" : ""),
          "all processes must be started together, with the same variables");
    } else {
      others_.push_back(std::move(*socket));
      return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  } while (std::chrono::steady_clock::now() < until);
  return fail("process 0", fmt::format("not reached at {} within {} s: {}", door, patience_.meet.value(), last.what),
      "MASTER_ADDR and MASTER_PORT say where it is; a firewall between the hosts may be in the way");
}

void Rendezvous::tell_all(char call, std::string_view bytes) {
  const std::string text = message(call, calls_, bytes);
  for (const MeetingSocket& socket : others_)
    if (socket.is_open()) (void)socket.send_all(text, deadline_in(Seconds(1)));
}

Expected<std::vector<std::string>> Rendezvous::gather_here(char call, std::string_view mine) {
  const Deadline until = deadline_in(patience_.answer);
  std::vector<std::string> parts{std::string(mine)};
  for (int process = 1; process < processes_; ++process) {
    auto came = receive_message(others_[static_cast<std::size_t>(process)], until);
    Error error;
    if (!came) {
      error = lost(process, came.error());
    } else if (came->call != call || came->number != calls_) {
      error = {fmt::format("process {}", process), "is at another call than process 0",
          "all processes must run the same command on the same files"};
    } else {
      parts.push_back(std::move(came->bytes));
      continue;
    }
    tell_all(failure, to_text(error));
    return tl::unexpected(std::move(error));
  }
  const std::string answer =
      message(call, calls_, packed(call == broadcast_call ? std::vector<std::string>{parts.front()} : parts));
  for (int process = 1; process < processes_; ++process) {
    // Who is gone by now is found by the next call, which the others can be told of.
    (void)others_[static_cast<std::size_t>(process)].send_all(answer, until);
  }
  return parts;
}

Expected<std::vector<std::string>> Rendezvous::exchange(char call, std::string_view mine) {
  if (processes_ == 1) return std::vector<std::string>{std::string(mine)};
  if (broken_) return fail("processes", "are no longer in step: an earlier call failed", "start again");
  ++calls_;
  broken_ = true;
  if (process_ == 0) {
    auto parts = gather_here(call, mine);
    broken_ = !parts;
    return parts;
  }
  const MeetingSocket& first = others_.front();
  // Process 0 may itself wait for the slowest, and tells then: a little longer than its own patience.
  const Deadline until = deadline_in(patience_.answer + Seconds(5));
  if (auto sent = first.send_all(message(call, calls_, mine), until); !sent && !is_gone(sent.error()))
    return tl::unexpected(lost(0, sent.error()));
  auto came = receive_message(first, until);
  if (!came) return tl::unexpected(lost(0, came.error()));
  if (came->call == failure) return fail("process 0", "says: " + came->bytes, "what process 0 printed says more");
  if (came->call != call || came->number != calls_)
    return fail("process 0", "is at another call", "all processes must run the same command on the same files");
  broken_ = false;
  return unpacked(came->bytes);
}

Expected<std::vector<std::string>> Rendezvous::all_gather(std::string_view mine) { return exchange(gather_call, mine); }

Expected<std::string> Rendezvous::broadcast(std::string_view from_first) {
  TRY(auto parts, exchange(broadcast_call, process_ == 0 ? from_first : std::string_view{}));
  return std::move(parts.front());
}

Expected<void> Rendezvous::barrier() {
  TRY(exchange(barrier_call, {}));
  return {};
}

}  // namespace stepcast::kernels
