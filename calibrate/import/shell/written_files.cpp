// Files that a shell script writes itself, by here-documents and echo, and runs or names later.
#include <algorithm>
#include <utility>

#include "calibrate/import/shell/reader.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
/// True where the line opens one: it is read (or passed over, where nobody wants it).
bool ShellReader::take_heredoc(Place& place) {
  if (place.rest().find("<<") == std::string_view::npos || missing_ends_ > most_unclosed) return false;
  const auto here = heredoc_at(place.source.text, place.at);
  if (!here) return ++missing_ends_, false;
  if (here->header.ends_with("$(cat")) return false;  // a value: parameter.cpp
  inner_ = {};
  const std::size_t line = place.counter.line(place.source, here->body);
  const ShellSource body = place.source.part(here->body, here->end - here->body, line);
  place.at = here->next;
  if (!blocks_.active()) return true;
  ShellText text;
  if (here->expands) text = ShellWords(body, &variables_).piece(false);
  LineCounter lines;
  for (std::size_t i = 0; !here->expands && i < body.text.size(); ++i) text.put(body.text[i], lines.line(body, i));
  keep_body(std::move(text), *here, line, place.depth);
  return true;
}

void ShellReader::keep_body(ShellText text, const Heredoc& here, std::size_t line, int depth) {
  const std::string_view program = last_of_path(first_token(here.header));
  if (program == "read" && here.header.find(" -d") != here.header.npos) {  // read -r -d '' ARGS <<EOF
    const std::string name(here.header.substr(here.header.find_last_of(" \t") + 1));
    if (assignment_length(name + "=") > 0) apply({{name, ShellValue{{text}, false, line, 0, {}}}}, true);
    return;
  }
  ShellWords header(ShellSource(here.header, line), &variables_);
  for (bool reads = false; header.next();) {  // what it takes of the text's first line is not followed
    const std::string word = header.word().shown();
    if (reads && assignment_length(word + "=") > 0) variables_.forget(word);
    if (!reads && word != "read" && !word.starts_with("IFS=")) break;
    reads = reads || word == "read";
  }
  std::string target;
  if (!here.target.empty()) target = ShellWords(ShellSource(here.target, line), &variables_).piece(true).shown();
  if (!target.empty()) keep_file(target, text, line, here.appends);
  if (program != "bash" && program != "sh" && program != "sbatch" && program != "ssh") return;
  const Header headed = heads_job_;
  const bool job = here.header.find("sbatch") != here.header.npos;
  heads_job_ = job ? Header::open : Header::none;
  inner_ = take_job(std::move(text), job, depth);
  heads_job_ = headed;
}

/// A text that is a process of its own, and where it is handed to a batch system a job of its own: what it sets and
/// what its header asks for ends with it.
Expected<void> ShellReader::take_job(ShellText text, bool job, int depth) {
  const auto variables = variables_;
  const auto exported = exported_;
  const std::size_t outer = job_;
  if (job) enter_job(++jobs_), drop_outer_sizes();
  auto good = take_inner(std::move(text), depth);
  variables_ = variables, exported_ = exported;
  if (job) enter_job(outer);
  return good;
}

/// Slurm tells each job of its own size.
void ShellReader::drop_outer_sizes() {
  variables_.keep_if([&](const std::string& name) { return !name.starts_with("SLURM_") || defined_.contains(name); });
}

void ShellReader::enter_job(std::size_t job) {
  slots_ = node_slots_ = 0;
  job_ = job;
  out_.commands.push_back({0, {{"#JOB", 0, {}, false}, {std::to_string(job), 0, {}, false}}, {}, {}, {}});
}

/// A script is read where a later line runs it, and one that no line runs at the end. Of a file that is written anew,
/// or of that name in two folders, nobody knows which of its texts a launch reads.
void ShellReader::keep_file(const std::string& name, ShellText text, std::size_t line, bool appends) {
  if (!variables_.spend(text.size())) return;
  const std::string last(last_of_path(name));
  const auto known = std::ranges::find(written_, last, &WrittenFile::name);
  const auto older = std::ranges::find(out_.files, name, &ShellFile::name);
  if (const auto beside = appends && known == written_.end() ? text_at_hand(name) : std::nullopt) {
    ShellText whole;
    whole.put(*beside, line), whole.put(text), text = std::move(whole);
    if (!variables_.spend(text.size())) return;
  } else if (known != written_.end() && appends) {
    ShellText whole = known->text;
    whole.put(text), text = std::move(whole);
    if (!variables_.spend(text.size())) return;
  } else if (known != written_.end() && known->text.marked() != text.marked()) {
    out_.changed.emplace(last, line);
  }
  if (known != written_.end()) *known = {last, text};
  else written_.push_back({last, text});
  if (older != out_.files.end()) line = older->line, out_.files.erase(older);
  ShellFile file{name, {}, line, text.unset()};
  const std::string& marked = text.marked();
  for (std::size_t at = 0; at < marked.size(); ++at) {
    if (marked[at] != unset_begin) {
      file.text += marked[at];
      continue;
    }
    const std::size_t end = std::min(marked.find(unset_name_end, at), marked.size());
    file.text += "${" + marked.substr(at + 1, end - at - 1) + "}";
    at = std::min(marked.find(unset_end, at), marked.size());
  }
  out_.files.push_back(std::move(file));
}

Expected<void> ShellReader::read_unrun() {
  for (std::size_t i = 0; i < written_.size(); ++i) {
    if (written_[i].run || !is_script_name(written_[i].name)) continue;
    heads_job_ = Header::open;
    TRY(take_job(written_[i].text, has_header(written_[i].text.marked()), 0));
  }
  return {};
}

}  // namespace stepcast::calibrate
