// How a logged run computed: precision, what it recomputed, what ran beside what.
#include <algorithm>

#include <fmt/format.h>

#include "calibrate/import/delimited.h"
#include "studies/logged_answers.h"
#include "studies/logged_run.h"

namespace stepcast {
namespace {

/// What a program's words for recomputation mean in a record.
struct RecomputeWords {
  std::string_view words, record;
};
constexpr RecomputeWords recompute_words[] = {
    {"full", "full"},           {"uniform", "full"},   {"block", "full"},
    {"selective", "selective"}, {"true", "selective"}, {"none", "none"},
};

void take_recompute(const LoggedSource& source, Run& run) {
  LoggedAnswers& ask = source.answers;
  const auto asked = ask.text(Asked::recompute), option = ask.text(Asked::recompute_option),
             method = ask.text(Asked::recompute_method);
  const auto layers = ask.count(Asked::recompute_layers);
  const bool everything = ask.flag(Asked::recompute_all, false);
  const std::string word = everything ? "full" : lower_case(asked.value_or(std::string(source.program.recompute)));
  const auto row = std::find_if(std::begin(recompute_words), std::end(recompute_words),
                                [&](const RecomputeWords& words) { return words.words == word; });
  run.recompute = row == std::end(recompute_words) ? std::string(source.program.recompute) : std::string(row->record);
  if (row == std::end(recompute_words) && word != source.program.recompute)
    source.assumptions.push_back(fmt::format("recomputation '{:.40}' is not known: taken as {}", word, *run.recompute));
  if (source.program.framework == std::string_view("torchtitan") && *run.recompute == "selective")
    run.recompute = option.value_or("2") == "op" ? "selective op" : "selective layer";
  const std::int64_t per_stage = *run.model.layers / (run.parallel.pp * run.parallel.chunks.value_or(1));
  if (*run.recompute == "full" && method.value_or("") == "block" && layers && *layers < per_stage)
    source.assumptions.push_back(
        fmt::format("all layers recomputed, although the run recomputed {} of each {}", *layers, per_stage));
  if (!asked && !everything) source.assumptions.push_back(fmt::format("recomputation: {}", *run.recompute));
}

std::string precision_words(const LoggedSource& source) {
  LoggedAnswers& ask = source.answers;
  const auto text = ask.text(Asked::precision);
  const std::string named = lower_case(text.value_or("")),
                    converters = lower_case(ask.text(Asked::converters).value_or(""));
  const auto fp8 = ask.text(Asked::fp8), fp4 = ask.text(Asked::fp4);
  const bool bf16 = ask.flag(Asked::bf16, false), fp16 = ask.flag(Asked::fp16, false);
  const std::string recipe = lower_case(ask.text(Asked::fp8_recipe).value_or(""));
  const auto holds = [](const std::string& words, std::string_view part) { return words.find(part) != words.npos; };
  if ((fp4 && !is_off(*fp4)) || holds(named, "fp4")) return "nvfp4";
  const bool eight = (fp8 && !is_off(*fp8)) || (fp8 && *fp8 == "1") || holds(named, "fp8") ||
                     holds(converters, "float8") || holds(converters, "mx");
  if (eight) return holds(recipe, "mx") || holds(named, "mxfp8") || holds(converters, "mx") ? "mxfp8" : "fp8";
  if (bf16 || holds(named, "bf16") || holds(named, "bfloat16")) return "bf16";
  if (fp16 || holds(named, "16")) return "fp16";
  if (holds(named, "32")) return "fp32";
  source.assumptions.push_back(fmt::format("precision {}, as the program does unless told", source.program.precision));
  return std::string(source.program.precision);
}

void take_overlap(const LoggedSource& source, RunOverlap& overlap) {
  LoggedAnswers& ask = source.answers;
  const bool silent = source.program.quiet_overlap;
  const auto of = [&](Asked asked) {
    const auto flag = ask.flag(asked);
    return flag || !silent ? flag : std::optional(false);
  };
  overlap.dp_grad = of(Asked::overlap_gradients);
  overlap.dp_param = of(Asked::overlap_weights);
  overlap.tp = of(Asked::overlap_tensor);
  overlap.pp = ask.flag(Asked::overlap_stages);
  if (const auto without = ask.flag(Asked::no_overlap_stages)) overlap.pp = !*without;
}

}  // namespace

void logged_ways(const LoggedSource& source, Run& run) {
  run.software = std::string(source.program.software);
  run.precision = precision_words(source);
  take_recompute(source, run);
  take_overlap(source, run.overlap);
}

}  // namespace stepcast
