// A folder that Primus wrote (sim/schedule/files/primus.h): which iteration to take, and its files.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

#include "model/base/json_reader.h"
#include "sim/schedule/files/primus.h"
#include "studies/schedule/file.h"

namespace stepcast::schedule {
namespace {

std::string file_in(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / name).string();
}

std::string rank_file(const std::string& folder, int rank) {
  return file_in(folder, fmt::format("pp_rank_{}.json", rank));
}

/// Those of a rank's file that have operations, ascending.
Expected<std::vector<int>> iterations_of(const std::string& text, const std::string& where) {
  JsonObject file(text, where);
  std::vector<int> iterations;
  for (const std::string& key : file.keys()) {
    int number = 0;
    const auto [end, problem] = std::from_chars(key.data(), key.data() + key.size(), number);
    const bool whole = problem == std::errc{} && end == key.data() + key.size();
    if (whole && file.type_of(key) == "object" && file.object(key).has("fwd_start")) iterations.push_back(number);
  }
  file.allow_unknown_keys();
  if (file.failed()) return tl::unexpected(*file.first_error());
  std::sort(iterations.begin(), iterations.end());
  return iterations;
}

/// "4 to 20", or "4, 7, 9" where some between are not there.
std::string listed(const std::vector<int>& numbers) {
  if (numbers.empty()) return "none";
  if (numbers.back() - numbers.front() + 1 == static_cast<int>(numbers.size()) && numbers.size() > 1)
    return fmt::format("{} to {}", numbers.front(), numbers.back());
  return fmt::format("{}", fmt::join(numbers, ", "));
}

std::vector<int> shared(const std::vector<int>& some, const std::vector<int>& others) {
  std::vector<int> both;
  std::set_intersection(some.begin(), some.end(), others.begin(), others.end(), std::back_inserter(both));
  return both;
}

Expected<int> choose_iteration(
    const std::string& folder, const std::vector<int>& there, const std::optional<int>& wanted) {
  if (there.empty())
    return fail(folder, "the ranks have no iteration in common", "pp_rank_<r>.json: iteration -> {fwd_start, ...}");
  if (!wanted) return there.back();
  if (std::binary_search(there.begin(), there.end(), *wanted)) return *wanted;
  return fail("--iteration", fmt::format("{} is not there on all ranks of {}", *wanted, folder), listed(there));
}

}  // namespace

bool is_primus_folder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(file_in(path, "config.json"), ignored);
}

Expected<ScheduleFile> read_primus_folder(const std::string& path, const ScheduleRequest& request) {
  const std::string config = file_in(path, "config.json");
  TRY(const auto config_text, read_text_file(config));
  TRY(const auto size, read_primus_config(config_text, config));
  std::vector<std::string> texts;
  std::vector<int> there;
  for (int rank = 0; rank < size.ranks; ++rank) {
    TRY(auto text, read_text_file(rank_file(path, rank)));
    TRY(const auto iterations, iterations_of(text, rank_file(path, rank)));
    there = rank == 0 ? iterations : shared(there, iterations);
    texts.push_back(std::move(text));
  }
  TRY(const auto iteration, choose_iteration(path, there, request.iteration));
  std::vector<PrimusRank> ranks;
  for (int rank = 0; rank < size.ranks; ++rank) {
    TRY(auto read, read_primus_rank(texts[rank], rank_file(path, rank), iteration));
    ranks.push_back(std::move(read));
  }
  TRY(auto timeline, primus_timeline(size, ranks));
  return ScheduleFile{.copies = {std::move(timeline.timed)},
      .has_durations = true,
      .in_seconds = true,
      .step = {.tail = {}, .measured = timeline.measured.value(), .on_first_rank = true},
      .notes = {fmt::format("iteration {}; all ranks have {}", iteration, listed(there))}};
}

}  // namespace stepcast::schedule
