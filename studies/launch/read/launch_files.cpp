// Files that a launch names: written by the script itself, or beside it.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/logs/log_lines.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/json_reader.h"
#include "studies/launch/limits/shown_name.h"
#include "studies/launch/dialects/python_launch.h"
#include "studies/launch/read/launch.h"
#include "studies/launch/read/launch_parts.h"
#include "studies/launch/facts/step_words.h"
#include "studies/launch/limits/named_file.h"

namespace stepcast::launch {
namespace {

/// Arguments whose value is a file with more of them.
constexpr std::string_view file_arguments[] = {"deepspeed_config", "deepspeed", "yaml_cfg", "job.config_file",
    "config_file", "deepspeed_config_file", "fsdp_config"};

char first_letter(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at == text.npos ? '\0' : text[at];
}

struct NamedFile {
  std::string name;          ///< as written
  bool open = false;         ///< holds a variable that nothing sets
  std::string section = {};  ///< that its names are read in
  bool arguments = false;    ///< it has arguments of the program, and not settings of an engine
};

bool looks_like_config(std::string_view name) {
  return name.ends_with(".json") || name.ends_with(".yaml") || name.ends_with(".yml") || name.ends_with(".toml");
}

const std::string* last_value(const std::vector<GivenArgument>& arguments, std::string_view name) {
  const std::string* found = nullptr;
  for (const GivenArgument& given : arguments)
    if (given.name == name) found = &given.value;
  return found;
}

std::vector<NamedFile> named_files(const Launch& launch, const LaunchLine* line) {
  std::vector<NamedFile> files;
  const auto add = [&](const GivenArgument& given) {
    const bool config = looks_like_config(given.value), own = given.name.empty() || given.name == "config";
    if (given.value != "true" && !says_none(given.value) && (config || given.name != "deepspeed"))
      files.push_back({given.value, !given.unset.empty(), given.name == "fsdp_config" ? "fsdp_config." : "", own});
  };
  for (const GivenArgument& given : launch.arguments) {
    const std::string_view part = std::string_view(given.name).substr(given.name.rfind('.') + 1);
    const bool whole =
        std::find(std::begin(file_arguments), std::end(file_arguments), given.name) != std::end(file_arguments);
    // TRL's parser; torchtitan's names a function
    const bool own = given.name == "config" && line != nullptr && looks_like_config(given.value) &&
                     launch.framework->id != "torchtitan";
    // ms-swift's --fsdp is a kind, or a file with it
    const bool kind = given.name == "fsdp" && line != nullptr && looks_like_config(given.value);
    if (whole || own || kind || part == "deepspeed_config_file") add(given);
    // Hydra's list of what a configuration is made of: "train: 7b" is train/7b.yaml beside it
    if (given.name.starts_with("defaults.") && launch.framework->id == "flagscale" && part != given.name)
      files.push_back({fmt::format("{}/{}.yaml", part, given.value), !given.unset.empty()});
  }
  if (line == nullptr) return files;
  const bool hydra = launch.framework->hydra;
  if (const std::string* name = last_value(line->given, "config_name"); name != nullptr && hydra) {
    const std::string* path = last_value(line->given, "config_path");
    files.push_back({(path != nullptr ? *path + "/" : "") + *name + (looks_like_config(*name) ? "" : ".yaml"),
        name->find('$') != std::string::npos});
  }
  for (const GivenArgument& word : line->positional)
    if (looks_like_config(word.value)) add(word);
  if (line->launcher == "accelerate")
    for (const GivenArgument& given : line->launcher_given)
      if (given.name == "config_file") add(given);
  if (launch.find("job.config_file") == nullptr)
    if (const auto file = launch.environment.find("CONFIG_FILE"); file != launch.environment.end())
      files.push_back({file->second, false});
  return files;
}

/// By its whole name, else by the only one with its last part.
const LaunchFile* written_file(const LaunchLine* line, const std::string& name) {
  if (line == nullptr) return nullptr;
  for (const LaunchFile& file : line->files)
    if (file.name == name) return &file;
  for (const LaunchFile& file : line->files)
    if (last_of_path(file.name) == last_of_path(name)) return &file;
  return nullptr;
}

/// What a file says goes in front: the command line's own come later, and the last of a name counts.
void put_in_front(Launch& launch, std::vector<GivenArgument> read, const std::string& file) {
  for (const GivenArgument& given : read)
    if (const GivenArgument* own = launch.find(given.name); own != nullptr && own->value != given.value)
      launch.notes.push_back(fmt::format(
          "{} is {} in {} and {} on the command line, which counts", given.name, given.value, file, own->value));
  launch.arguments.insert(
      launch.arguments.begin(), std::make_move_iterator(read.begin()), std::make_move_iterator(read.end()));
}

/// JSON with ${NAME} where a value stands: as a string, so that the rest can be read.
std::string with_quoted_variables(const LaunchFile& file) {
  if (file.unset.empty() || first_letter(file.text) != '{') return file.text;
  std::string out;
  bool quoted = false;
  for (std::size_t at = 0; at < file.text.size(); ++at) {
    const char c = file.text[at];
    if (c == '"' && (at == 0 || file.text[at - 1] != '\\')) quoted = !quoted;
    const std::size_t close = !quoted && c == '$' ? file.text.find('}', at) : std::string::npos;
    if (close == std::string::npos) {
      out += c;
      continue;
    }
    out += '"' + file.text.substr(at, close + 1 - at) + '"';
    at = close;
  }
  return out;
}

/// What the command line and the words behind -- say of what is in a file, by the names that it has there: OmegaConf
/// puts it in before it resolves references.
std::vector<GivenArgument> overrides(const Launch& launch, const std::string& section) {
  std::vector<GivenArgument> over;
  for (const GivenArgument& given : launch.arguments)
    if (given.name.starts_with(section)) over.push_back(given), over.back().name.erase(0, section.size());
  return over;
}

Expected<void> take_written(Launch& launch, const LaunchFile& file, const std::string& section) {
  const std::string first = fmt::format("{}:{} ({})", launch.where, file.line, file.name);
  auto read = read_config_arguments(with_quoted_variables(file), first, overrides(launch, section));
  if (!read && !file.unset.empty())
    return fail(read.error().where,
        fmt::format("{}; ${} in it is set by nothing", read.error().what, fmt::join(file.unset, ", $")),
        fmt::format("--define {}=VALUE", file.unset.front()));
  if (!read) return tl::unexpected(read.error());
  resolve_references(*read, file.unset);
  for (GivenArgument& given : *read) given.line += file.line - 1, given.name.insert(0, section);
  return put_in_front(launch, std::move(*read), file.name), Expected<void>{};
}

Expected<void> take_beside(Launch& launch, const std::string& path, const std::string& section) {
  TRY(const auto text, read_text_file(path));
  TRY(auto read, read_config_arguments(text, path, overrides(launch, section)));
  for (GivenArgument& given : read) given.file = path, given.name.insert(0, section);
  launch.notes.push_back(fmt::format("{} is read", path));
  return put_in_front(launch, std::move(read), path), Expected<void>{};
}

/// What a file with the program's own arguments says nothing else says; nor what accelerate's says of the split, but
/// for --zero on stepcast's own line.
void note_missing(Launch& launch, const LaunchLine* line, const NamedFile& file) {
  const std::string& name = file.name;
  launch.unread.push_back(name);
  if (file.arguments) return void(launch.lost = name);
  if (line == nullptr || line->launcher != "accelerate" || launch.told.contains(FieldId::zero)) return;
  for (const char* told : {"use_deepspeed", "use_fsdp", "use_megatron_lm", "zero_stage", "deepspeed_config_file"})
    if (last_value(line->launcher_given, told) != nullptr) return;
  if (launch.find("deepspeed") != nullptr) return;
  const std::string* split = last_value(line->launcher_given, "config_file");
  if (split != nullptr && *split == name)
    launch.unfollowed.push_back(fmt::format(
        "{}: {} is not there, and it tells accelerate how to split the run: --files-from FOLDER that has it, or "
        "--zero N",
        launch.where, shown_name(name)));
}

/// Where torchtitan looks for the functions of `--module llama3` (torchtitan/config/manager.py): among its models, its
/// experiments, and as a package of somebody's own.
Expected<std::string> registry_of(const std::string& module, const LaunchFolders& folders) {
  std::string folder = module;
  std::ranges::replace(folder, '.', '/');
  const std::string files[] = {fmt::format("torchtitan/models/{}/config_registry.py", folder),
      fmt::format("torchtitan/experiments/{}/config_registry.py", folder), folder + "/config_registry.py",
      folder + ".py"};
  std::error_code none;
  for (const std::string& file : files)
    for (const std::string& at : folders)
      if (std::filesystem::exists(std::filesystem::path(at) / file, none)) return named_file(folders, file);
  return named_file(folders, files[0]);  // by its last parts
}

/// What the function that --config names sets; without its text nothing of the run is known.
Expected<void> take_registry(
    Launch& launch, const LaunchFolders& folders, const std::map<std::string, std::string>& defined) {
  const GivenArgument *module = launch.find("module"), *config = launch.find("config");
  if (launch.framework->id != "torchtitan" || (module == nullptr && config == nullptr)) return {};
  if (module == nullptr || config == nullptr)
    return launch.unfollowed.push_back(fmt::format("{}: --module MODULE and --config NAME together say what is "
                                                   "trained, and only one of them is there",
               place_of(launch, module == nullptr ? *config : *module))),
           Expected<void>{};
  const bool open = !module->unset.empty() || !config->unset.empty();
  TRY(const auto path, open ? Expected<std::string>() : registry_of(module->value, folders));
  if (path.empty()) {
    launch.lost = fmt::format("config_registry.py of torchtitan's module {:.60}", module->value);
    return launch.unread.push_back(launch.lost), Expected<void>{};
  }
  TRY(const auto text, read_text_file(path));
  TRY(Launch read, open_torchtitan_function(text, path, config->value, defined));
  for (GivenArgument& given : read.arguments) given.file = path;
  launch.notes.push_back(fmt::format("{} of {} is read", config->value, path));
  launch.notes.insert(launch.notes.end(), read.notes.begin(), read.notes.end());
  return put_in_front(launch, std::move(read.arguments), path), Expected<void>{};
}

/// "worker-1 slots=8" each; --num_gpus takes so many of each node.
Expected<void> take_hosts(Launch& launch, const LaunchLine& line, const LaunchFolders& folders) {
  const std::string* name = last_value(line.launcher_given, "hostfile");
  if (line.launcher != "deepspeed" || name == nullptr || *name == "true" || line.nodes != 0) return {};
  TRY(const auto path, named_file(folders, *name));
  if (path.empty()) {
    launch.gpus = 0;
    launch.untold_gpus =
        fmt::format("how many GPUs the launcher starts hangs on {}, which is not there", shown_name(*name));
    launch.notes.push_back(launch.untold_gpus);
    return launch.unread.push_back(*name), Expected<void>{};
  }
  TRY(const auto text, read_text_file(path));
  std::int64_t gpus = 0, each = 0;
  for (const LogLine& host : log_lines(text)) {
    const std::size_t slots = host.text.find("slots=");
    if (slots == std::string::npos || host.text.starts_with('#')) continue;
    std::int64_t count = 0;
    const std::string_view number = std::string_view(host.text).substr(slots + 6);
    std::from_chars(number.data(), number.data() + number.size(), count);
    constexpr std::int64_t most = 1024;
    if (line.gpus_per_node > 0) count = std::min(count, line.gpus_per_node);
    if (count > 0 && count <= most) gpus += count, each = count;
  }
  launch.gpus = gpus, launch.gpus_per_node = each;
  launch.notes.push_back(fmt::format("{}: {} GPUs", path, gpus));
  return {};
}

}  // namespace

bool has_surroundings(const std::string& where) {
  return where != words_alone && !looks_like_config(where) && !where.ends_with(".txt") && !where.ends_with(".log");
}

Expected<void> add_named_files(Launch& launch, const LaunchLine* line, const LaunchFolders& folders,
    const std::map<std::string, std::string>& defined) {
  constexpr std::size_t most_files = 8;
  std::vector<std::string> done;
  for (std::size_t taken = 0; taken < most_files; ++taken) {
    // A file that was read may name another one.
    const auto files = named_files(launch, line);
    const auto next = std::find_if(files.begin(), files.end(),
        [&](const NamedFile& file) { return std::find(done.begin(), done.end(), file.name) == done.end(); });
    if (next == files.end()) break;
    done.push_back(next->name);
    if (line != nullptr)
      if (const auto change = line->changed.find(std::string(last_of_path(next->name))); change != line->changed.end())
        launch.unfollowed.push_back(fmt::format(
            "{}: line {} changes {}, and what it says then is not known", launch.where, change->second, next->name));
    if (const LaunchFile* file = written_file(line, next->name)) {
      TRY(take_written(launch, *file, next->section));
      continue;
    }
    TRY(const auto path, next->open ? Expected<std::string>() : named_file(folders, next->name));
    if (path.empty()) note_missing(launch, line, *next);
    else TRY(take_beside(launch, path, next->section));
  }
  if (line != nullptr) TRY(take_registry(launch, folders, defined));
  return line != nullptr && !folders.empty() ? take_hosts(launch, *line, folders) : Expected<void>{};
}

}  // namespace stepcast::launch
