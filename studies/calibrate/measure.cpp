// stepcast calibrate measure: the GPU of this machine timed by a plan, as a file of measurements and a profile fitted
// on it.
#include <algorithm>
#include <ctime>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "calibrate/rows/device_name.h"
#include "calibrate/measure/collectives/collective_campaign.h"
#include "calibrate/measure/campaign.h"
#include "calibrate/rows/measurement_file.h"
#include "calibrate/verdict/verdict.h"
#include "model/errors/error_context.h"
#include "model/catalog.h"
#include "model/base/json_reader.h"
#include "studies/calibrate/calibrate.h"
#include "studies/calibrate/fit_start.h"
#include "studies/cli/interrupt.h"
#include "studies/calibrate/measure_settings.h"
#include "studies/cli/output_file.h"
#include "studies/calibrate/print/calibrate_report.h"
#include "studies/calibrate/print/measure_report.h"
#include "studies/cli/progress_line.h"

namespace stepcast::calibration {
namespace {

/// What a GPU's own figures leave of the budget where there are collectives to time as well.
constexpr double share_of_collectives = 0.25;
constexpr std::string_view collectives_phase = "collectives";

/// The card, and its row of the catalogue: the plan counts with datasheet rates.
struct MeasuredGpu {
  DeviceInfo device;
  const Gpu* gpu = nullptr;
  std::size_t on_host = 0;  ///< 0: not here, only planned for
};

Expected<const Gpu*> catalogue_gpu(const std::string& id) {
  const auto row = find_row(built_in().gpus, id, "gpu");
  if (!row) return tl::unexpected(with_more_hint(error_at("--gpu", row.error()), "stepcast list gpus shows all"));
  return *row;
}

/// A dry run plans for any GPU of the catalogue, here or not.
Expected<MeasuredGpu> planned_gpu(const MeasureSettings& settings, const Error& none_here) {
  if (settings.gpu.empty())
    return fail(none_here.where, none_here.what, "--gpu ID plans for a GPU that is not here: --gpu h100-sxm");
  TRY(const auto gpu, catalogue_gpu(settings.gpu));
  return MeasuredGpu{{}, gpu, 0};
}

std::string missing_libraries(const MeasureDoors& doors) {
  std::string text;
  for (const LibraryState& library : doors.libraries())
    if (!library.missing.empty())
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", library.name, library.missing);
  return text;
}

Expected<MeasuredGpu> gpu_here(const MeasureSettings& settings, const MeasureDoors& doors) {
  const auto found = doors.devices();
  const Error none =
      found ? Error{"devices", "the driver lists no GPU", "nvidia-smi shows what it sees"} : found.error();
  if (!found || found->empty()) {
    if (settings.dry_run) return planned_gpu(settings, none);
    return fail(none.where, none.what, none.hint);
  }
  if (settings.index >= static_cast<int>(found->size()))
    return fail("--gpu-index", fmt::format("{}, and there are {} GPUs", settings.index, found->size()),
        fmt::format("0 to {}", found->size() - 1));
  MeasuredGpu here{found->at(static_cast<std::size_t>(settings.index)), nullptr, found->size()};
  const std::string id = settings.gpu.empty() ? gpu_of_device(here.device.name) : settings.gpu;
  if (id.empty())
    return fail("--gpu", fmt::format("'{}' is not in the catalogue", here.device.name),
        "name the nearest row, its datasheet is what the plan counts with: stepcast list gpus");
  TRY(here.gpu, catalogue_gpu(id));
  return here;
}

// --- what is asked for ---

bool asks_for_collectives(const MeasureSettings& settings) {
  return settings.only.empty() ||
         std::find(settings.only.begin(), settings.only.end(), collectives_phase) != settings.only.end();
}

/// Of one GPU; empty where only collectives were asked for.
Expected<MeasurePlan> plan_of(
    const MeasureSettings& settings, const MeasuredGpu& here, Seconds budget, const MeasureDoors& doors) {
  PlanRequest request;
  request.gpu = *here.gpu;
  if (here.on_host > 0) request.capability_major = here.device.capability_major;
  request.cudnn = true;  // where the card is, its libraries decide
  for (const LibraryState& library : here.on_host > 0 ? doors.libraries() : std::vector<LibraryState>{})
    if (library.name == "cudnn") request.cudnn = library.missing.empty();
  request.budget = budget;
  request.only = settings.only;
  std::erase(request.only, collectives_phase);
  request.own = settings.own;
  request.seed = settings.seed;
  if (request.only.empty() && !settings.only.empty()) return MeasurePlan{};
  return make_plan(request);
}

Expected<Measurements> earlier_rows(const MeasureSettings& settings) {
  if (!settings.resume) return Measurements{};
  TRY(const auto text, read_text_file(settings.output));
  return read_measurements(text, settings.output);
}

// --- running ---

OutputPlace measured_place(const MeasureSettings& settings) {
  return {settings.output, "--output", is_measurement_file, {settings.start}, settings.force};
}
OutputPlace profile_place(const MeasureSettings& settings) {
  return {settings.profile, "--profile", is_profile_file, {settings.start}, settings.force};
}

std::string clock_text(Seconds time) {
  const auto whole = static_cast<int>(time.value() + 0.5);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

MeasureHooks hooks_for(const MeasureSettings& settings, const MeasureDoors& doors, Progress& progress, bool writes) {
  MeasureHooks hooks;
  hooks.stop = doors.interrupted;
  hooks.progress = [&progress](const MeasureProgress& at) {
    progress.show(fmt::format("[{}/{}] {}  {} gone, {} left", at.done + 1, at.all,
        at.now == nullptr ? "" : to_text(at.now->works.front()), clock_text(at.elapsed), clock_text(at.left)));
  };
  if (!writes) return hooks;
  hooks.keep = [&settings](const Measurements& rows) -> Expected<void> {
    TRY(auto file, OutputFile::open(measured_place(settings)));
    return file.write(write_measurements(rows));
  };
  return hooks;
}

/// `more` is a later campaign on the rows of `result`.
void join(MeasureResult& result, MeasureResult more) {
  result.measurements = std::move(more.measurements);
  const auto add = [](auto& to, auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  add(result.skipped, more.skipped);
  add(result.repeats, more.repeats);
  add(result.timed, more.timed);
  result.resumed += more.resumed;
  result.finished = result.finished && more.finished;
  if (result.ended_by.empty()) result.ended_by = more.ended_by;
}

class MeasureRun {
 public:
  MeasureRun(const MeasureSettings& settings, const MeasureDoors& doors, Console& console, const MeasuredGpu& here)
      : settings_(settings), doors_(doors), console_(console), here_(here) {}

  Expected<void> run(const LaunchPlace& place, const MeasurePlan& plan, Measurements earlier) {
    place_ = place;
    request_.plan = plan;
    request_.gpu = here_.gpu->id;
    request_.date = doors_.date;
    request_.earlier = std::move(earlier);
    result_.finished = true;
    result_.measurements = request_.earlier;
    TRY(time_gpu());
    TRY(time_collectives());
    if (place_.process > 0) return {};
    return conclude();
  }

 private:
  Expected<void> time_gpu() {
    if (request_.plan.works.empty()) return {};
    TRY(auto bench, doors_.open_gpu(settings_.index));
    card_ = bench->settings();
    Progress progress(console_);
    TRY(result_, run_campaign(*bench, request_, hooks_for(settings_, doors_, progress, true)));
    return {};
  }

  Expected<void> time_collectives() {
    if (cut_short() || !asks_for_collectives(settings_)) return {};
    if (place_.processes == 1 && here_.on_host < 2) {
      if (!settings_.only.empty()) return fail("--only", "collectives need two GPUs or more", "nvidia-smi lists them");
      return {};
    }
    auto bench = doors_.open_collectives(place_);
    if (!bench && settings_.only.empty()) {  // without NCCL the rest of the profile is as good
      result_.skipped.push_back({std::string(collectives_phase), to_text(bench.error())});
      return {};
    }
    if (!bench) return tl::unexpected(bench.error());
    request_.earlier = result_.measurements;
    const Seconds budget = settings_.only.empty() ? settings_.budget * share_of_collectives : settings_.budget;
    Progress progress(console_);
    TRY(auto more, run_collectives(**bench, plan_collectives(**bench, budget, request_.rules), request_,
                       hooks_for(settings_, doors_, progress, place_.process == 0)));
    join(result_, std::move(more));
    return {};
  }

  /// Fit, files, verdict. What was measured is in its file already.
  Expected<void> conclude() {
    TRY(const auto start, start_profile(settings_.start, *here_.gpu));
    TRY(const auto id, fitted_id(settings_.id, *here_.gpu));
    const FitRequest request{id, fmt::format("{}, measured", here_.gpu->name), *here_.gpu, start, {}, false};
    auto fitted = fit_profile(result_.measurements, request);
    const bool has_laws = fitted.has_value();
    if (!has_laws) fitted = FittedProfile{start, {}, {to_text(fitted.error())}};
    if (has_laws) describe_fit(*fitted, start, result_.measurements.rows.size());
    if (!settings_.profile.empty()) {
      if (!has_laws) return fail("--profile", "too little was measured for any law", fitted->notes.front());
      TRY(write_profile_file(fitted->profile));
    }
    const MeasureReport report{result_, verdict_of(result_, *fitted, *here_.gpu, card_), *fitted, *here_.gpu,
        settings_.output, settings_.profile};
    console_.out << (settings_.json ? measure_json(report) : measure_report(report, console_));
    if (cut_short()) throw std::runtime_error(ended_early());
    return {};
  }

  /// By Ctrl-C or a lost GPU. A budget that was used up is how a slow machine ends; the verdict says what was left out.
  [[nodiscard]] bool cut_short() const { return !result_.finished && result_.ended_by != "budget"; }

  Expected<void> write_profile_file(const Profile& profile) const {
    TRY(auto file, OutputFile::open(profile_place(settings_)));
    TRY(const auto text, profile_text(profile));
    file.finish(text);
    return {};
  }

  std::string ended_early() const {
    return fmt::format("{}; what was measured is in {}: go on with --resume", result_.ended_by, settings_.output);
  }

  const MeasureSettings& settings_;
  const MeasureDoors& doors_;
  Console& console_;
  const MeasuredGpu& here_;
  LaunchPlace place_;
  CampaignRequest request_;
  GpuSettings card_;
  MeasureResult result_;
};

/// Where files cannot be written is said before minutes of work.
Expected<void> check_outputs(const MeasureSettings& settings) {
  if (settings.output.empty()) return fail("--output", "is missing", "-o M.json: where the measurements go");
  TRY(OutputFile::open(measured_place(settings)));
  if (!settings.profile.empty()) TRY(OutputFile::open(profile_place(settings)));
  return {};
}

}  // namespace

Expected<void> measure(const MeasureSettings& settings, const MeasureDoors& doors, Console& console) {
  TRY(const auto here, gpu_here(settings, doors));
  TRY(const auto place, doors.place());
  // Processes of a launcher time collectives together; the card itself is timed by a process of its own.
  const bool alone = place.processes == 1;
  const bool collectives = asks_for_collectives(settings) && (!alone || here.on_host > 1) && settings.only.empty();
  const Seconds budget = collectives && alone ? settings.budget * (1 - share_of_collectives) : settings.budget;
  TRY(auto plan, alone ? plan_of(settings, here, budget, doors) : Expected<MeasurePlan>(MeasurePlan{}));
  if (settings.dry_run) {
    const bool present = here.on_host > 0;
    const PlanReport report{plan, *here.gpu, present ? here.device.name : "", present ? missing_libraries(doors) : ""};
    console.out << (settings.json ? plan_json(report) : plan_report(report, console));
    return {};
  }
  TRY(check_outputs(settings));
  TRY(auto earlier, earlier_rows(settings));
  const InterruptGuard guard;
  return MeasureRun(settings, doors, console, here).run(place, plan, std::move(earlier));
}

MeasureDoors real_doors() {
  const std::time_t now = std::time(nullptr);
  std::tm day{};
  gmtime_r(&now, &day);
  return {[] { return devices(); }, [] { return gpu_libraries(); }, [](int index) { return open_gpu(index); },
      [] { return launch_place(); }, [](const LaunchPlace& place) { return open_collectives(place); },
      [] { return interrupted(); }, fmt::format("{:04}-{:02}-{:02}", day.tm_year + 1900, day.tm_mon + 1, day.tm_mday)};
}

Expected<void> calibrate_measure(const Arguments& arguments, Console& console) {
  TRY(const auto settings, measure_settings(arguments));
  return measure(settings, real_doors(), console);
}

}  // namespace stepcast::calibration
