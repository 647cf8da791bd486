// What a launch sets, by meaning: the record of a run that has not been measured, and what records leave out. Requests
// (launch_request.h) and the records of logs (logged_run.h) are made of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/base/error.h"
#include "model/base/text.h"
#include "model/loss_form.h"
#include "model/network/network.h"
#include "studies/launch/facts/launch.h"
#include "studies/launch/read/answers.h"
#include "studies/launch/facts/step_words.h"
#include "studies/records/run_record.h"
#include "studies/run/split/switches.h"

namespace stepcast::launch {

struct LaunchHints;

/// A loss that does not make all logits at once, as the stack's row has it.
struct LaunchedLoss {
  LossForm form;
  double bytes = 4;
  bool in_place = false, again = false;
};

struct LaunchedRun {
  Run run;  ///< model, split, batch, number types, recomputation and overlap
  NetworkSpec network;
  Recompute recompute;  ///< layers are those of a stage
  std::optional<ContextKind> context;
  std::string layout;    ///< as --layout takes it; "" = even
  std::string schedule;  ///< as --schedule takes it; "" = the usual one
  std::string frozen;    ///< parts of a network with images, as --freeze takes them; "" = none
  std::optional<MeshOrder> order;
  std::int64_t lora_rank = 0;
  std::int64_t replicas = 1;              ///< of what is in shards, as --dp-replicate takes it
  std::int64_t node_ranks = 0;            ///< on a node, as launcher or configuration tell them; 0: neither does
  std::string stack;                      ///< id, where an argument tells it; "" = the framework's
  std::optional<double> optimizer_bytes;  ///< of states per parameter, where they are not those of Adam
  bool own_name = false;                  ///< the network's name counts, whichever of the catalogue has its sizes
  bool short_weights = false;             ///< weights and states in 16 bits alone, with no copies in 32
  std::optional<double> gradient_bytes;   ///< per parameter, kept and summed, where the launch tells
  std::optional<LaunchedLoss> loss;       ///< where it is not the stack's
  std::vector<std::string> warnings;
  std::vector<std::string> statements;  ///< of the notation: what is recomputed, where no flag says it
  std::map<std::string, std::string, std::less<>> where;  ///< by scenario key, of what was given
};

/// One launch being read: the parts share it.
struct LaunchSubject {
  const Launch& launch;
  const LaunchHints& hints;
  const Framework& framework;
  LaunchAnswers& answers;
  std::vector<std::string>& notes;
  LaunchedRun& out;

  void note(std::string text) const { notes.push_back(std::move(text)); }
  /// Has the framework an argument for it?
  [[nodiscard]] bool has_row(Asked asked) const { return !framework.table().answering(asked).empty(); }
  /// Is anything given whose name begins so?
  [[nodiscard]] bool has_section(std::string_view head) const {
    return std::any_of(launch.arguments.begin(), launch.arguments.end(),
        [&](const GivenArgument& given) { return given.name.starts_with(head); });
  }
  /// A switch that only one framework has, and that answers no question of others.
  [[nodiscard]] bool is_on(std::string_view name) const {
    const GivenArgument* given = launch.find(name);
    return given != nullptr && (given->value == "1" || !is_off(given->value));  // 1 is off only where it counts ranks
  }
  /// Remembers where a scenario key was said, if it was.
  void said(const char* key, Asked asked) const {
    if (answers.is_given(asked)) out.where[key] = answers.where(asked);
  }
};

/// Before all others. Error: number type or batch are "auto", and neither another argument nor a flag tells them; it
/// names all that are.
Expected<void> check_left_open(const Launch& launch, const LaunchHints& hints, LaunchAnswers& answers);
// One file each, in this order.
Expected<void> read_geometry(const LaunchSubject& subject);
/// Rows of the vocabulary into the network, padded as the launch has it; returns those without padding.
std::int64_t read_vocabulary(const LaunchSubject& subject, const NetworkSpec* from);
/// Once the network is whole: where the padded one is no known network's and the plain one is, the network is that, and
/// its figures are those of its name; a note says so.
void settle_vocabulary(const LaunchSubject& subject, std::int64_t plain);
/// The one of the catalogue that the arguments name: a family with its size, a recipe, a configuration file; null if
/// none.
const NetworkSpec* named_network(const LaunchSubject& subject);
/// Finds a network by a name as frameworks write it: "Llama3_8B"; null where the catalogue has none.
const NetworkSpec* catalogue_network(std::string name);
/// "llama3-8b" of "train_configs/llama3-8b.toml".
std::string launch_stem(std::string_view path);
/// Its norm, positions, biases and dropout: as given, else those of `from`; without one the framework's default, else
/// those of the family that the sizes belong to.
void read_kinds(const LaunchSubject& subject, const NetworkSpec* from);
/// How many experts, how wide, and in which layers.
void read_experts(const LaunchSubject& subject, const NetworkSpec* from);
/// How far attention looks, and in which layers.
void read_window(const LaunchSubject& subject);
/// Which layers have which mixer and which attention, where they are not all alike.
void read_layer_kinds(const LaunchSubject& subject, const NetworkSpec* from);
/// Of a launch with a decoder the encoder in front of it; the network is as one of both has it.
Expected<void> read_encoder(const LaunchSubject& subject);
/// Schedule, chunks, layers; once the axes are known.
void read_stages(const LaunchSubject& subject);
/// GPUs, axes, stages and their layers, homes.
Expected<void> read_split(const LaunchSubject& subject);
Expected<void> read_batch(const LaunchSubject& subject);
/// Precision, recomputation, overlap, software.
Expected<void> read_ways(const LaunchSubject& subject);
/// Error: torchtitan's converters take the products of linear layers to 8 bits and leave those of experts, or the other
/// way round.
Expected<void> check_converters_of_experts(const LaunchSubject& subject);
/// The types of gradients, and what the optimizer keeps.
Expected<void> read_optimizer(const LaunchSubject& subject);
/// How many of the logits are made at once.
Expected<void> read_loss(const LaunchSubject& subject);
/// Which parts of a network with images are not trained, where the user says that it sees any. Error: it sees none, and
/// the language model is frozen.
Expected<void> read_frozen(const LaunchSubject& subject);

Expected<LaunchedRun> read_launched_run(
    const Launch& launch, const LaunchHints& hints, LaunchAnswers& answers, std::vector<std::string>& notes);

/// The catalogue's network of these sizes and kinds, whatever it is called and however long its sequences are; null if
/// none.
const NetworkSpec* recognised(const NetworkSpec& spec);
RunModel model_of_network(const NetworkSpec& spec);

/// The row of a table whose `word` it is; null if none.
template <typename Row, std::size_t Count> const Row* word_row(const Row (&rows)[Count], std::string_view word) {
  const auto found = std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.word == word; });
  return found == std::end(rows) ? nullptr : found;
}
/// The same with letters of either case and behind dots: "torch.nn.functional.gelu" is "gelu";
/// null if none.
template <typename Row, std::size_t Count> const Row* launch_word(const Row (&rows)[Count], std::string word) {
  word = lower_case(word);
  return word_row(rows, std::string_view(word).substr(word.rfind('.') + 1));
}

/// The words of a table, for hints.
template <typename Row, std::size_t Count> std::string words_of_table(const Row (&rows)[Count]) {
  std::string words;
  for (const Row& row : rows) words += (words.empty() ? "" : ", ") + std::string(row.word);
  return words;
}

/// Up to 1e15, which is beyond any job: sizes that contradict each other must not overflow before that is said.
std::int64_t bounded_product(std::initializer_list<std::int64_t> factors);

}  // namespace stepcast::launch
