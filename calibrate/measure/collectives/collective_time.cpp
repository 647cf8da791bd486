#include "calibrate/measure/collectives/collective_time.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stepcast::calibrate {
namespace {

/// Rather too slow than too fast, so that plans hold: NCCL on nvswitch reaches 250 to 700 GB/s at 7 to 30 us, PCIe
/// servers 1.4 to 39 GB/s (tables of aiconfigurator 095f58a: H100, B200, L40S, RTX PRO 6000), hosts 20 to 480 GB/s at
/// 30 to 160 us (published nccl-tests of 2 to 12 nodes).
struct GuessRow {
  std::string_view fabric;
  FabricGuess guess;
};
constexpr std::array guesses{GuessRow{"nvswitch", {Seconds(30e-6), BytesPerSecond(200e9)}},
    GuessRow{"nvlink_mesh", {Seconds(30e-6), BytesPerSecond(50e9)}},
    GuessRow{"pcie", {Seconds(40e-6), BytesPerSecond(5e9)}}, GuessRow{"", {Seconds(100e-6), BytesPerSecond(10e9)}}};

}  // namespace

FabricGuess fabric_guess(const std::string& fabric) {
  const auto* found =
      std::find_if(guesses.begin(), guesses.end(), [&](const GuessRow& row) { return row.fabric == fabric; });
  return found != guesses.end() ? found->guess : guesses.back().guess;
}

Seconds expected_time(const PlannedCollective& call) {
  const FabricGuess guess = fabric_guess(call.group.fabric);
  return guess.latency + received_of(query_of(call)) / guess.bus;
}

}  // namespace stepcast::calibrate
