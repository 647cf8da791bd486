#include "calibrate/import/tables/hyper_connection_table.h"

#include <fmt/format.h>

#include "calibrate/rows/device_name.h"
#include "calibrate/import/tables/table_import.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

constexpr NumberRange mixing_counts{1, 1e9}, mixing_times{1e-6, 1e6};
constexpr double bf16_bytes = 2;

// A row holds the two sublayers of a layer. Of 0.5.10 and 0.5.11, which do not say so, SGLang's rows take as long per
// position as later ones that do; and the bytes of two go at 85 to 88 % of the memory's rate: of `post` 2 x 73,728 per
// position of 4 x 4,096 numbers in 49.9 ns on H100, 35.0 ns on H200, 21.4 ns on B200.
constexpr double usual_sites = 2;
// DeepSeek V4's config.json, hc_sinkhorn_iters: all rows that say it say this.
constexpr double timed_rounds = 20;

}  // namespace

bool names_hyper_connection(const std::string& op_name) { return op_name == "pre" || op_name == "post"; }

Expected<HyperConnectionTiming> read_hyper_connection_row(
    JsonObject& row, const std::string& op_name, const std::string& where) {
  HyperConnectionTiming timing;
  std::string device;
  double latency_ms = 0, sites = usual_sites, rounds = timed_rounds;
  row.read("device", device);
  row.read("framework", timing.engine);
  row.read("version", timing.release);
  row.read("num_tokens", timing.shape.positions, mixing_counts);
  row.read("hc_mult", timing.shape.streams, mixing_counts);
  row.read("hidden_size", timing.shape.width, mixing_counts);
  row.read("latency", latency_ms, mixing_times);
  row.optional("num_sites", sites, mixing_counts);
  row.optional("sinkhorn_iters", rounds, mixing_counts);
  row.require(rounds == timed_rounds, "sinkhorn_iters",
      fmt::format("{:.0f} rounds, whose time no other row tells", rounds), fmt::format("{:.0f}", timed_rounds));
  if (auto error = row.first_error()) return tl::unexpected<Error>(std::move(*error));
  timing.gpu = gpu_of_device(device);
  if (timing.gpu.empty())
    return fail(where + ":/device", fmt::format("no GPU of the catalogue is '{:.60}'", device), "stepcast list gpus");
  timing.engine = lower_case(timing.engine);
  timing.shape.part = op_name == "pre" ? HyperConnectionPart::pre : HyperConnectionPart::post;
  timing.shape.element_bytes = bf16_bytes;
  timing.time = Seconds(latency_ms * millisecond / sites);
  return timing;
}

}  // namespace stepcast::calibrate
