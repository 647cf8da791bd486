#include "studies/mixed/mixed_sweep.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>

#include <fmt/format.h>

#include "studies/cli/flag_values.h"
#include "studies/sweep/price/legality.h"
#include "studies/sweep/sweep_flags.h"
#include "studies/sweep/write/predict_line.h"

namespace stepcast::mixed {
namespace {

using sweep::AxisId, sweep::Digits, sweep::Space;

/// What is fast enough to be listed is settled between rounds of so many splits, so that it depends on no thread which
/// splits are given up, and the others are counted alike.
constexpr std::size_t splits_in_round = 32;

constexpr const char* both_orders = "tp-cp-dp-pp,tp-cp-pp-dp";

/// Where nobody says how layers lie they are dealt by speed, and any number of stages is legal.
bool lays_layers(const Arguments& arguments) { return arguments.has("--layout"); }

/// The split of a point, said; machine and GPUs are those of the shares.
Request request_at(const Space& space, const Arguments& arguments, const Digits& digits) {
  Request request = space.request;
  sweep::unsay_axes(request);
  request.machine.reset();
  for (const auto& [id, value] :
      {std::pair{FieldId::global_batch, space.global_batch}, std::pair{FieldId::sequence, space.sequence}})
    (void)request.say(field(id), std::to_string(value), std::string(field(id).flag));
  for (const sweep::AxisRow& row : sweep::axis_rows()) {
    const std::string& value = space.value(digits, row.id);
    const bool left_open = row.flag.empty() || value == row.axis.own_word;
    if (left_open || (row.id == AxisId::layout && !lays_layers(arguments))) continue;
    (void)request.say(row, value, std::string(row.flag));
  }
  return request;
}

std::vector<std::int64_t> dealt_of(const MixedRun& run) {
  std::vector<std::int64_t> dealt;
  for (const MixedKind& kind : run.kinds) dealt.push_back(run.by_stage ? run.layers_of(kind) : kind.micro_batches);
  return dealt;
}

/// Legal points of the space, and why the others are none.
Expected<std::vector<std::uint64_t>> legal_points(const Space& space, sweep::SpacePoints& points, MixedSweep& swept) {
  sweep::Legality legality(points);
  std::vector<std::uint64_t> legal;
  Digits before{};
  swept.configurations = space.size();
  for (std::uint64_t index = 0; index < space.size();) {
    const Digits digits = space.digits(index);
    std::size_t changed = 0;
    while (index > 0 && changed + 1 < digits.size() && digits[changed] == before[changed]) ++changed;
    const auto verdict = legality.ask(digits, static_cast<AxisId>(changed));
    before = digits;
    std::uint64_t step = 1;
    if (verdict.reason >= 0) {
      step = std::min(space.stride(verdict.axis) - index % space.stride(verdict.axis), space.size() - index);
      swept.dismissed[std::string(legality.reasons()[static_cast<std::size_t>(verdict.reason)])] += step;
    } else if (legal.size() == most_mixed_splits) {
      return fail("axes", fmt::format("more than {} splits are legal, and each is forecast", most_mixed_splits),
          "shorter lists: --tp 8 --pp 2,4,8 --micro-batch 1");
    } else {
      legal.push_back(index);
    }
    index += step;
  }
  return legal;
}

/// `work` of each of `count` numbers, on so many threads.
template <typename Work> void on_threads(std::size_t count, int threads, const Work& work) {
  std::atomic<std::size_t> next = 0;
  const auto run = [&] {
    for (std::size_t i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(run);
  run();
  for (std::thread& thread : others) thread.join();
}

/// The machine of a share as it would be if it had all GPUs.
Chosen<Machine> with_all_gpus(const MachineShare& share, std::int64_t gpus) {
  Chosen<Machine> machine = share.machine;
  std::int64_t& most = machine.row.levels.back().gpus;
  most = std::max(most, gpus);
  return machine;
}

/// The space was read on the first kind's machine, and the others must have its number types, too.
Expected<void> check_types(const Space& space, const MixedRequest& asked) {
  Request request = space.request;
  sweep::unsay_axes(request);
  request.unsay(FieldId::global_batch);  // plain data parallelism over all GPUs may not divide it
  TRY(request.say("gpus", std::to_string(asked.gpus()), asked.where));
  for (const MachineShare& share : asked.shares) {
    request.machine = with_all_gpus(share, asked.gpus());
    for (const std::string& type : space.values[static_cast<std::size_t>(AxisId::precision)]) {
      TRY(request.say("precision", type, "--precision"));
      TRY(resolve(request));
    }
  }
  return {};
}

/// The type that predict takes on the machine where nobody says one.
std::string usual_type(const MachineShare& share) {
  run::AxisContext context;
  context.machine = &share.machine.row;
  return sweep::row_of(AxisId::precision).axis.usual(context).front();
}

/// A line of predict leaves out what is usual on the first kind, and another kind may take another type there.
std::string type_words(const std::string& type, const MixedRequest& asked) {
  const bool usual_on_first = type == usual_type(asked.shares.front());
  const bool alike =
      std::ranges::all_of(asked.shares, [&](const MachineShare& share) { return usual_type(share) == type; });
  return usual_on_first && !alike ? " --precision " + type : "";
}

/// As the first kind's machine would be if it had all GPUs, so that splits are legal or not by their own rules.
Expected<Space> space_of(const Arguments& arguments, const MixedRequest& asked) {
  Arguments one = without_kinds(arguments);
  one.flags.insert_or_assign("--gpus", std::to_string(asked.gpus()));
  if (!lays_layers(arguments)) one.flags.insert_or_assign("--layout", "balanced");
  one.flags.try_emplace("--order", both_orders);
  TRY(auto space, sweep::read_space_on(with_all_gpus(asked.shares.front(), asked.gpus()), one));
  TRY(check_types(space, asked));
  return space;
}

Expected<void> check_sweep_flags(const Arguments& arguments) {
  for (const char* flag : {"--gpus", "--nodes", "--dp"})
    if (arguments.has(flag)) return fail(flag, "--machine says the GPUs of each kind", "leave it out");
  for (const char* flag : {"--profile", "--where", "--pareto", "--price", "--exhaustive", "--shard", "--resume",
           "--dry-run", "--output", "--force", "--snapshot", "--csv", "--emit", "--space"})
    if (arguments.has(flag))
      return fail(
          flag, "is of sweeps on one machine, and --machine names several", "leave it out, or --machine NAME --gpus N");
  if (arguments.has("--objective") && arguments.value("--objective") != "step_time")
    return fail("--objective", "on several kinds of machines the fastest step is looked for", "step_time");
  return {};
}

}  // namespace

Expected<MixedSweep> sweep_kinds(
    const sweep::Space& space, const Arguments& arguments, const MixedRequest& asked, int threads) {
  MixedSweep swept;
  TRY(auto points, sweep::SpacePoints::make(space));
  TRY(const auto legal, legal_points(space, points, swept));
  swept.legal = legal.size();
  Space printed = space;  // whose layout is not said
  if (!lays_layers(arguments)) printed.values[static_cast<std::size_t>(AxisId::layout)] = {"even"};
  const sweep::PredictLine line(arguments, printed, points);
  std::mutex mutex;
  std::multiset<double> fastest;  // as many as are listed
  const auto take = [&](std::uint64_t index, Seconds enough) {
    MixedRequest here = asked;
    here.request = request_at(space, arguments, space.digits(index));
    const auto run = forecast_mixed(here, enough);
    const std::scoped_lock lock(mutex);
    if (!run) {
      ++swept.refused;
      ++swept.dismissed[run.error().what];
    } else if (run->given_up) {
      ++swept.given_up;
    } else if (!run->fits()) {
      ++swept.does_not_fit;
    } else {
      swept.best.push_back({index, in_words(run->kinds.front().scenario), "", run->step_time, run->p10, run->p90,
          run->mfu, run->by_stage, dealt_of(*run)});
      fastest.insert(run->step_time.value());
      if (fastest.size() > space.top) fastest.erase(std::prev(fastest.end()));
    }
  };
  for (std::size_t done = 0; done < legal.size(); done += splits_in_round) {
    const Seconds enough = fastest.size() < space.top ? unbounded : Seconds(*fastest.rbegin());
    on_threads(
        std::min(splits_in_round, legal.size() - done), threads, [&](std::size_t i) { take(legal[done + i], enough); });
  }
  // Threads end in any order, and equal steps stand by their number.
  std::ranges::sort(swept.best,
      [](const MixedRow& a, const MixedRow& b) { return a.step != b.step ? a.step < b.step : a.index < b.index; });
  if (swept.best.size() > space.top) {
    swept.slower = swept.best.size() - space.top;
    swept.best.resize(space.top);
  }
  for (MixedRow& row : swept.best)
    row.command = line.of(row.index) + type_words(space.value(space.digits(row.index), AxisId::precision), asked);
  return swept;
}

Expected<void> sweep_command(const Arguments& arguments, Console& console) {
  TRY(const bool several, asks_for_kinds(arguments));
  if (!several) return sweep::sweep_command(arguments, console);
  TRY(check_sweep_flags(arguments));
  TRY(const auto asked, read_kinds(arguments));
  TRY(const auto space, space_of(arguments, asked));
  const int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  TRY(const auto swept,
      sweep_kinds(space, arguments, asked, static_cast<int>(cli::count_of(arguments, "--threads", threads))));
  console.out << (arguments.has("--json") ? mixed_sweep_json(swept, asked) : mixed_sweep_text(swept, asked, console));
  return {};
}

}  // namespace stepcast::mixed
