#include "studies/calibrate/layer_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/measure/campaign_context.h"
#include "calibrate/measure/ready_work.h"
#include "calibrate/measure/sample.h"
#include "studies/calibrate/layer_size.h"

namespace stepcast::calibration {
namespace {

/// Long enough for clocks to settle: their time constants are 48 to 107 ms (docs/measured.md).
constexpr Seconds sustained_for{1.5};

/// A way to run one layer.
struct LayerForm {
  KernelSource attention;
  bool in_graph;
};
constexpr LayerForm layer_forms[] = {
    {KernelSource::cudnn, true}, {KernelSource::cudnn, false}, {KernelSource::stepcast, true}};

class LayerRun {
 public:
  LayerRun(GpuBench& bench, const LayerRunRequest& request) : bench_(bench), request_(request) {}

  Expected<LayerFile> run() {
    file_.context = setup_context(bench_.device(), bench_.settings(), request_.gpu.id, request_.date);
    file_.context.software = software_of(KernelSource::cublas, bench_.settings());
    for (std::size_t i = 0; i < request_.networks.size(); ++i)
      for (const LayerSize& size : layer_sizes(request_.networks[i].row, request_.longest))
        TRY(time_size(request_.names[i], request_.networks[i].row, size));
    TRY(request_.keep(file_));
    return std::move(file_);
  }

 private:
  void note(std::string text) { file_.notes.push_back(std::move(text)); }

  Expected<void> time_size(const std::string& network, const NetworkSpec& spec, const LayerSize& size) {
    TRY(const auto shapes, shapes_of_layer(spec, size, request_.gpu));
    if (!shapes.left_out.empty())
      note(fmt::format(
          "{} at {} x {}: not timed: {}", network, size.micro_batch, size.sequence, fmt::join(shapes.left_out, ", ")));
    for (const LayerForm& form : layer_forms) {
      const std::string name = fmt::format("a layer of {} at {} x {} by {} attention, {}", network, size.micro_batch,
          size.sequence, to_text(form.attention), form.in_graph ? "in a graph" : "eager");
      if (request_.stop()) {
        note(name + ": interrupted");
        continue;
      }
      request_.progress(name);
      TimedLayer row;
      row.network = network, row.sequence = size.sequence, row.micro_batch = size.micro_batch;
      row.attention = to_text(form.attention), row.in_graph = form.in_graph;
      TRY(time_form(std::move(row), sequence_of(name, shapes.calls, form)));
      TRY(request_.keep(file_));
    }
    return {};
  }

  static Sequence sequence_of(const std::string& name, const std::vector<Query>& calls, const LayerForm& form) {
    Sequence sequence{name, {}, form.in_graph};
    for (const Query& query : calls) {
      const bool core = std::holds_alternative<AttentionQuery>(query);
      sequence.calls.push_back({query, core ? form.attention : usual_source(query), false, std::nullopt});
    }
    return sequence;
  }

  /// What cannot run is a note; a GPU that is lost ends all.
  Expected<void> failed(const std::string& name, const Error& error) {
    note(fmt::format("{}: {}", name, error.where == interrupted_where ? "interrupted" : to_text(error)));
    return bench_.usable();
  }

  Expected<void> time_form(TimedLayer row, const Sequence& timed) {
    const auto burst = sample(bench_, timed, rules_, request_.stop, &clocks_);
    if (!burst) return failed(timed.name, burst.error());
    row.calls = static_cast<std::int64_t>(timed.calls.size());
    row.time = burst->time, row.low = burst->low, row.high = burst->high;
    row.replays = burst->replays;
    row.sm_clock_mhz = burst->sm_clock_mhz, row.power_w = burst->power_w;
    row.power_limited = burst->power_limited, row.settled = burst->settled;
    const auto run = sample_sustained(bench_, timed, sustained_for, rules_, request_.stop);
    if (run) {
      row.sustained = run->settled;
      if (!run->points.empty()) row.sustained_clock_mhz = run->points.back().state.sm_clock_mhz;
    }
    file_.layers.push_back(std::move(row));
    return run ? Expected<void>{} : failed(timed.name + ", without rest", run.error());
  }

  GpuBench& bench_;
  const LayerRunRequest& request_;
  MethodRules rules_;
  ClocksSeen clocks_;
  LayerFile file_;
};

}  // namespace

Expected<LayerFile> time_layers(GpuBench& bench, const LayerRunRequest& request) {
  return LayerRun(bench, request).run();
}

}  // namespace stepcast::calibration
