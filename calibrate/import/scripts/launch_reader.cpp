#include "calibrate/import/scripts/launch_reader.h"

#include <algorithm>
#include <utility>

#include "calibrate/import/scripts/launch_words.h"
#include "calibrate/import/shell/reader.h"
#include "calibrate/import/tables/plain_words.h"

namespace stepcast::calibrate {

LaunchReader::LaunchReader(const ShellCommand& command, bool scripts) : words_(command.words), scripts_(scripts) {
  out_.line = command.line;
  out_.environment = command.environment;
  out_.exported = command.exported;
  out_.notes = command.notes;
}

/// Nothing where no program is run.
std::optional<LaunchLine> LaunchReader::read(const LaunchLine& batch) {
  if (!to_program()) return std::nullopt;
  arguments();
  hold_against_job(batch);
  out_.gpu_kind = batch.gpu_kind;
  out_.notes.insert(out_.notes.end(), batch.notes.begin(), batch.notes.end());
  if (out_.nodes <= 0 && batch.nodes != 0) out_.nodes = batch.nodes;
  const bool sized = out_.gpus_per_node != 0 || out_.ranks != 0;
  if (!sized) out_.gpus_per_node = batch.gpus_per_node, out_.ranks = batch.ranks;
  for (const ArgumentMap* names : {&out_.environment, &out_.exported})
    if (const auto gpus = names->find("NGPU"); !sized && out_.gpus_per_node == 0 && gpus != names->end())
      out_.gpus_per_node = launch_count(gpus->second);
  if (out_.node_gpus == 0) out_.node_gpus = batch.node_gpus;
  if (starts_its_ranks()) take_starts();
  else if (!sized && out_.nodes == 0 && out_.gpus_per_node == 0 && out_.ranks == 0) take_visible();
  if (out_.wrapped) {
    out_.ranks = LaunchLine::unknown_count;
    out_.unknown.push_back(wrapper_ + ", which may start it on several nodes");
  }
  return std::move(out_);
}

bool LaunchReader::to_program() {
  while (at_ < words_.size()) {
    const std::string& word = text();
    const bool module = (word == "-m" || word == "--module") && names_module(launcher_);
    if (module) {
      if (++at_ >= words_.size()) return false;
      if (is_option(text())) {
        module_ahead_ = true;
        continue;
      }
      if (starts_command(words_from(at_))) continue;
      if (launcher_kind(text()) == text()) return take_program();
      enter(words_[at_++].text);
    } else if (starts_command(words_from(at_))) {
      by_environment_ = starts_ranks_by_environment(word), each_device_ = takes_each_device(word);
      take_program();
      out_.program += " " + words_[at_++].text;
      return true;
    } else if (starts_program(word)) {
      if (const std::size_t behind = wrapped_launch(); behind > 0) {
        wrapper_ = std::string(last_of_path(word)), out_.wrapped = true, launcher_.clear(), at_ = behind;
        out_.nodes = out_.ranks = out_.gpus_per_node = 0, out_.launcher_given.clear();
        continue;
      }
      return take_program();
    } else if (scripts_ && is_script_name(word) && !program_behind()) {
      return out_.script = take_program();
    } else if (is_launcher(word)) {
      enter(word), ++at_;
    } else {
      launcher_option();
    }
  }
  return false;
}

/// A word that is none of a launcher's: its file, or the name that torchtune has for it.
bool LaunchReader::starts_program(std::string_view word) const {
  return is_program(word) || (launcher_ == "tune" && is_recipe(word)) || (module_ahead_ && !is_option(word));
}

/// "mason.py --gpus 8 -- accelerate launch ...": where the launch begins that a program starts; 0 where there is
/// none.
std::size_t LaunchReader::wrapped_launch() const {
  for (std::size_t at = at_ + 1; at + 1 < words_.size(); ++at)
    if (words_[at].text == "--") return is_launcher(words_[at + 1].text) ? at + 1 : 0;
  return 0;
}

/// "numactl.sh python train.py": the script starts what stands behind it.
bool LaunchReader::program_behind() const {
  return std::any_of(words_.begin() + static_cast<std::ptrdiff_t>(at_) + 1, words_.end(),
      [](const ShellWord& word) { return is_program(word.text) || word.text == "-m"; });
}

void LaunchReader::leave() {
  if (launcher_ == "bcprun" && out_.nodes == 0) {
    out_.nodes = LaunchLine::unknown_count;
    out_.unknown.emplace_back("--nnodes of bcprun, which takes all nodes of the job without it");
  }
  if (launcher_ != "jsrun" || sets_ != 0 || sets_of_node_ == 0) return;
  out_.ranks = out_.nodes = out_.gpus_per_node = LaunchLine::unknown_count;
  out_.unknown.emplace_back("-n of jsrun, which takes all nodes of the job without it");
}

bool LaunchReader::take_program() {
  leave();
  out_.program = std::string(last_of_path(words_[at_++].text));
  out_.launcher = launcher_;
  if (launcher_ == "tune" && out_.program.ends_with("_single_device")) out_.nodes = out_.gpus_per_node = 1;
  return true;
}

/// What an outer launcher said of ranks counts launchers, once an inner one starts the ranks.
void LaunchReader::enter(std::string_view word) {
  leave();
  take_step();
  launcher_ = launcher_kind(word);
  out_.launcher_given.clear();
  const LaunchOption* row = find_launch_option(launcher_, "");
  if (row != nullptr && row->innermost) out_.ranks = out_.gpus_per_node = 0;
}

void LaunchReader::launcher_option() {
  const ShellWord& word = words_[at_++];
  if (!is_option(word.text)) return;
  const std::size_t glued = glued_value(word.text), equals = glued > 0 ? glued : word.text.find('=');
  GivenArgument given{
      argument_name(word.text.substr(0, equals)), word.text.substr(0, equals), {}, word.line, word.unset};
  const LaunchOption* row = find_launch_option(launcher_, given.name);
  const bool wanted = row != nullptr;
  const bool takes = at_ < words_.size() && !is_launcher_switch(launcher_, given.name) && !is_option(text()) &&
                     (module_ahead_ || !starts_program(text())) && !is_launcher(text()) && !is_script_name(text());
  if (equals != word.text.npos) given.value = word.text.substr(equals + (glued > 0 ? 0 : 1));
  else if (wanted ? at_ < words_.size() : takes) given.unset = words_[at_].unset, given.value = words_[at_++].text;
  if (wanted) take_count(*row, given);
  if (launcher_ == "jsrun") take_sets(given);
  if (launcher_ == "srun") take_node_gpus(given);
  if (launcher_ == "deepspeed" && given.name == "include") take_included(given.value);
  if (hands_over(given.name)) take_variable(given.value);
  if (given.value.empty()) given.value = "true";
  out_.launcher_given.push_back(std::move(given));
}

/// "mpirun -x NAME=1", "bcprun --env NAME=1", "docker run -e NAME=1": a variable of the program.
bool LaunchReader::hands_over(std::string_view name) const {
  if (launcher_ == "mpirun") return name == "x";
  return name == "env" || (name == "e" && (launcher_ == "docker" || launcher_ == "podman" || launcher_ == "bcprun"));
}

void LaunchReader::take_variable(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals != text.npos && equals > 0) out_.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
}

}  // namespace stepcast::calibrate
