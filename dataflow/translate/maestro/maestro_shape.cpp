#include "dataflow/translate/maestro/maestro_shape.h"

#include <algorithm>

#include "dataflow/translate/product.h"

namespace stepcast::dataflow {
namespace {

bool indexes(const ChipTensor& tensor, int dim) {
  return std::ranges::any_of(tensor.indices, [&](const ChipIndex& index) {
    return std::ranges::any_of(index.terms, [&](const ChipIndex::Term& t) { return t.dim == dim; });
  });
}

bool is_plain(const ChipTensor& tensor) {
  return std::ranges::all_of(
      tensor.indices, [](const ChipIndex& i) { return i.terms.size() == 1 && i.terms[0].step == 1; });
}

class ConvolutionShape {
 public:
  explicit ConvolutionShape(const ChipProgram& chip) : chip_(chip) { shape_.loop.resize(chip.dims.size()); }

  std::optional<MaestroShape> find() {
    if (chip_.tensors.size() != 3 || !is_plain(chip_.tensors[2])) return {};
    const int input = is_plain(chip_.tensors[0]) ? 1 : 0;
    if (is_plain(chip_.tensors[input]) || !is_plain(chip_.tensors[1 - input])) return {};
    if (!name_windows(chip_.tensors[input], chip_.tensors[1 - input])) return {};
    if (!name_others(chip_.tensors[input], chip_.tensors[1 - input])) return {};
    return shape_;
  }

 private:
  /// stride * result + filter position, twice: Y with R, then X with S.
  bool name_windows(const ChipTensor& input, const ChipTensor& filter) {
    int windows = 0;
    for (const ChipIndex& index : input.indices) {
      if (index.terms.size() == 1) continue;
      if (index.terms.size() != 2 || windows == 2) return false;
      const bool first = indexes(chip_.tensors[2], index.terms[0].dim);
      const ChipIndex::Term &result = index.terms[first ? 0 : 1], &position = index.terms[first ? 1 : 0];
      if (position.step != 1 || !indexes(chip_.tensors[2], result.dim) || indexes(filter, result.dim) ||
          !indexes(filter, position.dim) || indexes(chip_.tensors[2], position.dim))
        return false;
      (windows == 0 ? shape_.stride_y : shape_.stride_x) = result.step;
      if (!name(result.dim, windows == 0 ? "Y_out" : "X_out") || !name(position.dim, windows == 0 ? "R" : "S"))
        return false;
      ++windows;
    }
    return windows == 2;
  }

  bool name_others(const ChipTensor& input, const ChipTensor& filter) {
    for (int d = 0; d < static_cast<int>(chip_.dims.size()); ++d) {
      if (!shape_.loop[d].empty()) continue;
      const bool in = indexes(input, d), weight = indexes(filter, d), out = indexes(chip_.tensors[2], d);
      const bool depthwise = in && weight && out;
      const char* role = depthwise || (in && weight) ? "C" : weight && out ? "K" : in && out ? "N" : nullptr;
      if (role == nullptr || !name(d, role)) return false;
      if (depthwise) shape_.type = "DSCONV";
    }
    const bool depthwise = shape_.type == "DSCONV";
    return shape_.find("C") >= 0 && (shape_.find("K") >= 0) != depthwise;
  }

  bool name(int dim, const std::string& role) {
    if (!shape_.loop[dim].empty() || shape_.find(role) >= 0) return false;
    shape_.loop[dim] = role;
    return true;
  }

  const ChipProgram& chip_;
  MaestroShape shape_{"CONV", {}, 1, 1};
};

}  // namespace

int MaestroShape::find(const std::string& name) const {
  const auto found = std::ranges::find(loop, name);
  return found == loop.end() ? -1 : static_cast<int>(found - loop.begin());
}

std::optional<MaestroShape> maestro_shape(const ChipProgram& chip) {
  const auto product = product_of(chip);
  if (!product) return ConvolutionShape(chip).find();
  MaestroShape shape{"GEMM", std::vector<std::string>(3), 1, 1};
  const char* const names[] = {"M", "N", "K"};
  for (int role = 0; role < 3; ++role) shape.loop[product->loop[role]] = names[role];
  return shape;
}

}  // namespace stepcast::dataflow
