#include "tests/dataflow/random_mapping.h"

#include <algorithm>
#include <array>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "model/base/contains.h"
#include "tests/dataflow/execute.h"
#include "tests/dataflow/ledger.h"
#include "tests/trials.h"

namespace stepcast::dataflow {
namespace {

/// Dims of encoders have dots in their names, which no statement may name.
bool is_word(const std::string& dim) { return dim.find('.') == std::string::npos; }

class MappingWriter {
 public:
  MappingWriter(unsigned seed, const Network& network, const Words& words)
      : random_(seed), network_(network), words_(words) {
    constexpr std::array kMeshes{"mesh x:2 y:2\n", "mesh x:4\n", "mesh x:2 y:2 z:2\n", "mesh x:2 y:2\nmesh w:4\n"};
    const std::size_t mesh = below(kMeshes.size());
    text_ = kMeshes[mesh];
    constexpr std::array<const char*, 4> kAxes{"xy", "x", "xyz", "xyw"};
    axes_ = kAxes[mesh];
  }

  std::string write() {
    times(1, 5, [&] { line(scope() + fmt::format("par {} on {}", of(words_.loops), axis())); });
    times(0, 3, [&] {
      const std::string& tensor = of(words_.activations);
      line(fmt::format("home {}: {} on {}", tensor,
          chance(words_.partial_one_in) ? "partial"
          : chance(4)                   ? "full"
                                        : dim_of(tensor),
          axis()));
    });
    if (chance(2)) line(scope() + fmt::format("home weights: {} on {}", chance(2) ? "*" : of(words_.dims), axis()));
    if (chance(3)) line(fmt::format("home grads: {} on {}", chance(3) ? "*" : chance(2) ? "partial" : "full", axis()));
    if (chance(2))
      line(fmt::format("home optimizer: {} on {}", chance(2) ? "*" : chance(3) ? "full" : of(words_.dims), axis()));
    times(0, 2, [&] { line(fmt::format("recompute {}{}", of(words_.tags), chance(3) ? " whole" : "")); });
    times(0, 1, [&] { line(fmt::format("save {} at {}", of(words_.activations), chance(2) ? "use" : "home")); });
    times(
        0, 2, [&] { line(fmt::format("move {} {}", of(words_.activations), chance(2) ? "rotate" : "gather staged")); });
    if (chance(3)) line(fmt::format("move weights gather life {}", chance(2) ? "microbatch" : "step"));
    if (chance(4)) line("move grads reduce staged");
    return text_;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  bool chance(std::size_t n) { return below(n) == 0; }
  const std::string& of(const std::vector<std::string>& list) { return list[below(list.size())]; }
  std::string dim_of(const std::string& tensor) {
    const auto& dims = network_.tensors[network_.find_tensor(tensor)].dims;
    const std::string& name = network_.dims[dims[below(dims.size())]].name;
    return contains(words_.whole, name) || !is_word(name) ? "full" : name;
  }
  void line(const std::string& statement) { text_ += statement + "\n"; }
  std::string axis() {
    std::string axis(1, axes_[below(axes_.size())]);
    const char second = axes_[below(axes_.size())];
    if (chance(4) && second != axis[0] && second != 'w' && axis[0] != 'w') axis += fmt::format("*{}", second);
    return axis;
  }
  std::string scope() { return chance(3) ? "at " + of(words_.tags) + ": " : ""; }
  template <typename Write> void times(std::size_t least, std::size_t most, const Write& write) {
    for (std::size_t i = least + below(most - least + 1); i > 0; --i) write();
  }

  std::mt19937 random_;
  const Network& network_;
  const Words& words_;
  std::string text_, axes_;
};

}  // namespace

Words words_of(const Network& network, const std::vector<std::string>& whole) {
  Words words;
  words.whole = whole;
  const auto keep = [](std::vector<std::string>& list, const std::string& word) {
    if (!contains(list, word)) list.push_back(word);
  };
  const auto keep_dims = [&](std::vector<std::string>& list, const std::vector<int>& dims) {
    for (const int dim : dims) {
      const Dim& one = network.dims[dim];
      if (one.extent > 1 && is_word(one.name) && !contains(whole, one.name)) keep(list, one.name);
    }
  };
  for (const Block& block : network.blocks)
    for (const Operator& op : block.operators) {
      keep_dims(words.loops, loops_of(op));
      for (const std::string& tag : op.tags) keep(words.tags, tag);
      const Tensor& made = network.tensors[op.output.tensor];
      if (made.role == TensorRole::activation && !made.dims.empty()) keep(words.activations, made.name);
      for (const Access& input : op.inputs)
        if (network.tensors[input.tensor].role == TensorRole::weight)
          keep_dims(words.dims, network.tensors[input.tensor].dims);
    }
  if (contains(words.loops, std::string("g")) && contains(words.loops, std::string("r")))
    words.loops.emplace_back("g*r");
  words.loops.emplace_back("none");
  return words;
}

Tally run_random(const Network& network, const Words& words, unsigned first_seed, int tries) {
  Tally tally;
  const GivenValues given = some_values(network, 1);
  const Executed reference = execute(network, placed_of(network, "mesh one:1"), given);
  EXPECT_EQ(reference.error, "");
  for (int i = 0; i < trials(tries); ++i) {
    const std::string text = MappingWriter(first_seed + static_cast<unsigned>(i), network, words).write();
    const Expected<PlacedNetwork> placed = place_text(network, text);
    if (!placed) {
      ++tally.refused;
      continue;
    }
    ++tally.ran;
    const Executed executed = execute(network, *placed, given);
    tally.counted_moves += executed.counted_moves;
    const std::string wrong = difference(network, reference, executed);
    EXPECT_EQ(wrong, "") << "seed " << first_seed + static_cast<unsigned>(i) << "\n" << text;
  }
  return tally;
}

}  // namespace stepcast::dataflow
