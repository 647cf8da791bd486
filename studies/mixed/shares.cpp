#include "studies/mixed/shares.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "model/base/whole_number.h"

namespace stepcast::mixed {
namespace {

constexpr const char* as_written = "dgx-h100:64,dgx-a100:64, GPUs of each";

Expected<void> check_share(const MachineShare& share, const std::string& where) {
  const Machine& machine = share.machine.row;
  const std::int64_t node = machine.levels.front().gpus, most = machine.max_gpus();
  if (share.gpus > most)
    return fail(where, fmt::format("{} GPUs, but {} has at most {}", share.gpus, machine.name, most),
        fmt::format("{}:{}", machine.id, most));
  if (share.gpus < node || share.gpus % node == 0) return {};
  return fail(where,
      fmt::format(
          "{} GPUs of {} do not fill their last {} of {}", share.gpus, machine.name, machine.levels.front().name, node),
      fmt::format("{} or {}", share.gpus / node * node, (share.gpus / node + 1) * node));
}

}  // namespace

bool names_shares(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  return text.find(',') != text.npos || (colon != text.npos && colon + 1 < text.size() &&
                                            std::all_of(text.begin() + static_cast<std::ptrdiff_t>(colon) + 1,
                                                text.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

Expected<std::vector<MachineShare>> parse_shares(const std::string& text, const std::string& where) {
  constexpr std::int64_t most_gpus = 10'000'000;
  std::vector<MachineShare> shares;
  std::istringstream words(text + ',');
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t colon = word.rfind(':');
    if (colon == word.npos || colon == 0)
      return fail(where, fmt::format("'{:.60}' does not say how many GPUs of which machine", word), as_written);
    MachineShare share;
    TRY(share.machine, choose_machine(word.substr(0, colon), where));
    TRY(share.gpus, parse_count(word.substr(colon + 1), where, 1, most_gpus));
    TRY(check_share(share, where));
    shares.push_back(std::move(share));
  }
  return shares;
}

Expected<BetweenKinds> parse_between(const std::string& text, const std::string& where) {
  BetweenKinds between;
  const std::size_t comma = text.find(',');
  TRY(between.rate, parse_quantity<BytesPerSecond>(text.substr(0, comma), where));
  if (comma == text.npos) return between;
  TRY(between.latency, parse_quantity<Seconds>(text.substr(comma + 1), where));
  return between;
}

std::string to_text(const std::vector<MachineShare>& shares) {
  std::string text;
  for (const MachineShare& share : shares)
    text += fmt::format(
        "{}{} x {} ({})", text.empty() ? "" : " + ", share.gpus, share.machine.row.gpu.name, share.machine.row.name);
  return text;
}

}  // namespace stepcast::mixed
