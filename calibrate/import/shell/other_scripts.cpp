// Other scripts that a script reads into itself (source) or runs (srun ./train.sh 8), and files that it changes.
#include <algorithm>
#include <cctype>
#include <span>

#include <fmt/format.h>

#include "calibrate/import/shell/reader.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

constexpr std::string_view settings_of_shells[] = {"activate", "bashrc", "profile", "conda", "mamba", "pyenv", "/etc/",
    "modules", "lmod", "setvars", "spack", "venv", "/opt/", "nvm.sh", "ssh-agent",
    "KUBERAY_GEN_RAY_START_CMD"};  // of KubeRay: it starts Ray alone
constexpr std::string_view script_endings[] = {".sh", ".bash", ".slurm", ".sbatch"};

/// Logs hold lines that begin with "source" and ".", too.
bool names_script(std::string_view name) {
  return name.find('/') != name.npos || is_script_name(name) || name.ends_with(".env");
}

/// Behind the last header line in front of the first command; 0 where there is none.
std::size_t header_end(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = std::min(text.find('\n', at), text.size());
    const std::string_view line = stripped(text.substr(at, next - at));
    if (!line.empty() && line[0] != '#') break;
    if (line.starts_with("#SBATCH")) end = next;
    at = next + 1;
  }
  return end;
}

/// The last header line of a job counts; what sbatch is told on its command line goes over all of them.
ShellText with_batch_options(const ShellText& text, const ShellCommand& command, std::size_t script) {
  std::string options = "#SBATCH";
  for (std::size_t i = 1; i < script; ++i) options += " " + command.words[i].text;
  const std::size_t end = header_end(text.marked());
  ShellText front = text, behind = text, all;
  front.cut(0, end), behind.cut(end, std::string::npos);
  if (end > 0) front.put('\n', command.line);
  all.put(front), all.put(options, command.line);
  if (end == 0) all.put('\n', command.line);
  all.put(behind);
  return all;
}

/// "s/STAGE/3/" and "s#STAGE#3#g" of letters alone; false where it may be anything else. A value that nothing sets
/// becomes ${STAGE}, and STAGE one of `unset`.
bool put_in(std::string& text, const ShellText& change, std::vector<std::string>& unset) {
  constexpr char hole = '\x1e';  // a sign that no text has
  std::string shown;
  for (std::size_t i = 0; i < change.size(); ++i) {
    const bool opens = change.marked()[i] == unset_begin;
    shown += opens ? hole : change.marked()[i];
    if (opens) i = std::min(change.marked().find(unset_end, i), change.size());
  }
  const char sign = shown[1];
  const std::size_t middle = shown.find(sign, 2), end = std::min(shown.find(sign, middle + 1), shown.size());
  if (middle == shown.npos || end == shown.size()) return false;
  const std::string from = shown.substr(2, middle - 2), flags = shown.substr(end + 1);
  std::string into = shown.substr(middle + 1, end - middle - 1);
  if (from.empty() || from.find_first_of("$.*[]^\\\x1e") != from.npos) return false;
  if (flags.find_first_not_of('g') != flags.npos) return false;
  std::size_t at = text.find(from);
  if (at == text.npos) return true;
  if (into.find_first_of("&\\") != into.npos) return false;
  if (into.find(hole) != into.npos) into = "${" + from + "}", unset.push_back(from);
  for (; at != text.npos; at = text.find(from, at)) {
    text.replace(at, from.size(), into);
    at += into.size();
    if (flags.empty()) at = std::min(text.find('\n', at), text.size());  // the first of each line
  }
  return true;
}

}  // namespace

bool prepares_shell(std::string_view name) {
  return std::any_of(std::begin(settings_of_shells), std::end(settings_of_shells),
      [&](std::string_view part) { return name.find(part) != name.npos; });
}

bool is_script_name(std::string_view word) {
  return !prepares_shell(word) && std::any_of(std::begin(script_endings), std::end(script_endings),
                                      [&](std::string_view end) { return word.ends_with(end); });
}

/// A script that reads itself, or two that read each other, would go on without end.
std::optional<std::string> ShellReader::text_at_hand(const std::string& name) {
  if (!sourced_ || ++read_scripts_ > most_read_scripts) return std::nullopt;
  auto text = sourced_(name);
  if (text) note_change(name);
  return text;
}

void ShellReader::note_change(const std::string& name) {
  if (const auto changed = out_.changed.find(std::string(last_of_path(name))); changed != out_.changed.end())
    out_.unfollowed.push_back(
        fmt::format("line {} changes {} before it is read, and what it says then is not known", changed->second, name));
}

/// "unset TP", "export -n TP".
Expected<void> ShellReader::take_unset(Place& place) {
  const WordsHere here = words_here(place);
  if (here.cut || here.words.empty()) return pass_over(place);
  const bool forgets = here.words.front().shown() == "unset";
  for (const ShellText& word : std::span(here.words).subspan(1)) {
    const std::string name = word.shown();
    if (const auto known = exported_.find(name); known != exported_.end()) exported_.erase(known);
    if (forgets) variables_.forget(name);
  }
  return step_over(place, here.length);
}

Expected<void> ShellReader::take_source(Place& place) {
  const std::size_t line = place.line();
  const WordsHere here = words_here(place);
  const std::string name = here.words.size() < 2 ? "" : here.words[1].shown();
  const auto own = std::ranges::find(written_, last_of_path(name), &WrittenFile::name);
  const bool wrote = !name.empty() && own != written_.end();
  if (here.cut || name.empty() || (!sourced_ && !wrote)) return pass_over(place);
  const bool changed = out_.changed.contains(std::string(last_of_path(name)));
  const auto text = wrote || changed ? std::nullopt : text_at_hand(name);
  if ((!text && !wrote) || changed) {
    const bool missed = names_script(name) && !prepares_shell(name);
    if (missed && std::find(out_.sourced.begin(), out_.sourced.end(), name) == out_.sourced.end())
      out_.sourced.push_back(name);
    return pass_over(place);
  }
  TRY(step_over(place, here.length));
  const bool handed = here.words.size() > 2;
  const auto outer = variables_.own();
  if (handed) variables_.set_own(ShellOwnArguments(std::span(here.words).subspan(2), line));
  ShellText inner;
  if (wrote) inner = own->text, own->run = true;
  else inner.put(*text, line);
  auto good = take_inner(std::move(inner), place.depth);
  if (handed) variables_.set_own(outer);
  return good;
}

/// The script that a command runs; behind the last word where it runs a program, or none. torchtitan's run_train.sh
/// counts as a program.
std::size_t ShellReader::script_word(const std::vector<ShellWord>& words) const {
  for (std::size_t i = 0; i < words.size() && !words[i].text.ends_with(".py"); ++i)
    if (is_script_name(words[i].text) && last_of_path(words[i].text) != "run_train.sh") return i;
  return words.size();
}

/// A process of its own: it sees what is exported, and leaves nothing behind.
Expected<void> ShellReader::run_script(ShellText text, const ShellCommand& command, const std::vector<ShellText>& texts,
    std::size_t script, const Settings& set, int depth) {
  const auto variables = variables_;
  const auto functions = functions_;
  const auto exported = exported_;
  const auto prefix = prefix_;
  const auto environment = prefix_environment_;
  const Header headed = heads_job_;
  const std::size_t outer_job = job_;
  const bool exports_all = exports_all_;
  exports_all_ = false;
  const bool job = last_of_path(command.words.front().text) == "sbatch";
  heads_job_ = job ? Header::open : Header::none;
  if (job) enter_job(++jobs_);
  if (job && script > 1) text = with_batch_options(text, command, script);
  const std::size_t shell = std::min(shell_word(command.words), script);
  if (!job)
    prefix_.insert(prefix_.end(), command.words.begin(), command.words.begin() + static_cast<std::ptrdiff_t>(shell));
  prefix_environment_ = command.environment;
  functions_.clear();
  keep_exported(command, script, set);
  if (job) drop_outer_sizes();
  // Without a job's header srun asks for nodes itself; inside one SLURM_NNODES is the job's (man srun).
  if (last_of_path(command.words[0].text) == "srun" && variables_.find("SLURM_NNODES") == nullptr) {
    std::vector<ShellWord> options = command.words;
    set_batch_variables(options, script, command.line);
  }
  variables_.set_own(ShellOwnArguments(std::span(texts).subspan(script + 1), command.line));
  auto good = take_inner(std::move(text), depth);
  variables_ = variables, functions_ = functions, exported_ = exported;
  prefix_ = prefix, prefix_environment_ = environment, heads_job_ = headed, exports_all_ = exports_all;
  if (job) enter_job(outer_job);
  return good;
}

/// Exported, set in front of the command, or handed on by srun's --export=ALL,TP=8 and mpirun's -x TP=8. What whoever
/// reads defines is taken for their environment.
void ShellReader::keep_exported(const ShellCommand& command, std::size_t script, const Settings& set) {
  for (std::size_t i = 0; i < script; ++i)
    if (command.words[i].text == "--export=NONE") exported_.clear();
  variables_.keep_if([&](const std::string& name) {
    return exported_.contains(name) || defined_.contains(name) || name.starts_with("SLURM_");
  });
  for (const auto& [name, value] : set) variables_.set(name, value), exported_.insert(name);
  constexpr std::string_view export_option = "--export=";
  for (std::size_t i = 0; i < script; ++i) {
    std::string_view list = command.words[i].text;
    if (i > 0 && command.words[i - 1].text != "-x" && !list.starts_with(export_option)) continue;
    if (list.starts_with(export_option)) list.remove_prefix(export_option.size());
    while (!list.empty()) {
      const std::string_view one = list.substr(0, list.find(','));
      list.remove_prefix(std::min(one.size() + 1, list.size()));
      if (const std::size_t name = assignment_length(one); name > 0)
        set_plain(one.substr(0, name - 1), one.substr(name), command.line), exported_.emplace(one.substr(0, name - 1));
    }
  }
}

/// sed "s/STAGE/3/" ds.json.in | sed "s/BATCH/8/" > ds.json: a file that is written, where the other one is at hand.
/// What a pattern of more than plain letters makes of it is not known.
Expected<void> ShellReader::take_rewritten(Place& place) {
  const std::size_t line = place.line();
  std::optional<std::string> text;
  std::vector<ShellText> changes;
  bool plain = true, more = true;
  while (more) {
    const WordsHere here = words_here(place);
    const std::string_view whole = place.source.text;
    const std::size_t end = std::min(place.at + here.length, whole.size());
    if (here.cut || here.length == 0) return pass_over(place);
    for (const ShellText& word : std::span(here.words).subspan(std::min<std::size_t>(1, here.words.size()))) {
      const std::string shown = word.shown();
      const bool change =
          shown.size() > 2 && shown[0] == 's' && std::ispunct(static_cast<unsigned char>(shown[1])) != 0;
      if (change) changes.push_back(word);
      else if (!shown.starts_with('-')) text = text_at_hand(shown);
      else plain = plain && shown == "-e";
    }
    const std::size_t next = std::min(whole.find_first_not_of(" \t\\\n", end), whole.size());
    more = whole[end - 1] == '|' && whole.substr(next).starts_with("sed ");
    const bool writes = !more && whole[end - 1] == '>' && text;
    TRY(step_over(place, (more || writes ? next : end) - place.at));
    place.line_known = place.line_known && !more && !writes;
    if (!more && !writes) return {};
  }
  const WordsHere target = words_here(place);
  if (target.words.empty()) return pass_over(place);
  const std::string name = target.words.front().shown();
  std::vector<std::string> unset;
  for (const ShellText& change : changes) plain = put_in(*text, change, unset) && plain;
  if (plain) {
    ShellText whole;
    whole.put(*text, line);
    const std::string last(last_of_path(name));
    if (std::ranges::find(written_, last, &WrittenFile::name) != written_.end()) out_.changed.emplace(last, line);
    written_.push_back({last, std::move(whole)});
    out_.files.push_back({name, std::move(*text), line, std::move(unset)});
  } else out_.changed.emplace(last_of_path(name), line);
  return step_over(place, target.length);
}

/// sed -i "s/TP=1/TP=8/" train.sh: what the file says then is not known here.
Expected<void> ShellReader::take_change(Place& place) {
  const std::size_t line = place.line();
  const WordsHere here = words_here(place);
  const bool in_place = std::any_of(here.words.begin(), here.words.end(),
      [](const ShellText& word) { return word.marked().starts_with("-i") || word.marked().starts_with("--in-place"); });
  if (here.cut) return pass_over(place);
  if (!in_place) return take_rewritten(place);
  for (std::size_t i = 2; i < here.words.size(); ++i) out_.changed.emplace(last_of_path(here.words[i].shown()), line);
  return step_over(place, here.length);
}

}  // namespace stepcast::calibrate
