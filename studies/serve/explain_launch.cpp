#include "studies/serve/explain_launch.h"

#include <algorithm>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "model/base/whole_number.h"
#include "studies/launch/read/launch.h"
#include "studies/launch/read/launch_flags.h"
#include "studies/launch/run_flags.h"
#include "studies/notation/explain_command.h"
#include "studies/serve/serve.h"

namespace stepcast::serve {
namespace {

/// Whether flags tell a whole load.
bool tells_load(const Arguments& arguments) {
  const bool pace = arguments.has("--concurrency") || arguments.has("--rate");
  return arguments.has("--trace") || (pace && arguments.has("--input") && arguments.has("--output"));
}

Arguments arguments_of(const Arguments& typed, const AskedEngine& asked) {
  Arguments out;
  out.words = {asked.network};
  for (const auto& [name, value] : asked.flags)
    if (find_flag(serve_flags(), name) != nullptr) out.flags.emplace(name, value);
  for (const auto& [name, value] : typed.flags)
    if (find_flag(serve_flags(), name) != nullptr) out.flags.emplace(name, value);
  return out;
}

Expected<LaunchFigures> figures_of(const Arguments& arguments, const AskedEngine& asked, bool told_exchange) {
  TRY(auto question, question_of(arguments));
  question.engine.longest = asked.longest, question.engine.positions = asked.positions;
  question.engine.longest_fits = asked.longest_fits;
  put_rows(asked.row, asked.prompt_row, told_exchange, question);
  TRY(const auto answered, answer(question));
  LaunchFigures out;
  const auto gpus = static_cast<double>(answered.gpus);
  out.cache_positions = static_cast<double>(answered.room.positions), out.cache_gpus = answered.serving.dcp;
  if (answered.prompts) {
    const sim::BatchingPolicy& policy = answered.prompts->servers.policy;
    out.prompt_positions = static_cast<double>(policy.blocks * policy.block);
  }
  out.words_per_gpu =
      (answered.figures ? answered.figures->words_per_second : answered.saturation.waiting.words_per_second) / gpus;
  if (answered.figures)
    out.first_word = answered.figures->first_word.mean, out.per_word = answered.figures->per_word.mean;
  else out.coming = answered.rate, out.served = answered.saturation.waiting.requests_per_second;
  return out;
}

/// How many guesses are right no launch tells: flags do.
LaunchUse use_of(const Arguments& typed) { return {.guesses = typed.has("--accepted"), .lenient = true}; }

/// Figures of a launch; nothing where its load is not told.
Expected<std::optional<LaunchFigures>> figures_of(const Arguments& typed, EngineLaunch launch) {
  const std::string network = typed.words.empty() ? "" : typed.words[0];
  TRY(const auto asked, asked_engine(launch, told_flags(typed), network, use_of(typed)));
  const Arguments arguments = arguments_of(typed, asked);
  if (!tells_load(arguments)) return std::nullopt;
  TRY(const auto figures, figures_of(arguments, asked, typed.has("--exchange")));
  return figures;
}

/// Without all that is said under the name that an argument counts by.
void leave_out(SaidArguments& said, const GivenArgument& given) {
  const std::string name(counted_name(said.table(), given.name));
  std::erase_if(said.all, [&](const GivenArgument& other) { return counted_name(said.table(), other.name) == name; });
}

/// Leaving them out leaves no question.
bool is_needed(const SaidArguments& said, const GivenArgument& given) {
  const std::string_view name = counted_name(said.table(), given.name);
  return name == said.program->first || name == "model" || name == "model_path" || name == said.program->file;
}

/// The arguments of one part of a launch; `said` says where it has them, nullptr: they are not priced.
void explain_each(const Arguments& typed, const EngineLaunch& launch, ArgumentOf of, const SaidArguments& said,
    SaidArguments& (*part)(EngineLaunch&), ExplainedEngineLaunch& out) {
  for (const GivenArgument& given : said.all) {
    ExplainedEngineArgument one;
    one.given = given, one.of = of;
    one.fact = fact_of(said.table(), counted_name(said.table(), given.name));
    one.standing = standing_of(said, given);
    // that keys go to the other pool is what two pools are
    if (launch.prompts && one.standing == Standing::refused && joins_pools(said, given)) one.standing = Standing::used;
    one.counts = said.counts(given);
    const bool priced = one.standing == Standing::used && one.counts && out.figures && part != nullptr;
    if (priced && !is_needed(said, given) && !joins_pools(said, given)) {
      EngineLaunch other = launch;
      leave_out(part(other), given);
      auto without = figures_of(typed, other);
      if (!without && typed.has("--accepted")) {  // nothing is guessed without it
        Arguments plain = typed;
        plain.flags.erase("--accepted");
        without = figures_of(plain, std::move(other));
      }
      if (!without) one.why_not = to_text(without.error());
      else one.without = *without;
    }
    out.arguments.push_back(std::move(one));
  }
}

SaidArguments& of_engine(EngineLaunch& launch) { return launch.server; }
SaidArguments& of_prompts(EngineLaunch& launch) { return launch.prompts->server; }

std::string engines_text(const AskedEngine& asked, const char* prefix, const char* what) {
  const auto ways = [&](const char* flag) {
    const auto found = asked.flags.find(fmt::format("{}{}", prefix, flag));
    return found == asked.flags.end() ? 1 : parsed_number<std::int64_t>(found->second).value_or(1);
  };
  const std::int64_t engines = ways("replicas"), gpus = ways("tp") * ways("pp") * ways("dp-attention");
  return fmt::format("{} {} of {} GPU{} {}{}", engines, engines == 1 ? "engine" : "engines", gpus, gpus == 1 ? "" : "s",
      what, engines == 1 ? "s" : "");
}

/// What a command asks of a training: flags of loads and engines say nothing of it.
Arguments of_training(const Arguments& typed) {
  Arguments out = typed;
  std::erase_if(out.flags, [](const auto& given) {
    return given.first != "--json" && find_flag(launch::run_flags(), given.first) == nullptr;
  });
  return out;
}

/// Does the script that starts an engine start a training, too?
bool trains_too(const Arguments& training) {
  if (training.value("--launch") == "--") return false;
  const auto source = launch::launch_source(training);
  return source && *source && launch::read_launch(**source).has_value();
}

/// What is explained of the training in a script that starts an engine.
Expected<std::string> explained_training(const Arguments& training, const Console& console) {
  std::ostringstream text;
  Console own{text, console.err, console.color, console.unicode, console.columns, nullptr};
  TRY(notation::explain_command(training, own));
  return text.str();
}

}  // namespace

Expected<ExplainedEngineLaunch> explain_engine_launch(const Arguments& arguments) {
  TRY(const auto source, engine_launch_source(arguments));
  TRY(auto launch, read_engine_launch(*source));
  ExplainedEngineLaunch out;
  out.program = launch.server.program->name;
  out.place = launch.server.where;
  if (const auto known = understood(launch, false); !known) out.refused = known.error().what;
  const std::string network = arguments.words.empty() ? "" : arguments.words[0];
  auto asked = asked_engine(launch, told_flags(arguments), network, use_of(arguments));
  if (!asked) {
    out.refused += (out.refused.empty() ? "" : "; ") + to_text(asked.error());
  } else {
    out.command = shown_command("serve", *asked);
    out.notes = asked->notes;
    for (const std::string& warning : asked->warnings) out.refused += (out.refused.empty() ? "" : "; ") + warning;
    out.changed = asked->changed, out.prompt_changed = asked->prompt_changed;
    if (launch.prompts) {
      out.prompts = engines_text(*asked, "--prefill-", "read") + " prompts";
      out.tokens = engines_text(*asked, "--", "say") + " their tokens";
    }
    auto figures = figures_of(arguments, launch);
    if (!figures) out.notes.push_back("no forecast: " + to_text(figures.error()));
    else out.figures = *figures;
    if (figures && !out.figures)
      out.notes.emplace_back("no load is told, so that nothing is priced: --input 1024 --output 1024 --concurrency 64");
  }
  explain_each(arguments, launch, ArgumentOf::engine, launch.server, of_engine, out);
  if (launch.prompts) explain_each(arguments, launch, ArgumentOf::prompts, launch.prompts->server, of_prompts, out);
  if (launch.bench) explain_each(arguments, launch, ArgumentOf::load, *launch.bench, nullptr, out);
  return out;
}

Expected<void> explain_command(const Arguments& arguments, Console& console) {
  TRY(const bool serves, starts_engine(arguments));
  if (!serves) {  // a term, or the launch of a training
    for (const auto& [name, value] : arguments.flags)
      if (find_flag(serve_flags(), name) != nullptr && find_flag(launch::run_flags(), name) == nullptr &&
          name != "--json") {
        if (!arguments.has("--launch"))
          return fail(name, "belongs to a launch of a serving engine, and none is given", "--launch run.sh");
        return fail(arguments.value("--launch"),
            fmt::format("no command in it starts a serving engine, which {} is a flag of", name),
            "a command that starts vLLM, SGLang or TensorRT-LLM, or without that flag");
      }
    return notation::explain_command(arguments, console);
  }
  TRY(const auto explained, explain_engine_launch(arguments));
  const bool json = arguments.has("--json");
  const std::string engine = json ? explained_launch_json(explained) : explained_launch_text(explained, console);
  const Arguments training = of_training(arguments);
  if (!trains_too(training)) return console.out << engine, Expected<void>{};
  TRY(const auto trained, explained_training(training, console));
  console.out << (json ? fmt::format("{{\"engine\": {}, \"training\": {}}}\n", engine, trained)
                       : fmt::format("{}\nThe same script starts a training.\n\n{}", engine, trained));
  return {};
}

std::span<const Flag> explain_launch_flags(std::span<const Flag> flags) {
  static const std::vector<Flag> all = [&] {
    std::vector<Flag> out(flags.begin(), flags.end());
    for (const Flag& flag : serve_flags())
      if (find_flag(out, flag.name) == nullptr) out.push_back(flag);
    return out;
  }();
  return all;
}

}  // namespace stepcast::serve
