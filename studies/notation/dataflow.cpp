// stepcast dataflow: a program of the notation, counted on its architecture and placed on its mesh.
#include "studies/notation/dataflow.h"

#include <algorithm>
#include <iterator>

#include "model/base/json_reader.h"
#include "studies/notation/dataflow_search.h"
#include "studies/notation/dataflow_translate.h"
#include "studies/notation/dataflow_report.h"

namespace stepcast::notation {

namespace {

/// Another tool's files: all words, in the order that its row of foreign_formats() says.
Expected<Imported> read_foreign(const std::string& format, const std::vector<std::string>& names) {
  std::vector<SourceFile> files;
  for (const std::string& name : names) {
    TRY(auto text, read_text_file(name));
    files.push_back({name, std::move(text)});
  }
  return import_foreign(format, files);
}

}  // namespace

Expected<Imported> read_program(const Arguments& arguments) {
  if (arguments.has("--from")) return read_foreign(arguments.value("--from"), arguments.words);
  if (arguments.words.size() > 1)
    return fail(arguments.words[1], "a second file", "one program at a time; several files only with --from TOOL");
  const std::string& file = arguments.words.front();
  TRY(const auto text, read_text_file(file));
  TRY(auto program, parse(text, file));
  Imported read;
  read.program = std::move(program);
  read.windows = Windows::timeloop;
  return read;
}

namespace {

struct WindowsWord {
  const char* word;
  Windows windows;
};
constexpr WindowsWord window_words[] = {{"exact", Windows::exact}, {"timeloop", Windows::timeloop}};

bool slides(const MappingProgram& program) {
  const auto sum = [](const WrittenIndex& index) { return index.terms.size() > 1; };
  for (const WrittenOperator& op : program.operators)
    for (const WrittenAccess& access : op.inputs)
      if (std::ranges::any_of(access.indices, sum)) return true;
  return false;
}

/// The counts of a mapping follow Timeloop's convention, as users of such figures expect; a search ranks by exact ones,
/// which are also much faster to make.
Expected<void> choose_windows(const Arguments& arguments, Imported& read) {
  const std::string word = arguments.value("--windows");
  const auto named = [&](const WindowsWord& row) { return row.word == word; };
  const auto* row = std::ranges::find_if(window_words, named);
  if (arguments.has("--windows") && row == std::end(window_words))
    return fail(
        "--windows", "unknown way '" + word + "'", name_hint(word, std::vector<std::string>{"exact", "timeloop"}));
  if (arguments.has("--windows")) read.windows = row->windows;
  else if (arguments.has("--search") && !arguments.has("--from")) read.windows = Windows::exact;
  else if (read.windows == Windows::timeloop && slides(read.program))
    read.notes.emplace_back("sliding windows are counted by Timeloop's convention; --windows exact counts each tile "
                            "against the one before it");
  return {};
}

}  // namespace

Expected<void> dataflow_command(const Arguments& arguments, Console& console) {
  TRY(check_search_flags(arguments));
  TRY(auto read, read_program(arguments));
  TRY(choose_windows(arguments, read));
  if (arguments.has("--search")) return search_program(read, arguments, console);
  if (arguments.has("--translate")) return translate_program(read, arguments, console);
  const DataflowOptions options{arguments.value("--op"), read.windows, read.notes};
  TRY(const auto report, dataflow_report(read.program, options, arguments.words.front()));
  console.out << (arguments.has("--json") ? dataflow_json(report) : dataflow_text(report));
  return {};
}

}  // namespace stepcast::notation
