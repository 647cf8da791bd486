#include "studies/mixed/shares.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "model/base/whole_number.h"
#include "model/base/comma_list.h"

namespace stepcast::mixed {
namespace {

constexpr const char* as_written = "dgx-h100:64,dgx-a100:64, GPUs of each";

}  // namespace

bool names_shares(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  return text.find(',') != text.npos || (colon != text.npos && colon + 1 < text.size() &&
                                            std::all_of(text.begin() + static_cast<std::ptrdiff_t>(colon) + 1,
                                                text.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

Expected<void> check_share_of_machine(const MachineShare& share, const std::string& where) {
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

Expected<std::vector<MachineShare>> parse_shares(const std::string& text, const std::string& where) {
  constexpr std::int64_t most_gpus = 10'000'000;
  std::vector<MachineShare> shares;
  for (const std::string& word : comma_list(text)) {
    const std::size_t colon = word.rfind(':');
    if (colon == word.npos || colon == 0)
      return fail(where, fmt::format("'{:.60}' does not say how many GPUs of which machine", word), as_written);
    MachineShare share;
    share.name = word.substr(0, colon);
    TRY(share.machine, choose_machine(share.name, where));
    TRY(share.gpus, parse_count(word.substr(colon + 1), where, 1, most_gpus));
    TRY(check_share_of_machine(share, where));
    shares.push_back(std::move(share));
  }
  return shares;
}

Expected<std::vector<double>> numbers_of_shares(const std::string& text, const std::vector<MachineShare>& shares,
    const std::string& where, double low, double high) {
  std::map<std::string, double> by_name;
  for (const std::string& word : comma_list(text)) {
    const std::size_t equals = word.find('=');
    const std::string name = equals == word.npos ? "" : word.substr(0, equals);
    const auto number = parsed_number<double>(equals == word.npos ? word : word.substr(equals + 1));
    if (!number || !(*number >= low && *number <= high))
      return fail(where, fmt::format("'{:.60}' is no number of a machine from {:g} to {:g}", word, low, high),
          fmt::format("{}={:g}, or one number for all", shares.front().name, std::max(low, 1.0)));
    if (!by_name.emplace(name, *number).second)
      return fail(where, fmt::format("'{:.60}' is the second number of its machine", word), "one for each machine");
  }
  if (by_name.size() == 1 && by_name.begin()->first.empty())
    return std::vector<double>(shares.size(), by_name.begin()->second);
  std::vector<double> numbers;
  for (const MachineShare& share : shares) {
    const auto own = by_name.find(share.name);
    if (own == by_name.end())
      return fail(where, fmt::format("{} has none", share.name), fmt::format("{}=NUMBER for each", share.name));
    numbers.push_back(own->second);
  }
  std::string names;
  for (const MachineShare& share : shares) names += (names.empty() ? "" : ", ") + share.name;
  for (const auto& [name, number] : by_name)
    if (std::ranges::find(shares, name, &MachineShare::name) == shares.end())
      return fail(where, fmt::format("'{:.60}' is not among the machines", name), "names as in --machine: " + names);
  return numbers;
}

Expected<BetweenKinds> parse_between(const std::string& text, const std::string& where) {
  BetweenKinds between;
  const std::size_t comma = text.find(',');
  TRY(between.rate, parse_quantity<BytesPerSecond>(text.substr(0, comma), where));
  if (comma == text.npos) return between;
  TRY(between.latency, parse_quantity<Seconds>(text.substr(comma + 1), where));
  return between;
}

std::string ids_of(const std::vector<MachineShare>& shares) {
  std::string ids;
  for (const MachineShare& share : shares)
    ids += fmt::format("{}{}:{}", ids.empty() ? "" : ",", share.machine.row.id, share.gpus);
  return ids;
}

std::string to_text(const std::vector<MachineShare>& shares) {
  std::string text;
  for (const MachineShare& share : shares)
    text += fmt::format(
        "{}{} x {} ({})", text.empty() ? "" : " + ", share.gpus, share.machine.row.gpu.name, share.machine.row.name);
  return text;
}

}  // namespace stepcast::mixed
