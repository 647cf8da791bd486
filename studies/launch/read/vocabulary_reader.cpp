// The vocabulary of a launch: said, or its tokenizer's, and padded as Megatron pads.
#include <fmt/format.h>

#include "calibrate/import/tables/plain_words.h"
#include "model/base/text.h"
#include "model/catalog.h"
#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {

const NetworkSpec* catalogue_network(std::string name) {
  name = lower_case(name);
  for (const auto& [from, to] : {std::pair{'_', '-'}, std::pair{' ', '-'}})
    std::replace(name.begin(), name.end(), from, to);
  const auto found = find_row(built_in().networks, name, "network");
  return found ? *found : nullptr;
}

std::string launch_stem(std::string_view path) {
  path = last_of_path(path);
  return std::string(path.substr(0, path.rfind('.')));
}

namespace {

/// Tokens of tokenizers that no network of the catalogue is called by: OpenAI's GPT-2 vocabulary, Meta's of Llama and
/// Llama 2.
struct TokenizerWord {
  std::string_view part;
  std::int64_t rows;
};
constexpr TokenizerWord tokenizer_words[] = {{"gpt2", 50257}, {"gpt-2", 50257}, {"llama2tokenizer", 32000},
    {"llama-2", 32000}, {"llama2", 32000}, {"llama-3", 128256}, {"llama3", 128256},
    {"20b_tokenizer", 50277}};  // of GPT-NeoX 20B and Pythia, with the tokens added to it

std::int64_t tokenizer_rows(const std::string& name) {
  for (const std::string& candidate : {name, std::string(last_of_path(name)), launch_stem(name)})
    if (const NetworkSpec* spec = catalogue_network(candidate)) return spec->vocab;
  const std::string plain = lower_case(name);
  for (const TokenizerWord& word : tokenizer_words)
    if (plain.find(word.part) != plain.npos) return word.rows;
  return 0;
}

/// By the tokenizer's kind, file or network; 0 where nobody knows it.
std::int64_t rows_of_tokenizer(const LaunchSubject& subject) {
  subject.answers.text(Asked::tokenizer);
  for (const ArgumentFact* row : subject.framework.table().answering(Asked::tokenizer))
    for (const GivenArgument& given : subject.launch.arguments) {
      const std::int64_t rows = names_argument(given.name, row->name) ? tokenizer_rows(given.value) : 0;
      if (rows == 0) continue;
      subject.note(fmt::format("vocabulary {}, of {} {:.60}", rows, row->name, last_of_path(given.value)));
      return rows;
    }
  if (subject.launch.find("merge_file") == nullptr) return 0;
  // of GPT-2's byte pairs, which pretrain_gpt.py takes where no tokenizer is named
  constexpr std::int64_t gpt2_rows = 50257;
  subject.note(fmt::format("vocabulary {}, of GPT-2's tokenizer, whose merge_file is given", gpt2_rows));
  return gpt2_rows;
}

/// Megatron's tokenizer of mock data adds a token for the end of a document, before core 0.18.0 (null_tokenizer.py).
std::int64_t made_up_rows(const LaunchSubject& subject) {
  const GivenArgument* tokenizer = subject.launch.find("tokenizer_type");
  const ArgumentTable& table = subject.framework.table();
  constexpr std::string_view counted = "core 0.18.0";
  const bool adds = subject.framework.id == "megatron-lm" && table.before(subject.launch.release, counted);
  return adds && tokenizer != nullptr && tokenizer->value == "NullTokenizer" ? 1 : 0;
}

}  // namespace

/// Megatron pads to a multiple of a divisor times tp.
std::int64_t read_vocabulary(const LaunchSubject& subject, const NetworkSpec* from) {
  LaunchAnswers& ask = subject.answers;
  std::int64_t& rows = subject.out.network.vocab;
  const auto padded = ask.count(Asked::padded_vocabulary),
             said = from == nullptr ? ask.count_or_default(Asked::vocabulary) : ask.count(Asked::vocabulary);
  const std::int64_t plain = said ? *said + made_up_rows(subject) : from == nullptr ? rows_of_tokenizer(subject) : 0;
  const std::int64_t multiple = ask.count_or_default(Asked::vocabulary_divisor).value_or(0) * ask.count(Asked::tp, 1);
  if (padded) rows = *padded;
  else if (plain > 0) rows = multiple > 0 ? (plain + multiple - 1) / multiple * multiple : plain;
  return padded || plain == 0 ? rows : plain;
}

void settle_vocabulary(const LaunchSubject& subject, std::int64_t plain_rows) {
  NetworkSpec& spec = subject.out.network;
  if (plain_rows == spec.vocab) return;
  NetworkSpec plain = spec;
  plain.vocab = plain_rows;
  const bool named = recognised(spec) == nullptr && recognised(plain) != nullptr &&
                     plain_rows % subject.answers.count(Asked::tp, 1) == 0;
  subject.note(fmt::format(
      "vocabulary {} padded to {}{}", plain_rows, spec.vocab, named ? "; forecast without the padding" : ""));
  if (named) spec.vocab = plain_rows;
}

}  // namespace stepcast::launch
