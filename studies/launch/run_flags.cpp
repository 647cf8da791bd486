#include "studies/launch/run_flags.h"
#include "studies/cli/output_file.h"

#include <algorithm>

#include "model/network/hf/config.h"
#include "studies/launch/emit/emit.h"
#include "studies/launch/facts/framework.h"
#include "studies/run/fields.h"

namespace stepcast::launch {
namespace {

constexpr std::string_view hardware = "Machine and software";
constexpr std::string_view split = "Split (a factor each; dp = GPUs / (tp x cp x pp))";
constexpr std::string_view batch = "Batch and numbers";
constexpr std::string_view output = "Output";

std::string_view heading_of(FieldGroup group) {
  constexpr std::string_view headings[] = {hardware, split, batch};
  return headings[static_cast<std::size_t>(group)];
}

Flag flag_of_field(const RunField& field) {
  Flag flag{
      .name = field.flag, .key = field.key, .value = field.value, .group = heading_of(field.group), .doc = field.doc};
  if (field.type.in_tokens)
    flag.check = [](const std::string& text, const std::string& where) {
      return check_field(*find_flag_field(where), text, where);
    };
  else if (field.type.number) flag.kind = FlagKind::count, flag.least = field.type.least, flag.most = field.type.most;
  else flag.check = field.type.check;
  return flag;
}

Expected<void> check_family(const std::string& text, const std::string& where) {
  const std::vector<std::string> families = hf_families();
  if (std::find(families.begin(), families.end(), text) != families.end()) return {};
  std::string hint = "one of:";
  for (const std::string& name : families) hint += " " + name;
  return fail(where, "unknown value '" + text.substr(0, 60) + "'", hint);
}

/// A launch says what the flags above say, so it has no key of its own.
std::vector<Flag> flags_of_launches() {
  constexpr std::string_view launch =
      "Launch (a run as its framework is told it, in place of NETWORK; flags override it)";
  std::vector<Flag> flags;
  for (const LaunchFlag& row : launch_flags())
    flags.push_back(
        {.name = row.flag, .key = "", .value = row.value, .group = launch, .doc = row.doc, .words_behind = true});
  // clang-format off
  flags.push_back({.name = "--define", .key = "", .value = "NAME=VALUE", .group = launch,
                   .doc = "a variable that the launch takes from outside; may be repeated", .repeats = true});
  flags.push_back({.name = "--release", .key = "", .value = "ID", .group = launch,
                   .doc = "of the framework, whose defaults hold (default: the newest)"});
  flags.push_back({.name = "--files-from", .key = "", .value = "FOLDER", .group = launch,
                   .doc = "files below it that the launch names are read too; may be repeated", .repeats = true});
  flags.push_back({.name = "--lenient", .key = "", .value = "", .group = launch,
                   .doc = "forecast in spite of arguments that are not known, with a warning; --emit writes what it "
                          "refuses otherwise",
                   .kind = FlagKind::toggle});
  // clang-format on
  return flags;
}

/// What predict alone takes, and what it writes.
std::vector<Flag> flags_of_predict() {
  // clang-format off
  return {
    {.name = "--json", .key = "", .value = "", .group = output,
         .doc = "one JSON document in base units", .kind = FlagKind::toggle, .output = true},
    {.name = "--explain", .key = "", .value = "", .group = output,
         .doc = "add the expanded mapping, who split what, and every price", .kind = FlagKind::toggle, .output = true},
    {.name = "--flops", .key = "", .value = "HOW", .group = output,
         .doc = "add the FLOP/s that programs would print: nvidia or torchtitan", .output = true},
    {.name = "--timeline", .key = "", .value = "", .group = output,
         .doc = "add the pipeline's timeline, drawn", .kind = FlagKind::toggle, .output = true},
    {.name = "--svg", .key = "", .value = "FILE", .group = output, .doc = "the same as a picture", .output = true},
    {.name = "--trace", .key = "", .value = "FILE", .group = output,
         .doc = "the whole step as a trace for ui.perfetto.dev or chrome://tracing", .output = true},
    {.name = "--imbalance", .key = "", .value = "WORDS", .group = output,
         .doc = "add the step of uneven work: \"ranks=2% micro-batches=0.25 slow=1x2.5\" (docs/jobs.md), or none",
         .output = true},
    {.name = "--print-scenario", .key = "", .value = "", .group = output,
         .doc = "print the scenario file that gives the same run", .kind = FlagKind::toggle, .output = true},
  };
  // clang-format on
}

std::vector<Flag> make_run_flags() {
  std::vector<Flag> flags = {{.name = "--as",
      .key = "",
      .value = "FAMILY",
      .group = hardware,
      .doc = "read the network's config.json as llama, gpt2, ... (default: by its architecture)",
      .check = check_family}};
  for (const FieldGroup group : {FieldGroup::hardware, FieldGroup::split, FieldGroup::batch}) {
    for (const RunField& field : run_fields())
      if (field.group == group) flags.push_back(flag_of_field(field));
    if (group == FieldGroup::hardware)
      flags.push_back({.name = "--between",
          .key = "",
          .value = "RATE[,LATENCY]",
          .group = hardware,
          .doc =
              "each GPU's rate to the other kinds of --machine dgx-h100:64,dgx-a100:64 (default: the slower network)",
          .output = true});
    if (group == FieldGroup::split)
      flags.push_back({.name = "--mapping",
          .key = "",
          .value = "FILE",
          .group = split,
          .doc = "a mapping in the notation, instead of the flags above"});
  }
  for (const auto& more : {flags_of_launches(), flags_of_predict()})
    flags.insert(flags.end(), more.begin(), more.end());
  for (const Flag& flag : {emit_flag(output), force_flag}) {
    flags.push_back(flag);
    flags.back().output = true;
  }
  return flags;
}

}  // namespace

std::span<const Flag> run_flags() {
  static const std::vector<Flag> flags = make_run_flags();
  return flags;
}

bool is_launch_flag(std::string_view name) {
  static const std::vector<Flag> flags = flags_of_launches();
  return find_flag(flags, name) != nullptr;
}

std::vector<Flag> study_flags(std::initializer_list<Flag> own) {
  std::vector<Flag> flags;
  const auto own_row = [&](std::string_view name) {
    return std::find_if(own.begin(), own.end(), [&](const Flag& flag) { return flag.name == name; });
  };
  for (const Flag& flag : run_flags()) {
    const auto* instead = own_row(flag.name);
    if (flag.output && (instead == own.end() || flag.group == output)) continue;
    flags.push_back(instead == own.end() ? flag : *instead);
  }
  for (const Flag& flag : own)
    if (find_flag(flags, flag.name) == nullptr) flags.push_back(flag);
  return flags;
}

}  // namespace stepcast::launch
