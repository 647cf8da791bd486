// MAESTRO's hardware and mapping as a program. A level of clusters is a level of units; what it steps through in time
// stands at the level outside it. A map of size s cuts the tile that its level got into pieces of s; over Y and X,
// sizes count input and make (s - R) / stride + 1 results. A spatial map with more pieces than units folds: its rounds
// stand in time at the directive's place. What is left inside a PE runs there in time. L2 reads are counted per tile of
// a cluster, as MAESTRO does, so clusters keep their tile; an element has one byte.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "dataflow/translate/maestro/maestro.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {

const std::vector<MaestroType> maestro_types{
    {"CONV", "KCRSYX", "output[{n}K,Y_out,X_out] += input[{n}C,{sy}Y_out+R,{sx}X_out+S] * filter[K,C,R,S]", true},
    {"DSCONV", "CRSYX", "output[{n}C,Y_out,X_out] += input[{n}C,{sy}Y_out+R,{sx}X_out+S] * filter[C,R,S]", true},
    {"GEMM", "MNK", "output[M,N] += input[M,K] * filter[K,N]", false}};
const std::vector<MaestroWindow> maestro_windows{{"Y", "R", "Y_out"}, {"X", "S", "X_out"}};

namespace {

constexpr double element_bits = 8;  // MAESTRO's buffer sizes come out in elements of one byte
constexpr double l1_buffers = 2;    // it sizes L1 for the next tile beside this one

/// The levels of clusters of a layer, outermost first: units, and the directives of the level.
struct ClusterLevel {
  std::int64_t units = 1;
  std::vector<MaestroDirective> directives;
};

class LayerTranslation {
 public:
  LayerTranslation(
      const MaestroLayer& layer, const MaestroHardware& hardware, const std::string& suffix, ImportLog& log)
      : layer_(layer), hardware_(hardware), suffix_(suffix), log_(log) {}

  /// dims and operator, then one list of items per arch level: l2, clusters, l1.
  void run(MappingProgram& program, const std::string& name) {
    add_operator(program, name);
    if (log_.failed()) return;
    split_levels();
    lines_.resize(levels_.size() + 1);
    for (std::size_t l = 0; l < levels_.size() && !log_.failed(); ++l) translate(l);
    if (!log_.failed()) add_rest();
  }
  [[nodiscard]] const std::vector<ClusterLevel>& levels() const { return levels_; }
  std::vector<std::vector<LevelItem>> take_lines() { return std::move(lines_); }

 private:
  [[nodiscard]] const MaestroWindow* window_of(const std::string& dim) const {
    for (const MaestroWindow& window : maestro_windows)
      if (type_->windows && (dim == window.image || dim == std::string(window.image) + "'")) return &window;
    return nullptr;
  }
  [[nodiscard]] std::int64_t stride(const MaestroWindow& window) const {
    return std::string(window.image) == "Y" ? layer_.stride_y : layer_.stride_x;
  }

  void add_operator(MappingProgram& program, const std::string& name) {
    const auto type = std::ranges::find(maestro_types, layer_.type, &MaestroType::name);
    if (type == maestro_types.end())
      return log_.refuse(
          layer_.position, fmt::format("layer {} is of type '{}'", layer_.name, layer_.type), "CONV, DSCONV or GEMM");
    type_ = &*type;
    for (const char* dim = type_->dims; *dim != 0; ++dim)
      if (layer_.size({*dim}) == 0)
        return log_.refuse(layer_.position, fmt::format("layer {} has no dimension {}", layer_.name, *dim),
            fmt::format("a {} has {}", type_->name, type_->dims));
    for (const auto& [dim, size] : layer_.dims) {
      const bool used =
          std::string_view(type_->dims).find(dim) != std::string_view::npos || (dim == "N" && type_->windows);
      if (!used && size != 1)
        return log_.refuse(layer_.position, fmt::format("dimension {} of a {} layer", dim, type_->name),
            fmt::format("a {} has {}", type_->name, type_->dims));
      if (!used) continue;
      const MaestroWindow* window = window_of(dim);
      add_dim(
          program, window ? window->output : dim, window ? results(*window, size, layer_.size(window->filter)) : size);
    }
    const std::string batch = layer_.size("N") > 0 ? "N," : "";
    const auto step = [](std::int64_t stride) { return stride == 1 ? std::string() : fmt::format("{}*", stride); };
    const std::string text = fmt::format(fmt::runtime(type_->access), fmt::arg("n", batch),
        fmt::arg("sy", step(layer_.stride_y)), fmt::arg("sx", step(layer_.stride_x)));
    const auto parsed = parse(fmt::format("{}: {}", name, text), layer_.position.file);
    if (!parsed) return log_.refuse(layer_.position, parsed.error().what, parsed.error().hint);
    WrittenOperator op = parsed->operators.front();
    op.position = layer_.position;
    rename(op.output);
    for (WrittenAccess& input : op.inputs) rename(input);
    program.operators.push_back(std::move(op));
  }
  void rename(WrittenAccess& access) const {
    for (WrittenIndex& index : access.indices)
      for (WrittenIndex::Term& term : index.terms) term.loop += suffix_;
  }
  void add_dim(MappingProgram& program, const std::string& dim, std::int64_t extent) {
    if (extent < 1)
      return log_.refuse(layer_.position,
          fmt::format("layer {} has no result along {}: the filter is larger than the image", layer_.name, dim),
          "a filter that fits into the image");
    program.dims.push_back({dim + suffix_, extent});
    tile_[dim] = extent;
  }

  /// Results that `image` inputs under a filter of `filter` make.
  [[nodiscard]] std::int64_t results(const MaestroWindow& window, std::int64_t image, std::int64_t filter) const {
    return image < filter ? 0 : (image - filter) / stride(window) + 1;
  }

  void split_levels() {
    levels_.emplace_back();
    std::int64_t inside = 1;
    for (const MaestroDirective& directive : layer_.directives) {
      if (directive.kind != MaestroDirective::Kind::cluster) {
        levels_.back().directives.push_back(directive);
        continue;
      }
      levels_.emplace_back();
      levels_.back().units = value(directive.size, directive.position);
      inside = capped_product(inside, levels_.back().units);
    }
    levels_.front().units = hardware_.pes / inside;
    if (levels_.front().units == 0)
      return log_.refuse(layer_.position, fmt::format("clusters of {} PEs on {} PEs", inside, hardware_.pes),
          "make the clusters smaller");
    if (const std::int64_t idle = hardware_.pes % inside; idle > 0)
      log_.note(
          layer_.position, fmt::format("layer {}: {} of {} PEs are in no cluster", layer_.name, idle, hardware_.pes));
  }

  std::int64_t value(const MaestroSize& size, const Position& where) {
    std::int64_t sum = 0;
    for (const MaestroSize::Term& term : size.terms) {
      const std::int64_t part = term.dim.empty() ? term.number : layer_.size(term.dim);
      if (part == 0)
        log_.refuse(where, fmt::format("Sz({}): layer {} has no such dimension", term.dim, layer_.name),
            "a dimension of the layer");
      sum += term.sign * part;
    }
    if (sum < 1) log_.refuse(where, fmt::format("a size of {}", sum), "at least 1");
    return std::max<std::int64_t>(sum, 1);
  }

  /// The tile of a filter loop that this level hands on: its own map here, or what came in.
  std::int64_t filter_tile(const ClusterLevel& level, const std::string& dim) {
    for (const MaestroDirective& directive : level.directives)
      if (directive.dim == dim) return std::min(value(directive.size, directive.position), tile_[dim]);
    return tile_[dim];
  }

  struct Piece {
    std::string dim;
    std::int64_t size = 1;
  };

  /// The loop that a directive cuts and the size of its pieces. Errors: an unknown dim; pieces that overlap or leave
  /// gaps.
  Piece piece_of(const ClusterLevel& level, const MaestroDirective& directive) {
    const std::int64_t size = value(directive.size, directive.position),
                       offset = value(directive.offset, directive.position);
    const MaestroWindow* window = window_of(directive.dim);
    const std::string dim = window ? window->output : directive.dim;
    if (!tile_.contains(dim))
      return log_.refuse(directive.position,
                 fmt::format("a {} layer has no dimension '{}'", layer_.type, directive.dim), type_->dims),
             Piece{};
    const bool by_input = window && directive.dim == window->image;
    if (by_input && tile_[dim] == 1) return {dim, 1};  // one row of results: the window is all there is
    const std::int64_t made = by_input ? results(*window, size, filter_tile(level, window->filter)) : size;
    const std::int64_t piece = std::min(made, tile_[dim]);
    if (piece < 1)
      return log_.refuse(directive.position, fmt::format("a piece of {} along {} makes no result", size, directive.dim),
                 fmt::format("at least Sz({})", window->filter)),
             Piece{};
    const bool touches = offset == made || (by_input && offset == capped_product(made, stride(*window)));
    if (piece < tile_[dim] && !touches)
      log_.refuse(directive.position,
          fmt::format("pieces of {} ({} results) advance by {} along {}", size, made, offset, directive.dim),
          offset < made ? "they would overlap and work twice: the offset must be the results of a piece"
                        : "they would leave gaps: the offset must be the results of a piece");
    return {dim, piece};
  }

  void translate(std::size_t l) {
    const ClusterLevel& level = levels_[l];
    std::map<std::string, std::int64_t> inside = tile_;
    std::string spatial;
    std::vector<std::string> seen;
    for (const MaestroDirective& directive : level.directives) {
      const Piece piece = piece_of(level, directive);
      if (log_.failed()) return;
      if (contains(seen, directive.dim))
        return log_.refuse(directive.position,
            fmt::format("{} is mapped twice at one level of clusters", directive.dim),
            "one directive for each dimension and level");
      seen.push_back(directive.dim);
      const std::int64_t tile = tile_[piece.dim], rounds = (tile + piece.size - 1) / piece.size;
      inside[piece.dim] = piece.size;
      if (rounds == 1) continue;
      std::int64_t parts = 1;
      if (directive.kind == MaestroDirective::Kind::spatial) {
        if (!spatial.empty())
          return log_.refuse(directive.position,
              fmt::format("{} and {} in space at one level of clusters", spatial, directive.dim),
              "open another level with Cluster(n, P)");
        spatial = directive.dim;
        parts = std::min(rounds, level.units);
        if (parts > 1)
          lines_[l + 1].emplace_back(
              ChipPar{piece.dim + suffix_, unit_name(l), parts, piece.size * rounds != tile || rounds % parts != 0});
      }
      const std::int64_t folds = (rounds + parts - 1) / parts;
      if (folds > 1)
        lines_[l].emplace_back(ForStatement{piece.dim + suffix_, folds, parts == 1 && piece.size * rounds != tile});
      order_.push_back(piece.dim);
    }
    tile_ = std::move(inside);
  }

  /// What no map cut runs inside a PE.
  void add_rest() {
    for (const auto& [dim, size] : tile_) order_.push_back(dim);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      std::int64_t& size = tile_[order_[i]];
      if (size > 1) lines_.back().emplace_back(ForStatement{order_[i] + suffix_, size, false});
      size = 1;
    }
  }

 public:
  [[nodiscard]] std::string unit_name(std::size_t l) const {
    if (l + 1 == levels_.size()) return "l1";
    return l == 0 ? "cluster" : fmt::format("cluster_{}", l + 1);
  }

 private:
  const MaestroLayer& layer_;
  const MaestroHardware& hardware_;
  const std::string suffix_;
  ImportLog& log_;
  const MaestroType* type_ = nullptr;
  std::vector<ClusterLevel> levels_;
  std::map<std::string, std::int64_t> tile_;  // of the level at hand, by loop
  std::vector<std::string> order_;
  std::vector<std::vector<LevelItem>> lines_;  // by arch level: l2, clusters, l1
};

ArchLevel& add_level(WrittenArch& arch, const std::string& name, const Position& where) {
  ArchLevel level;
  level.name = name;
  level.position = where;
  level.properties.push_back(arch_property("word", element_bits));
  return arch.levels.emplace_back(std::move(level));
}

WrittenArch maestro_arch(const MaestroHardware& hardware, const LayerTranslation& layer) {
  WrittenArch arch;
  arch.position = hardware.position;
  ArchLevel& dram = add_level(arch, "dram", hardware.position);
  if (hardware.offchip_bytes_per_cycle > 0)
    dram.properties.push_back(arch_property("bw", hardware.offchip_bytes_per_cycle, true));
  ArchLevel& l2 = add_level(arch, "l2", hardware.position);
  if (hardware.noc_bytes_per_cycle > 0)
    l2.properties.push_back(arch_property("bw", hardware.noc_bytes_per_cycle, true));
  for (std::size_t l = 0; l < layer.levels().size(); ++l) {
    ArchLevel& level = add_level(arch, layer.unit_name(l), hardware.position);
    level.axes = {{level.name, layer.levels()[l].units}};
  }
  ArchLevel& l1 = arch.levels.back();
  l1.properties.push_back(arch_property("buffers", l1_buffers));
  if (hardware.l1_bytes > 0) l1.properties.push_back(arch_property("cap", hardware.l1_bytes));
  return arch;
}

void add_layer(
    const MaestroLayer& layer, const MaestroHardware& hardware, bool several, MappingProgram& program, ImportLog& log) {
  const std::string name = notation_name(layer.name, layer.position, log);
  for (const WrittenOperator& other : program.operators)
    if (other.name == name)
      return log.refuse(layer.position, fmt::format("a second layer '{}'", layer.name), "give layers distinct names");
  LayerTranslation translation(layer, hardware, several ? fmt::format("_{}", program.operators.size() + 1) : "", log);
  translation.run(program, name);
  if (log.failed()) return;
  WrittenArch arch = maestro_arch(hardware, translation);
  if (program.archs.empty()) program.archs.push_back(arch);
  if (!(arch == program.archs.front()))
    return log.refuse(layer.position, fmt::format("layer {} has other clusters than the layers before it", layer.name),
        "one program has one architecture: give such layers in files of their own");
  std::vector<std::vector<LevelItem>> lines = translation.take_lines();
  const std::string scope = several ? name : "";
  const Keep all{{"input", "filter", "output"}};
  program.body.emplace_back(level_line("dram", {all}, layer.position, scope));
  for (std::size_t l = 0; l < lines.size(); ++l) {
    lines[l].emplace_back(all);
    program.body.emplace_back(level_line(arch.levels[l + 1].name, std::move(lines[l]), layer.position, scope));
  }
}

}  // namespace

Expected<Imported> from_maestro(std::span<const SourceFile> files) {
  if (files.size() != 2)
    return fail("maestro", fmt::format("{} files", files.size()), "the hardware file, then the mapping file");
  ImportLog log;
  const MaestroHardware hardware = maestro_hardware(files[0], log);
  if (log.failed()) return tl::unexpected(log.error());
  const std::vector<MaestroLayer> layers = maestro_layers(files[1], log);
  MappingProgram program;
  for (const MaestroLayer& layer : layers)
    if (!log.failed()) add_layer(layer, hardware, layers.size() > 1, program, log);
  if (log.failed()) return tl::unexpected(log.error());
  return Imported{std::move(program), log.notes(), Windows::exact};
}

}  // namespace stepcast::dataflow
