// Where the processes of one start of the program find each other and exchange a few bytes: process 0 listens, the
// others connect. Every process makes the same calls in the same order. A process that dies or never comes is named in
// the Error that all others get; nothing waits for ever. Linux, TCP; nothing is encrypted, so nothing secret is sent.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/process/launch_place.h"
#include "kernels/process/meeting_socket.h"
#include "model/base/error.h"
#include "model/base/units.h"

namespace stepcast::kernels {

struct Patience {
  Seconds meet{60};     ///< until all processes are there
  Seconds answer{120};  ///< until a call of all has come from the slowest: longer than what happens between two calls
};

class Rendezvous {
 public:
  /// One process alone meets nobody and needs no port. `place.job` keeps processes of other jobs out.
  static Expected<std::unique_ptr<Rendezvous>> meet(const LaunchPlace& place, const Patience& patience = {});

  /// What every process gave, in their order.
  Expected<std::vector<std::string>> all_gather(std::string_view mine);
  /// What process 0 gave.
  Expected<std::string> broadcast(std::string_view from_first);
  /// Returns once all have come here.
  Expected<void> barrier();

  [[nodiscard]] int process() const { return process_; }
  [[nodiscard]] int processes() const { return processes_; }

 private:
  Rendezvous(const LaunchPlace& place, const Patience& patience)
      : process_(place.process), processes_(place.processes), patience_(patience) {}
  Expected<void> wait_for_others(const LaunchPlace& place);
  Expected<void> go_to_first(const LaunchPlace& place);
  Expected<std::vector<std::string>> exchange(char call, std::string_view mine);
  Expected<std::vector<std::string>> gather_here(char call, std::string_view mine);
  void tell_all(char call, std::string_view bytes);

  int process_ = 0, processes_ = 1;
  Patience patience_;
  std::vector<MeetingSocket> others_;  ///< of process 0: by process, the first closed; elsewhere the one to process 0
  std::uint64_t calls_ = 0;            ///< so far: all must be at the same one
  bool broken_ = false;                ///< a call failed; what the sockets still hold belongs to no call
};

}  // namespace stepcast::kernels
