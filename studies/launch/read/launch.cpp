#include "studies/launch/read/launch.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/logs/log_lines.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/json_reader.h"
#include "model/base/text.h"
#include "studies/launch/limits/shown_name.h"
#include "studies/launch/jobs/compose_text.h"
#include "studies/launch/jobs/job_manifest.h"
#include "studies/launch/jobs/machine_task.h"
#include "studies/launch/read/command_words.h"
#include "studies/launch/dialects/megatron_case.h"
#include "studies/launch/dialects/mosaic_job.h"
#include "studies/launch/dialects/primus_torchtitan.h"
#include "studies/launch/dialects/python_launch.h"
#include "studies/launch/dialects/settle_dialect.h"
#include "studies/launch/facts/dialects.h"
#include "studies/launch/limits/named_file.h"
#include "studies/launch/limits/open_conditions.h"
#include "studies/launch/read/launch_parts.h"
#include "studies/launch/read/text_kinds.h"

namespace stepcast::launch {
namespace {

Expected<void> check_source(std::string_view text, const std::string& where, const LaunchSource& source) {
  for (const auto& [name, value] : source.defined)
    if (text.find(name) == text.npos && !takes_any_argument(text, name))
      return fail("--define", fmt::format("'{:.60}' does not occur in {}", name, where),
          "a variable of the launch, or 1 for the first argument of the script");
  return {};
}

/// "PRIMUS_TP:1" of Primus' ${PRIMUS_TP:1}: the environment's, else what stands behind the colon.
void put_primus_defaults(Launch& launch, const LaunchSource& source) {
  for (GivenArgument& given : launch.arguments)
    for (const std::string& name : std::exchange(given.unset, {})) {
      const std::size_t colon = name.find(':'), at = given.value.find("${" + name + "}");
      const auto defined = source.defined.find(name.substr(0, colon));
      if (colon == name.npos || at == std::string::npos) given.unset.push_back(name);
      else
        given.value.replace(
            at, name.size() + 3, defined == source.defined.end() ? name.substr(colon + 1) : defined->second);
    }
}

/// What a script sets goes over what the user defines; references of configurations are put in here.
void put_defined(Launch& launch, const LaunchSource& source) {
  for (GivenArgument& given : launch.arguments)
    for (auto name = given.unset.begin(); name != given.unset.end();) {
      const auto defined = source.defined.find(*name);
      const std::string written = "${" + *name + "}";
      std::size_t at = given.value.find(written);
      const bool put = defined != source.defined.end() && at != std::string::npos;
      for (; put && at != std::string::npos; at = given.value.find(written, at + defined->second.size()))
        given.value.replace(at, written.size(), defined->second);
      name = put ? given.unset.erase(name) : std::next(name);
    }
}

/// "--bf16 $EXTRA": bf16 takes no value, so the variable holds further arguments.
void split_flags(Launch& launch) {
  for (GivenArgument& given : launch.arguments) {
    const ArgumentFact* fact = given.unset.empty() ? nullptr : launch.framework->table().find(given.name);
    const bool bare = !given.value.empty() && given.value[0] == '$' && given.value.find(' ') == std::string::npos;
    if (fact == nullptr || fact->takes != "flag" || !bare || !given.spelled.starts_with("--")) continue;
    launch.notes.push_back(
        fmt::format("{} in line {} is not set: arguments in it are not known", given.value, given.line));
    given.value = "true";
    given.unset.clear();
  }
}

Expected<void> check_unclosed(const LaunchLine& line, const std::string& where) {
  if (line.unclosed.empty()) return {};
  const auto& [name, at] = *line.unclosed.begin();
  return fail(fmt::format("{}:{}", where, at),
      fmt::format("the value of {} has a quote or bracket that does not close", name), "close it before the launch");
}

Expected<void> check_release(const Launch& launch, const LaunchSource& source) {
  if (source.release.empty() || launch.framework->table().has_release(source.release)) return {};
  std::vector<std::string> ids;
  for (const Release& release : launch.framework->table().releases()) ids.push_back(release.id);
  return fail("--release", fmt::format("{} has no release '{:.40}' here", launch.framework->name, source.release),
      name_hint(source.release, ids));
}

std::vector<std::string_view> framework_flags() {
  std::vector<std::string_view> flags;
  for (const LaunchFlag& row : launch_flags())
    if (!row.usual.empty()) flags.push_back(row.flag);
  return flags;
}

std::string other_flags(const std::string& nearest) {
  if (!nearest.empty()) return fmt::format("did you mean '{}'?", nearest);
  return fmt::format("launches of other frameworks have flags of their own: {}", fmt::join(framework_flags(), ", "));
}

constexpr std::string_view how_to_find = "the file beside the launch, or --files-from FOLDER that has it";

/// At least one argument must be one that the framework knows.
Expected<void> check_names(const Launch& launch) {
  const ArgumentTable& table = launch.framework->table();
  if (launch.arguments.empty() && !launch.unread.empty())
    return fail(launch.where,
        fmt::format("{} is not there, and the launch has no arguments beside it", shown_name(launch.unread.front())),
        std::string(how_to_find));
  if (launch.arguments.empty()) return fail(launch.where, "no arguments", std::string(launch_forms));
  const auto known = [&](const GivenArgument& given) { return table.find(given.name) != nullptr; };
  if (table.facts().empty() || std::any_of(launch.arguments.begin(), launch.arguments.end(), known)) return {};
  const GivenArgument& first = launch.arguments.front();
  return fail(first.line > 0 ? fmt::format("{}:{}", launch.where, first.line) : launch.where,
      launch.arguments.size() == 1 ? fmt::format("{:.60} is no argument of {}", first.spelled, launch.framework->name)
                                   : fmt::format("none of {} names is an argument of {}: {:.60}, ...",
                                         launch.arguments.size(), launch.framework->name, first.spelled),
      other_flags(nearest_name(first.name, table.names())));
}

/// One flag takes whatever is built on Megatron-LM; of others a flag says what the user believes it to be.
bool is_of_megatron(std::string_view id) {
  return (id.starts_with("megatron") && id != "megatron-swift") || id == "nemo";
}

/// What a dialect lacks may stand in a file that is not there.
Expected<void> settle_with_files(Launch& launch) {
  const auto settled = settle_dialect(launch);
  if (settled && !(launch.arguments.empty() && !launch.lost.empty())) return {};
  if (launch.lost.empty()) return settled;
  return fail(launch.where,
      fmt::format("{} is not there, and it has arguments of the launch{}", shown_name(launch.lost),
          settled ? "" : fmt::format("; without it: {}", settled.error().what)),
      std::string(how_to_find));
}

/// Is it known whose launch it is?
Expected<void> check_framework(const Launch& launch) {
  if (launch.framework != nullptr) return {};
  if (!launch.unread.empty())
    return fail(launch.where,
        fmt::format("{} is not there, and without it neither the program nor the arguments tell which framework the "
                    "launch is of",
            shown_name(launch.unread.front())),
        std::string(how_to_find));
  return fail(launch.where, "neither its program nor its arguments tell which framework it is of",
      fmt::format("the flag of its framework in place of --launch: {}", fmt::join(framework_flags(), ", ")));
}

void doubt_framework(Launch& launch, const LaunchSource& source) {
  if (source.flag != nullptr && source.flag->usual.empty())
    return launch.notes.push_back(fmt::format("by its program or names a launch of {}", launch.framework->name));
  if (source.flag == nullptr || source.flag->usual == launch.framework->id) return;
  if (is_of_megatron(source.flag->usual) && is_of_megatron(launch.framework->id)) return;
  if (flag_of_framework(*launch.framework) == source.flag->flag) return;  // one flag may take two programs
  const bool primus = launch.find("preset_framework") != nullptr;         // around another engine
  if (primus && source.flag->usual == "primus") return;
  launch.notes.push_back(
      fmt::format("by its program or names a launch of {}, and read as that in spite of {}; its own flag is {}",
          launch.framework->name, source.flag->flag, primus ? "--primus" : flag_of_framework(*launch.framework)));
}

void take_line(Launch& launch, const LaunchLine& line) {
  launch.arguments = line.given;
  if (line.launcher == "accelerate")
    launch.arguments.insert(launch.arguments.begin(), line.launcher_given.begin(), line.launcher_given.end());
  launch.environment = line.environment;
  launch.environment.insert(line.exported.begin(), line.exported.end());
  launch.gpu_kind = line.gpu_kind;
  launch.gpus = line.gpus();
  launch.gpus_per_node = std::max<std::int64_t>(0, line.gpus_per_node);
  launch.notes.insert(launch.notes.end(), line.notes.begin(), line.notes.end());
  launch.unread.insert(launch.unread.end(), line.sourced.begin(), line.sourced.end());
  for (const std::string& what : line.unfollowed)
    launch.unfollowed.push_back(fmt::format("{}: {}", launch.where, what));
  if (!line.doubted.empty()) {
    launch.untold_gpus = fmt::format("how many GPUs the launcher starts is not clear: {}", line.doubted);
    return launch.notes.push_back(launch.untold_gpus);
  }
  const bool unknown = line.nodes < 0 || line.gpus_per_node < 0 || line.ranks < 0;
  if (!unknown || launch.gpus > 0) return;
  launch.untold_gpus = fmt::format("how many GPUs the launcher starts hangs on what nothing sets: {}",
      line.unknown.empty() ? "the job's header" : line.unknown.front());
  launch.notes.push_back(launch.untold_gpus);
}

/// What accelerate or its file is told of GPUs holds for one node where another program starts it, maybe on several.
void drop_counts_of_wrapped(Launch& launch) {
  std::erase_if(launch.arguments, [](const GivenArgument& given) {
    return given.file != "--" && (given.name == "num_processes" || given.name == "num_machines");
  });
}

/// Behind the launch's own, so that they count; files that it names are read later and do not take their place.
void add_words(Launch& launch, const LaunchSource& source) {
  if (source.file == "--" || source.file.empty()) return;
  for (GivenArgument& given : launch_of_words(source.words).given) {
    given.line = 0, given.file = "--";
    launch.arguments.push_back(std::move(given));
  }
}

Expected<Launch> finish_launch(
    Launch launch, const LaunchLine* line, const LaunchSource& source, const LaunchFolders& folders) {
  launch.release = source.release;
  launch.told = source.told;
  const std::string* program = line != nullptr ? &line->program : nullptr;
  TRY(check_dialect(launch, program));
  const std::string_view usual = source.flag != nullptr ? source.flag->usual : "megatron-lm";
  const Framework* shown = framework_of(launch, line, usual);
  launch.framework = shown != nullptr ? shown : find_framework("megatron-lm");  // until its files show another
  add_words(launch, source);  // in front of the files: references in those take them
  TRY(add_named_files(launch, line, folders, source.defined));
  TRY(check_dialect(launch, program));
  if (line != nullptr && line->wrapped) drop_counts_of_wrapped(launch);
  // A file may show whose launch it is.
  launch.framework = framework_of(launch, line, shown != nullptr ? shown->id : usual);
  TRY(check_framework(launch));
  doubt_framework(launch, source);
  if (line != nullptr) launch.program = line->program;
  else if (const GivenArgument* entry = launch.find("experiment.task.entrypoint"))  // FlagScale's
    launch.program = last_of_path(entry->value);
  if (line != nullptr) name_command_words(launch, line->positional);
  put_defined(launch, source);
  if (launch.framework->id == "primus") put_primus_defaults(launch, source);
  split_flags(launch);
  TRY(settle_with_files(launch));
  TRY(check_release(launch, source));
  TRY(check_names(launch));
  return launch;
}

Expected<Launch> launch_of_script(const std::vector<LaunchLine>& lines, const std::string& where,
    const LaunchSource& source, const LaunchFolders& folders, const LaunchAgain& again) {
  Launch launch;
  launch.where = where;
  TRY(const auto line, training_launch(lines, where, launch.notes));
  TRY(check_unclosed(*line, where));
  take_line(launch, *line);
  TRY(auto finished, finish_launch(std::move(launch), line, source, folders));
  const auto open = open_conditions(*line, *finished.framework, again);
  if (!open.empty()) finished.unfollowed.push_back(fmt::format("{}: {}", where, open));
  return finished;
}

/// A key of OmegaConf's files that other values refer to, and that its program does not know, stands for itself there.
void drop_variables(Launch& launch, std::string_view text) {
  const Framework& framework = *launch.framework;
  if (framework.id != "torchtune" && framework.id != "llm-foundry") return;
  std::erase_if(launch.arguments, [&](const GivenArgument& given) {
    return framework.table().find(given.name) == nullptr && text.find("${" + given.name + "}") != text.npos;
  });
}

Expected<Launch> launch_of_config(
    std::string_view text, const std::string& where, const LaunchSource& source, const LaunchFolders& folders) {
  const std::vector<GivenArgument> words = launch_of_words(source.words).given;
  TRY(auto read, read_config_arguments(text, where, words));
  Launch launch;
  launch.where = where;
  launch.arguments = std::move(read);
  if (is_mosaic_job(launch.arguments)) TRY(open_mosaic_job(launch, words));
  if (is_megatron_case(launch)) open_megatron_case(launch);
  if (is_primus_torchtitan(launch)) {
    put_primus_defaults(launch, source);
    TRY(open_primus_torchtitan(launch));
  }
  TRY(auto finished, finish_launch(std::move(launch), nullptr, source, folders));
  drop_variables(finished, text);
  return finished;
}

Expected<Launch> launch_of_python(
    const std::string& text, const std::string& where, const LaunchSource& source, const LaunchFolders& folders) {
  LaunchSource others = source;
  if (others.flag != nullptr && others.flag->usual.empty()) others.flag = find_launch_flag("--nemo");
  TRY(auto launch, open_python_launch(text, where, others.words, source.defined));
  TRY(auto finished, finish_launch(std::move(launch), nullptr, others, folders));
  if (others.flag != source.flag)
    finished.notes.push_back(fmt::format("by its program or names a launch of {}", finished.framework->name));
  return finished;
}

/// Scripts that a script reads into itself lie in the folders that it may open.
SourcedText sourced_from(const LaunchFolders& folders, std::string& seen) {
  if (folders.empty()) return {};
  return [&folders, &seen](const std::string& name) -> std::optional<std::string> {
    const auto path = named_file(folders, name);
    if (!path || path->empty()) return std::nullopt;
    auto text = read_text_file(*path);
    if (text) seen += *text + "\n";
    return text ? std::optional(std::move(*text)) : std::nullopt;
  };
}

/// The launch of a script with some of its open variables empty; nothing where there is none.
LaunchAgain launch_again(
    const std::string& text, const std::string& where, const LaunchSource& source, const SourcedText& sourced) {
  return [&](const std::set<std::string>& empty) -> std::optional<LaunchLine> {
    std::vector<std::string> notes;
    const auto others = find_launches(text, where, source.defined, sourced, &empty);
    const auto line = others ? training_launch(*others, where, notes) : tl::unexpected(others.error());
    return line ? std::optional(**line) : std::nullopt;
  };
}

/// What a pod runs may be a text of the same file; "/s/./run.sh" and "/s//run.sh" are "/s/run.sh".
SourcedText with_files_of(const JobManifest& job, const SourcedText& others) {
  if (job.files.empty()) return others;
  return [&job, others](const std::string& name) -> std::optional<std::string> {
    const auto plain = [](const std::string& path) { return std::filesystem::path(path).lexically_normal(); };
    const auto file = std::ranges::find(job.files, plain(name), [&](const LaunchFile& one) { return plain(one.name); });
    if (file != job.files.end()) return file->text;
    return others ? others(name) : std::nullopt;
  };
}

Expected<Launch> launch_of_manifest(const std::string& text, const std::string& where, const LaunchSource& source,
    const LaunchFolders& folders, const SourcedText& others) {
  TRY(const auto job, read_job_manifest(text, where, source.defined));
  const SourcedText sourced = with_files_of(job, others);
  TRY(auto lines, find_launches(job.script, where, source.defined, sourced));
  for (LaunchLine& line : lines) {
    TRY(put_counts(job, where, line));
    line.files.insert(line.files.end(), job.files.begin(), job.files.end());
  }
  TRY(auto launch, launch_of_script(lines, where, source, folders, launch_again(job.script, where, source, sourced)));
  if (!job.untold.empty())
    launch.notes.push_back(fmt::format("its pods have variables of {}, which is not in the file: where the launch does "
                                       "not set these itself, nothing does",
        fmt::join(job.untold, ", ")));
  if (job.nodes > 0)
    launch.notes.push_back(
        fmt::format("a {} of {} pods that train, with {} GPUs each", job.kind, job.nodes, job.gpus_per_node));
  return launch;
}

/// The one document of a file of YAML that may be a task; nothing where it is none.
std::optional<MachineTask> task_of_text(const std::string& text, const std::string& where) {
  if (!looks_like_machine_task(text)) return std::nullopt;
  const auto documents = read_yaml(text, where);
  return documents && documents->size() == 1 ? machine_task(documents->front()) : std::nullopt;
}

Expected<Launch> launch_of_task(const MachineTask& task, const std::string& where, const LaunchSource& source,
    const LaunchFolders& folders, const SourcedText& sourced) {
  TRY(auto lines, find_launches(task.script, where, source.defined, sourced));
  for (LaunchLine& line : lines)
    if (line.gpu_kind.empty()) line.gpu_kind = task.gpu_kind;
  return launch_of_script(lines, where, source, folders, launch_again(task.script, where, source, sourced));
}

/// Its text is YAML with services, as no script is.
std::optional<YamlNode> compose_file(const std::string& text, const std::string& where) {
  if (text.starts_with("#!") || text.find("services:") == std::string::npos) return std::nullopt;
  auto documents = read_yaml(text, where);
  if (!documents || documents->size() != 1 || !is_compose_file(documents->front())) return std::nullopt;
  return std::move(documents->front());
}

Expected<Launch> launch_of_compose(const YamlNode& document, const std::string& where, const LaunchSource& source,
    const LaunchFolders& folders, const SourcedText& sourced) {
  TRY(const auto script, compose_script(document, where));
  TRY(const auto lines, find_launches(script, where, source.defined, sourced));
  return launch_of_script(lines, where, source, folders, launch_again(script, where, source, sourced));
}

Expected<Launch> launch_of_text(const std::string& text, const std::string& where, const LaunchSource& source,
    const LaunchFolders& folders, const SourcedText& sourced) {
  TRY(check_launch_bytes(text, where));
  if (is_job_manifest(text, where)) return launch_of_manifest(text, where, source, folders, sourced);
  if (const auto compose = compose_file(text, where))
    return launch_of_compose(*compose, where, source, folders, sourced);
  if (const auto task = task_of_text(text, where)) return launch_of_task(*task, where, source, folders, sourced);
  if (is_python_launch(text)) return launch_of_python(text, where, source, folders);
  if (!text.starts_with("#!")) TRY(check_text_dialect(text, where));
  const std::string_view first = first_words(text);
  const bool blank = stripped(text).empty();
  if (first.empty())
    return fail(where, blank ? "the file is empty" : "nothing but comments", std::string(launch_forms));
  if (is_argument_file(first)) {
    TRY(const auto lines, find_launches("A=( " + text + "\n)\npython train.py \"${A[@]}\"\n", where, source.defined));
    return launch_of_script(lines, where, source, folders, {});
  }
  const bool script = text.starts_with("#!"), json = first.starts_with('{');
  const auto lines = json ? Expected<std::vector<LaunchLine>>{} : find_launches(text, where, source.defined, sourced);
  const bool config = config_form(text).has_value() && !script;
  if (lines && !lines->empty() && !(config && is_mosaic_text(text, where)))
    return launch_of_script(*lines, where, source, folders, launch_again(text, where, source, sourced));
  if (!lines && (script || !config)) return tl::unexpected(lines.error());
  if (!config) return launch_of_script({}, where, source, folders, {});
  auto launch = launch_of_config(text, where, source, folders);
  if (!launch && is_script_like_toml(text, where)) return launch_of_script({}, where, source, folders, {});
  return launch;
}

/// What --define names must be in the launch or in a script that it reads.
Expected<Launch> checked_launch(
    const std::string& text, const std::string& where, const LaunchSource& source, const LaunchFolders& folders) {
  std::string seen;
  auto launch = launch_of_text(text, where, source, folders, sourced_from(folders, seen));
  TRY(check_source(text + "\n" + seen, where, source));
  return launch;
}

LaunchFolders folders_of(const LaunchSource& source, const std::string& beside) {
  LaunchFolders folders = {beside};
  folders.insert(folders.end(), source.folders.begin(), source.folders.end());
  return folders;
}

}  // namespace

Expected<Launch> read_launch_text(const std::string& text, const std::string& where, const LaunchSource& source) {
  return checked_launch(text, where, source, {});
}

Expected<Launch> read_launch(const LaunchSource& source) {
  if (source.file == "--" || source.file.empty()) {
    if (source.words.empty())
      return fail(source.flag != nullptr ? std::string(source.flag->flag) : "--", "no words behind --",
          "-- --tensor-model-parallel-size 8 ...");
    std::string all;
    for (const std::string& word : source.words) all += word + " ";
    TRY(check_source(all, "the command line", source));
    LaunchLine line = launch_of_words(source.words);
    for (auto* given : {&line.given, &line.positional, &line.launcher_given})
      for (GivenArgument& argument : *given) argument.line = 0;
    Launch launch;
    launch.where = words_alone;
    take_line(launch, line);
    return finish_launch(std::move(launch), &line, source, folders_of(source, "."));
  }
  TRY(const auto text, read_text_file(source.file));
  const std::string folder = std::filesystem::path(source.file).parent_path().string();
  return checked_launch(text, source.file, source, folders_of(source, folder.empty() ? "." : folder));
}

}  // namespace stepcast::launch
