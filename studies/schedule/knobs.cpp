// Flags of `stepcast schedule` that say how hops and ranks behave, and how long the search goes on.
#include <charconv>

#include <fmt/format.h>

#include "model/base/comma_list.h"
#include "studies/schedule/request.h"

namespace stepcast::schedule {
namespace {

const std::vector<std::string> hop_modes = {"overlapped", "blocking"};

Expected<void> read_hop_mode(const std::string& text, ScheduleRequest& request) {
  request.blocking_hops = text == "blocking";
  if (request.blocking_hops || text == "overlapped") return {};
  return fail("--p2p-mode", fmt::format("unknown mode '{}'", text.substr(0, 60)), name_hint(text, hop_modes));
}

// A rank a thousand times slower than another is a slip, not a pipeline.
constexpr double least_speed = 1e-3, most_speed = 1e3;

Expected<double> speed_of(const std::string& text) {
  double speed = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), speed);
  const bool number = problem == std::errc{} && end == text.data() + text.size();
  if (number && speed >= least_speed && speed <= most_speed) return speed;
  return fail("--rank-speed", fmt::format("'{}' is no speed", text.substr(0, 60)),
      fmt::format("{:g} to {:g}, divided by commas; 1: as the times say, 0.9: they take 1/0.9 as long", least_speed,
          most_speed));
}

std::string without_blanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

Expected<void> read_speeds(const std::string& list, ScheduleRequest& request) {
  for (const std::string& word : split_at_commas(without_blanks(list))) {
    TRY(const auto speed, speed_of(word));
    request.rank_slowdown.push_back(1 / speed);
  }
  return {};
}

}  // namespace

Expected<void> read_schedule_knobs(const Arguments& arguments, ScheduleRequest& request) {
  if (arguments.has("--p2p-mode")) TRY(read_hop_mode(arguments.value("--p2p-mode"), request));
  if (arguments.has("--rank-speed")) TRY(read_speeds(arguments.value("--rank-speed"), request));
  if (arguments.has("--rank-speed") && !arguments.has("--from")) TRY(check_speeds(request, request.size.ranks));
  if (!arguments.has("--effort")) return {};
  if (!arguments.has("--auto")) return fail("--effort", "is about the search of --auto", "add --auto, or leave it out");
  TRY(request.effort, parse_count(arguments.value("--effort"), "--effort", 0, most_schedule_effort));
  return {};
}

Expected<void> check_speeds(const ScheduleRequest& request, int ranks) {
  const std::size_t given = request.rank_slowdown.size();
  if (given == 0 || given == static_cast<std::size_t>(ranks)) return {};
  return fail("--rank-speed",
      fmt::format("{} speed{} for {} rank{}", given, given == 1 ? "" : "s", ranks, ranks == 1 ? "" : "s"),
      "one for each rank");
}

}  // namespace stepcast::schedule
