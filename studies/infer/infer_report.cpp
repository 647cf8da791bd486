#include "studies/infer/infer_report.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"

namespace stepcast::infer {

std::vector<std::pair<std::string, double>> bindings_of(const sim::IterationTime& iteration) {
  std::map<std::string, double> shares;
  for (const sim::IterationPart& part : iteration.parts) shares[to_text(part.binding)] += part.time / iteration.time;
  shares[to_text(sim::Binding::host)] += iteration.host / iteration.time;
  std::vector<std::pair<std::string, double>> sorted(shares.begin(), shares.end());
  std::ranges::stable_sort(sorted, std::greater{}, &std::pair<std::string, double>::second);
  std::erase_if(sorted, [](const auto& share) { return share.second < 0.0005; });  // prints as nothing
  return sorted;
}

std::vector<std::string> warnings_of(const Answer& answer) {
  const sim::IterationTime& iteration = answer.phase.shown;
  std::vector<std::string> warnings = answer.warnings;
  for (std::string& warning : launch_warnings(answer.serving)) warnings.push_back(std::move(warning));
  for (const sim::IterationPart& part : iteration.parts)
    if (part.extrapolated && part.time / iteration.time >= 0.01)
      warnings.push_back(fmt::format("{} ({}): beyond what its law was fitted on; it takes {}", part.label,
          part.shape.empty() ? "collective" : part.shape, format_percent(part.time / iteration.time)));
  return warnings;
}

std::string infer_json(const Asked& asked, const Answer& answer) {
  const auto& [serving, room, phase, launched] = answer;
  JsonWriter json;
  json.open();
  json.fields("network", serving.network().id, "machine", serving.machine().id, "engine", serving.engine.id, "profile",
      serving.profile->id, "phase", asked.phase, "gpus", static_cast<double>(serving.scenario.plan.gpus), "batch",
      static_cast<double>(asked.batch));
  if (!serving.layers.empty()) json.field("layers", serving.layers);
  json.base_field("time_s", phase.time);
  json.field("interval_s",
      std::vector<double>{(phase.time * phase.spread.p10).value(), (phase.time * phase.spread.p90).value()});
  if (asked.phase == "batch") {
    json.base_field("prefill_s", phase.prefill);
    json.base_field("decode_s", phase.decode);
  }
  json.field("tokens_per_s", words_of(asked, phase) / phase.time.value());
  json.field("tokens_per_s_per_gpu", words_per_gpu(asked, answer));
  if (const auto user = words_per_user(asked, phase)) json.field("tokens_per_s_per_user", *user);
  if (serving.draft > 0) json.field("tokens_per_iteration", phase.words);
  const sim::IterationTime& shown = phase.shown;
  json.open("binds");
  for (const auto& [what, share] : bindings_of(shown)) json.field(what, share);
  json.close();
  json.base_field("kernels_s", shown.kernels);
  json.base_field("moves_s", shown.moves);
  json.base_field("host_s", shown.host);
  json.field("launches", shown.launches);
  json.field("assumptions", answer.serving.assumptions);
  json.field("warnings", warnings_of(answer));
  json.open_list("parts");
  for (const sim::IterationPart& part : shown.parts) {
    json.open();
    json.fields("label", part.label, "shape", part.shape, "calls", part.calls);
    json.base_field("time_s", part.time);
    json.fields("bytes", part.bytes.value(), "flops", part.flops.value(), "model_flops", part.useful.value(), "source",
        to_text(part.source), "move", part.is_move);
    json.close();
  }
  json.close();
  json.open("memory");
  json.fields("gpu_bytes", room.memory, "weights_bytes", room.weights, "cache_bytes", room.cache,
      "cache_bytes_per_position", room.bytes_per_position, "positions", static_cast<double>(room.positions),
      "sequences", static_cast<double>(room.sequences));
  json.close();
  json.close();
  return json.text() + "\n";
}

std::string infer_text(const Asked& asked, const Answer& answer, const Console& console) {
  const auto& [serving, room, phase, launched] = answer;
  const print::Paint paint(console);
  std::string text = fmt::format("{} on {} x {}, {}, {}\n", serving.network().name, serving.scenario.plan.gpus,
      serving.machine().gpu.name, serving.engine.name, split_in_words(serving));
  print::Table head({{""}, {"", print::Align::right}, {""}});
  const auto interval = fmt::format("{} to {} (10th to 90th percentile)", format_seconds(phase.time * phase.spread.p10),
      format_seconds(phase.time * phase.spread.p90));
  head.add({paint.bold(asked.phase), paint.bold(format_seconds(phase.time)), interval});
  if (asked.phase == "batch")
    head.add({"prefill", format_seconds(phase.prefill), fmt::format("decode {}", format_seconds(phase.decode))});
  const double rate = words_of(asked, phase) / phase.time.value();
  head.add({"tokens/s/GPU", print::grouped_digits(words_per_gpu(asked, answer)),
      fmt::format("{} tokens/s in all", print::grouped_digits(rate))});
  if (const auto user = words_per_user(asked, phase))
    head.add({"tokens/s/user", fmt::format("{:.1f}", *user),
        serving.draft > 0
            ? fmt::format("{:.2f} tokens an iteration, with {} guesses before it", phase.words, serving.draft)
            : ""});
  text += "\n" + head.text("");
  const sim::IterationTime& shown = phase.shown;
  double iterations = 0;
  for (const Repeated& one : phase.iterations) iterations += one.times;
  const bool pieces = asked.phase == "prefill" && iterations > 1;
  text += fmt::format("\n{}  {}: kernels {}, collectives {}, host {}\n",
      pieces ? fmt::format("One of {:.0f} iterations, the longest", iterations) : "One iteration",
      format_seconds(shown.time), format_seconds(shown.kernels), format_seconds(shown.moves),
      format_seconds(shown.host));
  std::vector<std::string> binds;
  for (const auto& [what, share] : bindings_of(shown))
    binds.push_back(fmt::format("{} {}", what, format_percent(share)));
  text += fmt::format("What binds  {}\n", fmt::join(binds, ", "));
  print::Table parts({{"  kernel or move"}, {"shape"}, {"calls", print::Align::right}, {"time", print::Align::right},
      {"share", print::Align::right}, {"source"}});
  for (const sim::IterationPart& part : shown.parts)
    parts.add({"  " + part.label, part.shape, fmt::format("{:.0f}", part.calls), format_seconds(part.time),
        format_percent(part.time / shown.time), to_text(part.source)});
  text += parts.text("");
  text += fmt::format(
      "\nMemory  one GPU: {} of weights, {} for the cache: {} positions of {:.0f} bytes, {} sequences\n",
      format_bytes(Bytes(room.weights)), format_bytes(Bytes(room.cache)), print::grouped_digits(double(room.positions)),
      room.bytes_per_position, print::grouped_digits(double(room.sequences)));
  text += fmt::format("  {} of activations for {} positions, {} of workspace, graphs and NCCL (assumed)\n",
      format_bytes(Bytes(room.activations)), print::grouped_digits(double(room.activation_positions)),
      format_bytes(Bytes(room.reserved)));
  const std::vector<std::string> warnings = warnings_of(answer);
  if (!warnings.empty()) text += "\n";
  for (const std::string& warning : warnings) text += fmt::format("{}: {}\n", paint.bold("warning"), warning);
  if (!serving.assumptions.empty())
    text += fmt::format("\nDefaults and assumptions\n  {}\n", fmt::join(serving.assumptions, ", "));
  return text;
}

}  // namespace stepcast::infer
