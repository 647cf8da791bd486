#include "studies/engines/read_arguments.h"

#include <algorithm>
#include <cctype>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "calibrate/import/config/config_text.h"
#include "calibrate/import/scripts/launch_arguments.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/json_reader.h"
#include "model/base/text.h"

namespace stepcast::engines {
namespace {

using launch::ArgumentFact;

bool is_option(const ShellWord& word) {
  const std::string& text = word.text;
  const std::size_t letter = text.find_first_not_of('-');
  return text.starts_with('-') && letter != text.npos && std::isdigit(static_cast<unsigned char>(text[letter])) == 0 &&
         text[letter] != '.';
}

bool is_yes_or_no(std::string_view text) {
  const std::string lower = lower_case(text);
  return lower == "true" || lower == "false";
}

/// argparse takes the beginning of a name where only one begins so; click, which TensorRT-LLM uses, does not.
std::string whole_name(const SaidArguments& said, const std::string& name) {
  const launch::ArgumentTable& table = said.table();
  if (fact_of(table, name) != nullptr || said.program->engine == "tensorrt-llm" || name.size() < 3) return name;
  std::set<std::string_view> counted;
  std::string found;
  for (const ArgumentFact& fact : table.facts())
    if (fact.name.starts_with(name) && fact.name.find('.') == fact.name.npos)
      counted.insert(counted_name(table, fact.name)), found = fact.name;
  return counted.size() == 1 ? found : name;
}

/// "cc.mode" is compilation_config.mode where cc is another name of compilation_config.
std::string with_whole_head(const SaidArguments& said, const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot == name.npos) return name;
  const ArgumentFact* head = fact_of(said.table(), name.substr(0, dot));
  return head == nullptr || head->instead.empty() ? name : std::string(head->instead) + name.substr(dot);
}

/// Goes through the words of a line.
class WordReader {
 public:
  WordReader(const EngineLine& line, SaidArguments& out) : words_(line.words), out_(out) {}

  Expected<void> read() {
    while (at_ < words_.size()) {
      const ShellWord& word = words_[at_++];
      if (is_option(word)) {
        TRY(option(word));
      } else {
        plain(word);
      }
    }
    return {};
  }

 private:
  [[nodiscard]] std::string place(const ShellWord& word) const {
    return word.line > 0 ? fmt::format("{}:{} {:.60}", out_.where, word.line, word.text) : word.text;
  }
  /// A word that no option takes: the first is the program's.
  void plain(const ShellWord& word) {
    if (word.text.empty()) return;
    // GenAI-Perf gives what follows to perf_analyzer, whose options stand in its table
    if (word.text == "--" && out_.program->table == "genai-perf") return;
    if (word.bare && !word.unset.empty() && (first_ || out_.program->first.empty())) {
      out_.unknown.push_back(fmt::format("{} (what ${} holds; --define {}= says that it is empty)", place(word),
          word.unset.front(), word.unset.front()));
      return;
    }
    if (first_ || out_.program->first.empty()) {
      out_.unknown.push_back(fmt::format("{} (a word that no option takes)", place(word)));
      return;
    }
    first_ = true;
    put({.name = std::string(out_.program->first),
        .spelled = "",
        .value = word.text,
        .line = word.line,
        .unset = word.unset});
  }
  Expected<void> option(const ShellWord& word) {
    std::string spelled = word.text, value;
    const std::size_t equals = spelled.find('=');
    const bool joined = equals != spelled.npos;
    if (joined) value = spelled.substr(equals + 1), spelled.resize(equals);
    // -O3 and -O 3 are one.
    if (spelled.size() > 2 && spelled.starts_with("-O") && spelled.find_first_not_of("0123456789", 2) == spelled.npos) {
      put({.name = "O", .spelled = "-O", .value = spelled.substr(2), .line = word.line, .unset = {}});
      return {};
    }
    GivenArgument given{
        .name = argument_name(spelled), .spelled = spelled, .value = value, .line = word.line, .unset = word.unset};
    given.name = with_whole_head(out_, given.name);
    if (std::string whole = whole_name(out_, given.name); whole != given.name) {
      out_.notes.push_back(fmt::format("{} is short for {}", spelled, whole));
      given.name = std::move(whole);
    }
    const ArgumentFact* fact = fact_of(out_.table(), given.name);
    if (fact == nullptr && given.name.starts_with("no_")) {
      const ArgumentFact* on = fact_of(out_.table(), given.name.substr(3));
      if (on != nullptr && on->takes == "flag") {
        given.name = given.name.substr(3), given.value = "false";
        put(std::move(given));
        return {};
      }
    }
    if (fact == nullptr) {
      take_values(given, joined, true);
      put(std::move(given));
      return {};
    }
    if (fact->takes == "flag") {
      if (!joined && at_ < words_.size() && is_yes_or_no(words_[at_].text)) given.value = words_[at_++].text;
      if (given.value.empty()) given.value = "true";
    } else if (!joined) {
      const std::size_t begin = at_;
      take_values(given, joined, fact->takes == "list");
      // A value such as -1 is no option; others that are missing are mistakes.
      if (at_ == begin) return fail(place(word), "it takes a value, and none stands behind it", "its value");
    }
    put(std::move(given));
    return {};
  }
  void take_values(GivenArgument& given, bool joined, bool many) {
    while (!joined && at_ < words_.size() && !is_option(words_[at_])) {
      given.value += (given.value.empty() ? "" : " ") + words_[at_].text;
      given.unset.insert(given.unset.end(), words_[at_].unset.begin(), words_[at_].unset.end());
      ++at_;
      if (!many) break;
    }
  }
  void put(GivenArgument given) { out_.all.push_back(std::move(given)); }

  const std::vector<ShellWord>& words_;
  SaidArguments& out_;
  std::size_t at_ = 0;
  bool first_ = false;
};

/// '{"method": "mtp"}' as arguments of their own: speculative_config.method.
Expected<void> spread_json(SaidArguments& said) {
  std::vector<GivenArgument> spread;
  for (GivenArgument& given : said.all) {
    // "{{ .Values.tp }}" of a chart's template is filled in elsewhere
    if (stripped(given.value).starts_with("{{") && given.unset.empty()) given.unset.push_back(given.value);
    // "{% for ... %}" is how a talk becomes a prompt (--chat-template)
    const bool object = stripped(given.value).starts_with('{') && !stripped(given.value).starts_with("{%");
    if (!object || !given.unset.empty()) {
      spread.push_back(std::move(given));
      continue;
    }
    const auto inner = read_config_arguments(given.value, place_of_argument(said, given));
    if (!inner) return tl::unexpected(inner.error());
    const std::string front(counted_name(said.table(), given.name));
    for (const GivenArgument& one : *inner)
      spread.push_back({.name = fmt::format("{}.{}", front, one.name),
          .spelled = given.spelled + "." + one.name,
          .value = one.value,
          .line = given.line,
          .unset = one.unset,
          .file = given.file});
  }
  said.all = std::move(spread);
  return {};
}

const ShellFile* written_file(const EngineLine& line, const std::string& name) {
  for (const bool whole : {true, false})
    for (const ShellFile& file : line.files)
      if (whole ? file.name == name : last_of_path(file.name) == last_of_path(name)) return &file;
  return nullptr;
}

Expected<std::vector<GivenArgument>> arguments_of_file(
    const EngineLine& line, const launch::LaunchFolders& folders, const GivenArgument& named) {
  const launch::ArgumentTable& table = engine_table(line.program->table);
  TRY(const auto file, text_of_named(line, folders, named.value, named.spelled));
  TRY(auto arguments, read_config_arguments(file.text, file.path));
  for (GivenArgument& given : arguments) {
    given.file = file.path;
    given.spelled = given.name;
    given.name = argument_name(given.name);
    // "no-enable-prefix-caching: true"
    const ArgumentFact* on = given.name.starts_with("no_") ? fact_of(table, given.name.substr(3)) : nullptr;
    if (on == nullptr || on->takes != "flag" || fact_of(table, given.name) != nullptr) continue;
    given.name = given.name.substr(3);
    given.value = lower_case(given.value) == "true" ? "false" : "true";
  }
  return arguments;
}

Expected<void> take_file(const EngineLine& line, const launch::LaunchFolders& folders, SaidArguments& said) {
  const EngineProgram& program = *said.program;
  if (program.file.empty()) return {};
  const GivenArgument* named = said.find(program.file);
  if (named == nullptr) return {};
  if (!named->unset.empty()) {
    said.unknown.push_back(
        fmt::format("{} (its name hangs on ${})", place_of_argument(said, *named), fmt::join(named->unset, " and $")));
    return {};
  }
  TRY(auto inside, arguments_of_file(line, folders, *named));
  const auto at = program.file_wins ? said.all.end() : said.all.begin();
  said.all.insert(at, std::make_move_iterator(inside.begin()), std::make_move_iterator(inside.end()));
  return {};
}

/// What goes over the line and the file (components/src/dynamo/trtllm/backend_args.py: override_engine_args).
Expected<std::vector<GivenArgument>> taken_over(SaidArguments& said) {
  std::vector<GivenArgument> over;
  if (said.program->over.empty()) return over;
  const GivenArgument* found = said.find(said.program->over);
  if (found == nullptr || !found->unset.empty() || !stripped(found->value).starts_with('{')) return over;
  const GivenArgument given = *found;
  TRY(over, read_config_arguments(given.value, place_of_argument(said, given)));
  for (GivenArgument& one : over) {
    one.spelled = given.spelled + "." + one.name;
    one.name = argument_name(one.name), one.line = given.line, one.file = given.file;
  }
  std::erase_if(said.all, [&](const GivenArgument& one) { return one.name == given.name; });
  return over;
}

void find_unknown(SaidArguments& said) {
  const launch::ArgumentTable& table = said.table();
  for (const GivenArgument& given : said.all) {
    if (fact_of(table, given.name) != nullptr) continue;
    const std::string near = nearest_name(given.name, table.names());
    std::string spelled = near;
    if (given.spelled.starts_with("--") && given.spelled.find('-', 2) != given.spelled.npos)
      std::ranges::replace(spelled, '_', '-');
    said.unknown.push_back(fmt::format("{} (not known of {}{})", place_of_argument(said, given), said.program->name,
        near.empty() ? "" : fmt::format("; near it: {}{}", given.spelled.starts_with('-') ? "--" : "", spelled)));
  }
}

}  // namespace

Expected<NamedText> text_of_named(
    const EngineLine& line, const launch::LaunchFolders& folders, const std::string& name, const std::string& spelled) {
  if (const ShellFile* written = written_file(line, name)) return NamedText{name, written->text};
  NamedText out;
  TRY(out.path, launch::named_file(folders, name));
  if (out.path.empty())
    return fail(name, fmt::format("{} names it, and it is not there", spelled),
        "a copy beside the launch, or --files-from FOLDER");
  TRY(out.text, read_text_file(out.path));
  return out;
}

Expected<SaidArguments> said_arguments(const EngineLine& line, const launch::LaunchFolders& folders) {
  SaidArguments said;
  said.program = line.program;
  said.where = line.where;
  said.notes = line.notes;
  TRY(WordReader(line, said).read());
  said.all.insert(said.all.end(), line.given.begin(), line.given.end());
  TRY(auto over, taken_over(said));
  TRY(spread_json(said));
  TRY(take_file(line, folders, said));
  said.all.insert(said.all.end(), std::make_move_iterator(over.begin()), std::make_move_iterator(over.end()));
  find_unknown(said);
  return said;
}

}  // namespace stepcast::engines
