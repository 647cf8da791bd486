// What explain prints of an engine's launch.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"
#include "studies/serve/explain_launch.h"

namespace stepcast::serve {
namespace {

struct StandingWords {
  Standing standing;
  const char *key, *title, *beside;
};
constexpr std::array standing_words = {StandingWords{Standing::unknown, "unknown", "Not known",
                                           "a slip of the pen, of another program, or newer than the table"},
    StandingWords{Standing::refused, "refused", "What is not forecast",
        "with any of these there is no forecast, but with --lenient one without them"},
    StandingWords{Standing::used, "used", "What shapes the forecast",
        "each against the same load without it: tokens/s/GPU, TTFT, TPOT, positions of a GPU's cache"},
    StandingWords{Standing::not_forecast, "not_forecast", "What changes times and is not followed", ""},
    StandingWords{Standing::beside, "beside", "Beside the load", "profiles, dumps, new weights"},
    StandingWords{Standing::no_effect, "no_effect", "Without effect on the forecast", ""}};

constexpr std::size_t text_columns = 100;

std::string typed(const ExplainedEngineArgument& argument) {
  const std::string name = argument.given.spelled.empty() ? argument.given.name : argument.given.spelled;
  const bool toggle = argument.fact != nullptr && argument.fact->takes == "flag" &&
                      (argument.given.value == "true" || name.starts_with("--no-"));
  return toggle ? name : fmt::format("{} {:.60}", name, argument.given.value);
}

std::string change_of(double with, double without) {
  if (without <= 0 || with <= 0) return "not to be compared";
  const double percent = (with / without - 1) * 100;
  constexpr double shown = 0.05;
  return std::abs(percent) < shown ? "+0.0 %" : fmt::format("{:+.1f} %", percent);
}

/// Beyond saturation a wait is as long as the load, and none is said.
std::string wait_change(const LaunchFigures& with, const LaunchFigures& without, Seconds LaunchFigures::*wait) {
  if (with.beyond_saturation() && without.beyond_saturation()) return "none (beyond saturation)";
  if (with.beyond_saturation()) return "grows (beyond saturation)";
  if (without.beyond_saturation()) return "bounded (beyond saturation without it)";
  return change_of((with.*wait).value(), (without.*wait).value());
}

/// "TTFT 1 s, TPOT 2 ms"; beyond saturation there are none.
std::string waits_text(const LaunchFigures& f) {
  if (!f.beyond_saturation())
    return fmt::format("TTFT {}, TPOT {}", format_seconds(f.first_word), format_seconds(f.per_word));
  return fmt::format(
      "beyond saturation ({:.3g} requests/s come and {:.3g} are served: waits grow without bound)", f.coming, f.served);
}

std::string effect_of(const LaunchFigures& with, const LaunchFigures& without, bool of_prompts) {
  const std::string rate = change_of(with.words_per_gpu, without.words_per_gpu),
                    first = wait_change(with, without, &LaunchFigures::first_word),
                    word = wait_change(with, without, &LaunchFigures::per_word),
                    cache = of_prompts ? change_of(with.prompt_positions, without.prompt_positions)
                                       : change_of(with.cache_positions, without.cache_positions);
  constexpr const char* none = "+0.0 %";
  const bool alike = with.beyond_saturation() && without.beyond_saturation();
  if (rate == none && (alike || (first == none && word == none)) && cache == none)
    return "with it: changes nothing here";
  return fmt::format("with it: tokens/s/GPU {}, TTFT {}, TPOT {}, cache {}", rate, first, word, cache);
}

std::string used_text(const ExplainedEngineArgument& argument, const std::optional<LaunchFigures>& figures) {
  std::string text = fmt::format("  {}\n", typed(argument));
  const std::string indent(6, ' ');
  text += print::paragraph(argument.fact->what, indent, indent, text_columns);
  if (!argument.counts) text += indent + "another one of this name counts\n";
  else if (argument.without && figures)
    text += print::paragraph(
        effect_of(*figures, *argument.without, argument.of == ArgumentOf::prompts), indent, indent, text_columns);
  else if (!argument.why_not.empty())
    text += print::paragraph("without it there is no run: " + argument.why_not, indent, indent, text_columns);
  return text;
}

std::string listed_text(const ExplainedEngineArgument& argument) {
  constexpr std::size_t columns = 38;
  const std::string first = fmt::format("  {:<{}}  ", typed(argument), columns), indent(columns + 4, ' ');
  const bool fits = first.size() <= indent.size();
  std::string said = argument.fact == nullptr ? "not known" : argument.fact->what;
  if (argument.fact != nullptr && !argument.fact->trap.empty()) said += " " + argument.fact->trap;
  if (argument.standing == Standing::refused) said += fmt::format(" ({})", argument.fact->refused);
  return (fits ? "" : first.substr(0, first.size() - 2) + "\n") +
         print::paragraph(said, fits ? first : indent, indent, text_columns);
}

/// Those of one part of the launch; nothing: of all.
std::string arguments_text(
    const ExplainedEngineLaunch& explained, std::optional<ArgumentOf> of, const print::Paint& paint) {
  std::string text;
  for (const StandingWords& words : standing_words) {
    std::string rows;
    for (const ExplainedEngineArgument& argument : explained.arguments)
      if (argument.standing == words.standing && (!of || argument.of == *of))
        rows += words.standing == Standing::used ? used_text(argument, explained.figures) : listed_text(argument);
    if (rows.empty()) continue;
    text += fmt::format(
        "\n{}{}\n{}", paint.bold(words.title), *words.beside == '\0' ? "" : fmt::format("  {}", words.beside), rows);
  }
  return text;
}

constexpr const char* part_names[] = {"engine", "prefill", "load"};  ///< by ArgumentOf

void write_figures(JsonWriter& json, const char* key, const LaunchFigures& figures) {
  json.open(key);
  json.field("tokens_per_s_per_gpu", figures.words_per_gpu);
  if (figures.beyond_saturation())
    json.open("beyond_saturation"), json.fields("requests_per_s", figures.coming, "served_per_s", figures.served),
        json.close();
  else json.base_fields("ttft_s", figures.first_word, "tpot_s", figures.per_word);
  json.field("cache_positions", figures.cache_positions);
  if (figures.prompt_positions > 0) json.field("prefill_cache_positions", figures.prompt_positions);
  json.close();
}

}  // namespace

std::string explained_launch_text(const ExplainedEngineLaunch& explained, const Console& console) {
  const print::Paint paint(console);
  std::string text = fmt::format("{} launch in {}\n", explained.program, explained.place);
  if (!explained.command.empty()) text += print::paragraph(explained.command, "reads as: ", "  ", text_columns);
  if (!explained.changed.empty())
    text += print::paragraph(
        fmt::format("{}", fmt::join(explained.changed, ", ")), "of its engine also: ", "  ", text_columns);
  if (!explained.prompt_changed.empty())
    text += print::paragraph(fmt::format("{}", fmt::join(explained.prompt_changed, ", ")),
        "of the pool of prompts also: ", "  ", text_columns);
  if (!explained.refused.empty())
    text += print::paragraph(explained.refused, paint.bad("not followed") + ": ", "  ", text_columns);
  if (const auto& f = explained.figures)
    text += fmt::format("forecast: {} tokens/s/GPU, {}, {} positions of cache on {}\n",
        print::grouped_digits(f->words_per_gpu), waits_text(*f), print::grouped_digits(f->cache_positions),
        f->cache_gpus > 1 ? fmt::format("{} GPUs together", f->cache_gpus) : "a GPU");
  if (explained.prompts.empty()) {
    text += arguments_text(explained, {}, paint);
  } else {
    for (const auto& [of, title] : {std::pair{ArgumentOf::prompts, explained.prompts},
             std::pair{ArgumentOf::engine, explained.tokens}, std::pair{ArgumentOf::load, std::string("The load")}}) {
      const std::string rows = arguments_text(explained, of, paint);
      if (!rows.empty()) text += fmt::format("\n{}\n{}", paint.bold(title), rows);
    }
  }
  if (explained.notes.empty()) return text;
  text += fmt::format("\n{}  what was assumed or left out in reading\n", paint.bold("Notes"));
  for (const std::string& note : explained.notes) text += print::paragraph(note, "  ", "    ", text_columns);
  return text;
}

std::string explained_launch_json(const ExplainedEngineLaunch& explained) {
  JsonWriter json;
  json.open();
  json.fields("program", explained.program, "place", explained.place, "command", explained.command, "not_followed",
      explained.refused);
  if (explained.figures) write_figures(json, "forecast", *explained.figures);
  json.open_list("arguments");
  for (const ExplainedEngineArgument& argument : explained.arguments) {
    json.open();
    json.fields("name", argument.given.name, "value", argument.given.value, "line", argument.given.line);
    const auto words = std::ranges::find(standing_words, argument.standing, &StandingWords::standing);
    json.fields("part", part_names[static_cast<int>(argument.of)], "standing", words->key, "counts", argument.counts);
    if (argument.fact != nullptr) json.field("what", argument.fact->what);
    if (argument.without) write_figures(json, "without", *argument.without);
    if (!argument.why_not.empty()) json.field("without_error", argument.why_not);
    json.close();
  }
  json.close();
  json.field("engine_changes", explained.changed);
  if (!explained.prompts.empty())
    json.fields(
        "prefill", explained.prompts, "decode", explained.tokens, "prefill_engine_changes", explained.prompt_changed);
  json.field("notes", explained.notes);
  json.close();
  return json.text() + "\n";
}

}  // namespace stepcast::serve
