// The vocabulary of a launch: said, or its tokenizer's, and padded as Megatron pads.
#include <algorithm>

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

/// Tokens of tokenizers that no network of the catalogue is called by. `whole`: the name, else its beginning.
struct TokenizerWord {
  std::string_view name;
  std::int64_t rows;
  bool whole = true;
};
// OpenAI's GPT-2 by its kind, its name and its files as they are published (vocab.bpe's 50,000 merges, 256 bytes and an
// end of text); Meta's of Llama 2 (2307.09288, section 2.2) and of Llama 3 (2407.21783, section 3.2, with 256 special).
constexpr TokenizerWord tokenizer_words[] = {{"gpt2bpetokenizer", 50257}, {"gpt2", 50257, false},
    {"openai-community/gpt2", 50257, false}, {"gpt2-vocab.json", 50257}, {"gpt2-merges.txt", 50257},
    {"llama2tokenizer", 32000}, {"meta-llama/llama-2-", 32000, false}, {"meta-llama/meta-llama-3", 128256, false},
    {"meta-llama/llama-3", 128256, false},
    // of GPT-NeoX 20B and Pythia, with the tokens added to it
    {"20b_tokenizer.json", 50277}, {"eleutherai/gpt-neox-20b", 50277}, {"eleutherai/pythia-", 50277, false}};

/// Files and folders have a path, a variable or an ending; names at Hugging Face have one slash.
bool names_a_tokenizer_file(std::string_view name) {
  constexpr std::string_view endings[] = {".json", ".txt", ".model", ".tiktoken", ".vocab", ".bpe"};
  return name.empty() || std::string_view("/.~$").find(name[0]) != name.npos ||
         std::count(name.begin(), name.end(), '/') > 1 || name.find('$') != name.npos ||
         std::any_of(std::begin(endings), std::end(endings), [&](std::string_view end) { return name.ends_with(end); });
}

/// 0 where the name does not decide it: what is in a file, only the file says.
std::int64_t tokenizer_rows(const std::string& value) {
  const bool file = names_a_tokenizer_file(value);
  const std::string name = lower_case(file ? last_of_path(value) : std::string_view(value));
  for (const TokenizerWord& word : tokenizer_words)
    if (name == word.name || (!word.whole && !file && name.starts_with(word.name))) return word.rows;
  if (file) return 0;
  for (const std::string& candidate : {value, std::string(last_of_path(value))})
    if (const NetworkSpec* spec = catalogue_network(candidate)) return spec->vocab;
  return 0;
}

/// Megatron-LM's HuggingFaceTokenizer has as many rows as the tokenizer has tokens (core/tokenizers and
/// training/tokenizer/tokenizer.py, vocab_size), and passes over --vocab-size; networks are often padded beyond these.
bool counts_tokens(const LaunchSubject& subject) {
  const GivenArgument* kind = subject.launch.find("tokenizer_type");
  return subject.framework.id == "megatron-lm" && kind != nullptr && kind->value == "HuggingFaceTokenizer";
}

bool is_tokenizer_word(const std::string& value) {
  const std::string name = lower_case(value);
  return std::ranges::any_of(tokenizer_words,
      [&](const TokenizerWord& word) { return name == word.name || (!word.whole && name.starts_with(word.name)); });
}

/// By the tokenizer's name, or its kind where no file is named; 0 where they do not decide it, or not alike.
std::int64_t rows_of_tokenizer(const LaunchSubject& subject) {
  subject.answers.text(Asked::tokenizer);
  std::int64_t found = 0;
  std::string_view teller;
  for (const GivenArgument& given : subject.launch.arguments) {
    const auto rows = subject.framework.table().answering(Asked::tokenizer);
    const bool asked = std::any_of(
        rows.begin(), rows.end(), [&](const ArgumentFact* row) { return names_argument(given.name, row->name); });
    const bool kind = given.name.ends_with("type");
    if (!asked || says_none(given.value)) continue;
    const std::int64_t tokens = tokenizer_rows(given.value);
    if (tokens == 0 && kind) continue;
    if (tokens == 0 || (found > 0 && found != tokens)) return 0;
    if (found == 0) teller = given.value;
    found = tokens;
  }
  // pretrain_gpt.py takes GPT-2's byte pairs where no tokenizer is named
  if (const GivenArgument* pairs = subject.launch.find("merge_file"); found == 0 && pairs != nullptr)
    found = tokenizer_rows(pairs->value), teller = pairs->value;
  if (found > 0 && counts_tokens(subject) && !is_tokenizer_word(std::string(teller)))
    subject.note(
        fmt::format("vocabulary {}, of the network {:.60}: Megatron-LM counts the tokens of its tokenizer, which "
                    "may be some fewer; -- --vocab-size N",
            found, last_of_path(teller)));
  else if (found > 0) subject.note(fmt::format("vocabulary {}, of the tokenizer {:.60}", found, last_of_path(teller)));
  return found;
}

bool is_made_up(const LaunchSubject& subject) {
  const GivenArgument* tokenizer = subject.launch.find("tokenizer_type");
  return subject.framework.id == "megatron-lm" && tokenizer != nullptr && tokenizer->value == "NullTokenizer";
}

/// Megatron's tokenizer of mock data adds a token for the end of a document, before core 0.18.0 (null_tokenizer.py).
std::int64_t made_up_rows(const LaunchSubject& subject) {
  const ArgumentTable& table = subject.framework.table();
  constexpr std::string_view counted = "core 0.18.0";
  return is_made_up(subject) && table.before(subject.launch.release, counted) ? 1 : 0;
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
  const auto filled = [&](std::int64_t of) { return multiple > 0 ? (of + multiple - 1) / multiple * multiple : of; };
  if (padded) rows = *padded;
  else if (plain > 0) rows = filled(plain);
  if (!padded && said && is_made_up(subject) && filled(*said) != filled(*said + 1))
    subject.note(plain > *said
                     ? fmt::format("vocabulary {}: NullTokenizer adds a token to {}", rows, *said)
                     : fmt::format("vocabulary {}: before core 0.18.0 NullTokenizer adds a token, which makes it {}; "
                                   "--release ID says which",
                           rows, filled(*said + 1)));
  if (!padded && said && counts_tokens(subject))
    subject.note(fmt::format("vocabulary {} as told; Megatron-LM itself passes over it and counts the tokens of its "
                             "HuggingFaceTokenizer",
        *said));
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
