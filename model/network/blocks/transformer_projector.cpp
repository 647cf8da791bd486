// From an encoder of images to rows in the network's own sequence: norms, neighbours that become one, matrices.
#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <sstream>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/network/blocks/transformer_builder.h"

namespace stepcast {
namespace {

constexpr std::int64_t projector_head = 128;

struct StepName {
  const char* name;
  ProjectorStep::Kind kind;
  Norm norm = Norm::rmsnorm;
};
constexpr std::array step_names{StepName{"gated", ProjectorStep::Kind::gated},
    StepName{"layer", ProjectorStep::Kind::layer}, StepName{"beside", ProjectorStep::Kind::beside},
    StepName{"attend", ProjectorStep::Kind::attend}, StepName{"rmsnorm", ProjectorStep::Kind::norm, Norm::rmsnorm},
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
      const bool from_zero = step.kind == ProjectorStep::Kind::layer || step.kind == ProjectorStep::Kind::beside;
      if (error != std::errc{} || step.size < (from_zero ? 0 : 1) || step.size > widest) return std::nullopt;
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

std::int64_t rows_behind(const Projector& projector, std::int64_t positions) {
  for (const ProjectorStep& step : projector) {
    if (step.kind == ProjectorStep::Kind::merge || step.kind == ProjectorStep::Kind::mean) positions /= step.size;
    if (step.kind == ProjectorStep::Kind::attend) positions = step.size;
  }
  return positions;
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
    const int in = width == out ? dim("h2", net_.dims[width].extent) : width, w = weight("W." + called, {in, out});
    if (in != width && batch_.lora_rank > 0 && !frozen_ && batch_.adapted.has(called, tags.back()))
      adapter(called, tags, y, x, w, in);
    product(called, tags, y, x, w).inputs[0].loops.back() = in;  // contracted
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
  if (step.kind == ProjectorStep::Kind::attend) return queried(name, x, step);
  const bool joined = step.kind == ProjectorStep::Kind::merge;
  const int fewer = dim(("s." + name).c_str(), net_.dims[rows].extent / step.size),
            wide = joined ? dim((name + ".in").c_str(), net_.dims[width].extent * step.size) : width;
  const int y = activation(name, {b_, fewer, wide});
  Operator& op = add(name, tags, OperatorKind::opaque, joined ? "join" : "mean", y, {x}, name);
  op.output.row_dim = 1;
  op.output.row_loops = {rows};
  net_.tensors[y].role = net_.tensors[x].role;  // no gradient where nothing in front is trained
  if (joined) op.whole_loops = {width, wide};
  return y;
}

/// Learned queries, normed and the same for each image, attend over its rows in heads of 128 numbers
/// (openbmb/MiniCPM-V-2_6 resampler.py: num_heads = embed_dim // 128).
int TransformerBuilder::queried(const std::string& name, int x, const ProjectorStep& step) {
  const Tags tags{"projector"};
  const int positions = s_, width = net_.tensors[x].dims.back();
  const std::int64_t wide = net_.dims[width].extent, size = std::gcd(wide, projector_head);
  const auto own = [&](const char* letter, std::int64_t extent) {
    return dim((std::string(letter) + "." + name).c_str(), extent);
  };
  const int rows = own("s", step.size * whole_.images), seen = own("t", net_.dims[net_.tensors[x].dims[1]].extent),
            g = own("g", wide / size), r = own("r", 1), d = own("d", size);
  const int asked = tensor(name + ".which", {b_, rows}, 8, TensorRole::data),
            learned = activation(name + ".learned", {b_, rows, width});
  add(name + ".learned", tags, OperatorKind::select, "", learned,
      {weight("W." + name + ".queries", {own("n", step.size), width}), asked}, "embedding")
      .monoid = Monoid::sum;
  const auto headed_rows = [&](const char* letter, int from, std::vector<int> heads) {
    const std::string called = name + "." + letter;
    return biased(called, projection(called, from, heads), heads, tags, "attn.qkv");
  };
  const int q = headed_rows("Q", norm(name + ".norm", learned, tags, 1, true, Norm::layernorm), {g, r, d}),
            k = headed_rows("K", x, {g, d}), v = headed_rows("V", x, {g, d}),
            o = activation(name + ".O", {b_, rows, g, r, d}), y = activation(name + ".Y", {b_, rows, width});
  s_ = rows;
  Operator& core = fused_core({name + ".core", seen, false, false}, q, {k, v}, o);
  s_ = positions;
  if (whole_.images > 1) core.domain = Domain::tile, core.reach = net_.dims[seen].extent / whole_.images;
  product(name + ".out", tags, y, o, weight("W." + name + ".out", {g, r, d, width}));
  return biased(name + ".out", y, {width}, tags, "bias_gelu");
}

std::vector<std::int64_t> lending_layers(const NetworkSpec& encoder) {
  std::vector<std::int64_t> layers;
  for (const Projector& steps : encoder.projectors)
    for (const ProjectorStep& step : steps)
      if ((step.kind == ProjectorStep::Kind::layer || step.kind == ProjectorStep::Kind::beside) &&
          step.size < encoder.layers)
        layers.push_back(step.size);
  std::ranges::sort(layers);
  layers.erase(std::unique(layers.begin(), layers.end()), layers.end());
  return layers;
}

/// In order, each layer whose features a projector reads in a block of its own, which hands them on as they lie; 0 is
/// what enters the layers.
void TransformerBuilder::layers_that_lend() {
  const LayerKinds all = layer_kinds(whole_, whole_.sequence);
  std::int64_t from = 0;
  for (const std::int64_t lends : lending_layers(whole_)) {
    if (lends > 0) {
      layer_run(all, from, lends - 1, Block::Place::first);
      layer_run(all, lends - 1, lends, Block::Place::first);
    }
    const int features = activation(fmt::format("features.{}", lends), streamed());
    add("features", {"projector"}, OperatorKind::opaque, "part", features, {net_.blocks.back().output});
    features_.emplace_back(lends, features);
    from = lends;
  }
  layer_run(all, from, whole_.layers, Block::Place::first);
}

/// What so many layers gave, `last` being what all did; rows of the class are left out.
int TransformerBuilder::features_of(std::int64_t layers, int last) {
  const auto lent = std::ranges::find(features_, layers, &std::pair<std::int64_t, int>::first);
  if (lent == features_.end()) return last;
  std::vector<int>& reads = net_.blocks.back().reads;
  if (!contains(reads, lent->second)) reads.push_back(lent->second);
  return whole_.class_token ? patches_alone(lent->second, fmt::format(".{}", layers)) : lent->second;
}

/// One row of several, side by side.
int TransformerBuilder::rows_beside(const std::string& name, const std::vector<int>& parts) {
  std::vector<int> dims = net_.tensors[parts.front()].dims;
  std::int64_t width = 0;
  for (const int part : parts) width += net_.dims[net_.tensors[part].dims.back()].extent;
  dims.back() = dim((name + ".in").c_str(), width);
  const int y = activation(name, dims);
  Operator& op = add(name, {"projector"}, OperatorKind::opaque, "join", y, {}, name);
  for (const int part : parts) {
    op.inputs.push_back(whole(part));
    const int loop = net_.tensors[part].dims.back();
    if (!contains(op.whole_loops, loop)) op.whole_loops.push_back(loop);
  }
  op.whole_loops.push_back(dims.back());
  net_.tensors[y].role = net_.tensors[parts.front()].role;
  return y;
}

/// Behind the encoder's layers, in a block of its own, which may be trained where they are not.
void TransformerBuilder::project(int x, const TransformerBuilder& network) {
  use_shape(0);
  frozen_ = whole_.frozen_projectors;
  start_block("projector", 1, Block::Place::first);
  net_.blocks.back().input = x;
  if (whole_.class_token) x = patches_alone(x, "");
  int sum = -1;
  for (std::size_t p = 0; p < whole_.projectors.size(); ++p) {
    int rows = x;
    const Projector& steps = whole_.projectors[p];
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::string name = fmt::format("projector{}.{}", p + 1, i + 1);
      if (steps[i].kind == ProjectorStep::Kind::layer) {
        rows = features_of(steps[i].size, x);
        continue;
      }
      if (steps[i].kind == ProjectorStep::Kind::beside) {
        std::vector<int> parts{rows};
        for (; i < steps.size() && steps[i].kind == ProjectorStep::Kind::beside; ++i)
          parts.push_back(features_of(steps[i].size, x));
        --i;
        rows = rows_beside(name, parts);
        continue;
      }
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
int TransformerBuilder::patches_alone(int x, const std::string& suffix) {
  std::vector<int> dims = net_.tensors[x].dims;
  const int all = dims[1], known = net_.find_dim("s.patches." + prefix_);
  dims[1] = known >= 0 ? known : dim("s.patches", net_.dims[all].extent - whole_.images);
  const int y = activation("patches" + suffix, dims);
  Operator& op = add("patches" + suffix, {"projector"}, OperatorKind::opaque, "join", y, {x}, "patches");
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
