#include "calibrate/import/nccl/nccl_text.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/library/library_version.h"

namespace stepcast::calibrate::nccl {
namespace {

std::int64_t count_of(std::string_view word) {
  std::int64_t value = 0;
  constexpr std::size_t most_digits = 15;
  if (is_count(word) && word.size() <= most_digits) std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

/// The word after `name`; "" where there is none.
std::string_view after(const Words& words, std::string_view name) {
  const auto at = std::find(words.begin(), words.end(), name);
  return at == words.end() || std::next(at) == words.end() ? std::string_view() : *std::next(at);
}

/// Bounded, so that sums and products of hostile headers stay small.
int small_count(std::string_view word) { return static_cast<int>(std::min<std::int64_t>(count_of(word), 1 << 20)); }

void read_header(const Words& words, Run& run) {
  run.threads = small_count(after(words, "nThread"));
  run.gpus = small_count(after(words, "nGpus"));
  run.least_bytes = static_cast<double>(count_of(after(words, "minBytes")));
  run.most_bytes = static_cast<double>(count_of(after(words, "maxBytes")));
  run.graph = count_of(after(words, "graph:")) > 0;
  for (auto at = words.begin(); at != words.end(); ++at)
    if (*at == "iters:" && std::next(at) != words.end() && (at == words.begin() || *std::prev(at) != "warmup"))
      if (*std::prev(at) != "agg") run.iterations = small_count(*std::next(at));
}

/// "# Rank 0 [Group 0] Pid 2114 on host device 0 [0000:8f:00] NVIDIA B200".
void read_device(const Words& words, Run& run) {
  const auto rank = after(words, "Rank"), host = after(words, "on"), device = after(words, "device");
  const auto bus =
      std::find_if(words.begin(), words.end(), [](std::string_view word) { return word.starts_with('['); });
  const auto bus_end = std::find_if(bus, words.end(), [](std::string_view word) { return word.ends_with(']'); });
  if (!is_count(rank) || !is_count(device) || host.empty() || bus_end == words.end()) return;
  const auto name_end = std::find(std::next(bus_end), words.end(), "NCCL");
  Device line{small_count(rank), small_count(device), std::string(host), {}};
  line.name = fmt::format("{}", fmt::join(std::next(bus_end), name_end, " "));
  run.devices.push_back(std::move(line));
}

/// "nccl-tests version 2.17.4 nccl-headers=22809 nccl-library=22809".
void read_versions(const Words& words, Run& run) {
  run.context.software = fmt::format("nccl-tests {}", after(words, "version"));
  constexpr std::string_view library = "nccl-library=";
  for (const std::string_view word : words)
    if (word.starts_with(library)) take_library_version(count_of(word.substr(library.size())), run);
}

/// "NCCL version 2.26.6+cuda12.8".
void read_library(std::string_view word, Run& run) {
  if (word.empty() || word[0] < '0' || word[0] > '9') return;
  const auto plus = word.find("+cuda");
  run.context.nccl = word.substr(0, plus);
  if (plus != word.npos) run.context.cuda = word.substr(plus + 5);
}

/// "NCCL_ALGO set by environment to Ring", "NCCL_ALGO=Ring": what was not NCCL's own choice.
void read_forced(const Words& words, Run& run) {
  for (std::size_t i = 0; i < words.size(); ++i)
    for (const std::string_view name : {"NCCL_ALGO", "NCCL_PROTO"}) {
      if (!words[i].starts_with(name)) continue;
      std::string text(words[i]);
      if (words[i] == name && i + 5 < words.size() && words[i + 1] == "set" && words[i + 4] == "to")
        text = fmt::format("{}={}", name, words[i + 5]);
      if (text.back() == '.') text.pop_back();
      const bool known = std::find(run.forced.begin(), run.forced.end(), text) != run.forced.end();
      if (text.find('=') != text.npos && text.size() < 80 && !known) run.forced.push_back(text);
    }
}

bool has(const Words& words, std::string_view name) {
  return std::find(words.begin(), words.end(), name) != words.end();
}

}  // namespace

void read_about(const Words& words, Run& run, bool& begins) {
  begins = has(words, "nThread") || has(words, "nccl-tests") || has(words, "starting:") || has(words, "Rank");
  if (has(words, "nThread") && has(words, "nGpus")) read_header(words, run);
  else if (has(words, "Rank") && has(words, "device")) read_device(words, run);
  else if (has(words, "nccl-tests") && has(words, "version")) read_versions(words, run);
  else if (has(words, "Collective") && has(words, "starting:")) run.program = after(words, "starting:");
  else if (has(words, "NCCL") && has(words, "version")) read_library(after(words, "version"), run);
  else if (has(words, "bounds") && has(words, "values")) run.out_of_bounds = count_of(after(words, ":"));
  else begins = false;
  read_forced(words, run);
}

void take_library_version(std::int64_t code, Run& run) { run.context.nccl = code > 0 ? nccl_version_text(code) : ""; }

void read_date(const Words& words, Run& run) {
  if (!run.context.date.empty()) return;
  for (std::string_view word : words) {
    if (word.starts_with('[')) word.remove_prefix(1);
    const std::string_view day = word.substr(0, 10);
    const bool date = day.size() == 10 && day[4] == '-' && day[7] == '-' && is_count(day.substr(0, 4)) &&
                      is_count(day.substr(5, 2)) && is_count(day.substr(8, 2)) &&
                      (word.size() == 10 || !is_count(word.substr(10, 1)));
    if (date) return void(run.context.date = day);
  }
}

}  // namespace stepcast::calibrate::nccl
