// From an encoder of images to rows in the network's own sequence: norms, neighbours that become one, matrices.
#include <array>
#include <charconv>
#include <sstream>

#include <fmt/format.h>

#include "model/network/transformer_builder.h"

namespace stepcast {
namespace {

struct StepName {
  const char* name;
  ProjectorStep::Kind kind;
  Norm norm = Norm::rmsnorm;
};
constexpr std::array step_names{StepName{"gated", ProjectorStep::Kind::gated},
    StepName{"layers", ProjectorStep::Kind::layers}, StepName{"rmsnorm", ProjectorStep::Kind::norm, Norm::rmsnorm},
    StepName{"layernorm", ProjectorStep::Kind::norm, Norm::layernorm}, StepName{"merge", ProjectorStep::Kind::merge},
    StepName{"mean", ProjectorStep::Kind::mean}, StepName{"matrix", ProjectorStep::Kind::matrix}};

}  // namespace

std::string projector_word(const ProjectorStep& step) {
  for (const StepName& row : step_names) {
    if (row.kind != step.kind || (step.kind == ProjectorStep::Kind::norm && row.norm != step.norm)) continue;
    std::string word = row.name;
    if (step.kind != ProjectorStep::Kind::norm) word += fmt::format(" {}", step.size);
    return word + (step.bias ? " bias" : "") + (step.activated ? " gelu" : "");
  }
  return "";
}

std::optional<ProjectorStep> projector_step(std::string_view word) {
  std::istringstream words{std::string(word)};
  std::string name, size;
  words >> name;
  for (const StepName& row : step_names) {
    if (name != row.name) continue;
    ProjectorStep step{row.kind, 0, row.norm};
    if (step.kind != ProjectorStep::Kind::norm) {
      constexpr std::int64_t widest = 10'000'000;
      words >> size;
      const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), step.size);
      if (error != std::errc{} || step.size < 1 || step.size > widest) return std::nullopt;
    }
    for (std::string more; words >> more;) {
      if (more == "bias") step.bias = true;
      else if (more == "gelu") step.activated = true;
    }
    const bool matrix = step.kind == ProjectorStep::Kind::matrix;
    if ((step.bias && !matrix) || (step.activated && !matrix && step.kind != ProjectorStep::Kind::norm))
      return std::nullopt;
    if (projector_word(step) != word) return std::nullopt;  // unknown words, twice, or out of order
    return step;
  }
  return std::nullopt;
}

std::int64_t positions_merged(const Projector& projector) {
  std::int64_t merged = 1;
  for (const ProjectorStep& step : projector)
    if (step.kind == ProjectorStep::Kind::merge || step.kind == ProjectorStep::Kind::mean) merged *= step.size;
  return merged;
}

/// A row behind a step stands for as many rows before it as it merges. The width between two matrices is an MLP's.
int TransformerBuilder::projected(const std::string& name, int x, const ProjectorStep& step, int out) {
  const Tags tags{"projector"};
  const std::vector<int> dims = net_.tensors[x].dims;
  const int width = dims.back(), rows = dims[1];
  const auto active = [&](const char* function, std::vector<int> dims, std::initializer_list<int> read) {
    const int a = activation(name + ".A", std::move(dims));
    add(name + ".act", tags, OperatorKind::nonlinear, function, a, read, "bias_gelu");
    return a;
  };
  const auto multiplied = [&](const std::string& called) {
    const int y = activation(called, {b_, rows, out});
    product(called, tags, y, x, weight("W." + called, {width, out}));
    return y;
  };
  if (step.kind == ProjectorStep::Kind::norm) {
    const int y = norm(name, x, tags, 1, true, step.norm);
    return step.activated ? active("gelu", dims, {y}) : y;
  }
  if (step.kind == ProjectorStep::Kind::matrix) {
    const int y = multiplied(name), z = step.bias ? biased(name, y, {out}, tags, "bias_gelu") : y;
    return step.activated ? active("gelu", {b_, rows, out}, {z}) : z;
  }
  if (step.kind == ProjectorStep::Kind::gated) {
    const int gate = multiplied(name + ".gate"), up = multiplied(name);
    return active("swiglu", {b_, rows, out}, {gate, up});
  }
  const bool copied = step.kind == ProjectorStep::Kind::layers,
             joined = copied || step.kind == ProjectorStep::Kind::merge;
  const int fewer = copied ? rows : dim(("s." + name).c_str(), net_.dims[rows].extent / step.size),
            wide = joined ? dim((name + ".in").c_str(), net_.dims[width].extent * step.size) : width;
  const int y = activation(name, {b_, fewer, wide});
  Operator& op = add(name, tags, OperatorKind::opaque, joined ? "join" : "mean", y, {x}, name);
  if (!copied) {
    op.output.row_dim = 1;
    op.output.row_loops = {rows};
  }
  net_.tensors[y].role = net_.tensors[x].role;  // no gradient where nothing in front is trained
  if (joined) op.whole_loops = {width, wide};
  return y;
}

/// Behind the encoder's layers, in a block of its own, which may be trained where they are not.
void TransformerBuilder::project(int x, const TransformerBuilder& network) {
  use_shape(0);
  frozen_ = whole_.frozen_projectors;
  start_block("projector", 1, Block::Place::first);
  net_.blocks.back().input = x;
  if (whole_.class_token) x = patches_alone(x);
  int sum = -1;
  for (std::size_t p = 0; p < whole_.projectors.size(); ++p) {
    int rows = x;
    const Projector& steps = whole_.projectors[p];
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::string name = fmt::format("projector{}.{}", p + 1, i + 1);
      const bool last = i + 1 == steps.size(), gated = steps[i].kind == ProjectorStep::Kind::gated,
                 matrix = gated || steps[i].kind == ProjectorStep::Kind::matrix;
      const int out = !matrix ? -1
                      : last  ? network.h_
                              : dim(((gated || steps[i].activated ? "f." : "h.") + name).c_str(), steps[i].size);
      rows = projected(name, rows, steps[i], out);
    }
    if (sum >= 0) {
      const int both = activation(fmt::format("projector{}.sum", p + 1), net_.tensors[rows].dims);
      add(fmt::format("projector{}.add", p + 1), {"projector"}, OperatorKind::linear, "add", both, {sum, rows});
      rows = both;
    }
    sum = rows;
  }
  net_.blocks.back().output = sum;
}

/// All rows but those of the class, one for each image.
int TransformerBuilder::patches_alone(int x) {
  std::vector<int> dims = net_.tensors[x].dims;
  const int all = dims[1];
  dims[1] = dim("s.patches", net_.dims[all].extent - whole_.images);
  const int y = activation("patches", dims);
  Operator& op = add("patches", {"projector"}, OperatorKind::opaque, "join", y, {x}, "patches");
  op.output.row_dim = 1;
  op.output.row_loops = {all};
  net_.tensors[y].role = net_.tensors[x].role;
  return y;
}

/// What the encoder made of images stands at some of the positions, in place of words.
int TransformerBuilder::filled(int x) {
  const int y = activation("X0.filled", {b_, s_, h_});
  Operator& op = add("embed.images", {"embed"}, OperatorKind::opaque, "fill", y, {x, memory_}, "embedding");
  op.inputs[1].row_dim = 1;
  op.inputs[1].row_loops = {s_};
  net_.blocks.back().reads.push_back(memory_);
  return y;
}

}  // namespace stepcast
