#include "dataflow/translate/cluster/cluster_formats.h"

#include <fmt/format.h>

#include "dataflow/translate/cluster/names.h"
#include "dataflow/translate/cluster/placements.h"
#include "model/base/contains.h"

namespace stepcast::dataflow {
namespace {

template <Expected<MappingProgram> (*Read)(const std::string&, const std::string&)>
Expected<Imported> read_one(std::span<const SourceFile> files) {
  if (files.size() != 1)
    return fail(
        files.empty() ? "format" : files[1].name, fmt::format("found {} files", files.size()), "one file says it all");
  TRY(auto program, Read(files.front().text, files.front().name));
  Imported read;
  read.program = std::move(program);
  return read;
}

/// The mesh's view, or that of a chip's units; only operator `op` where one is named.
Expected<PlacementView> view_of(const MappingProgram& program, const std::string& op) {
  if (program.meshes.empty() && has_chip(program)) {
    TRY(const auto chip, chip_program(program, op));
    return placement_view(chip);
  }
  auto view = placement_view(program);
  if (!view || op.empty()) return view;
  const std::vector<std::string> names = names_of(view->operators, &OperatorPlacement::name);
  if (!contains(names, op)) return fail("--op", fmt::format("unknown operator '{}'", op), name_hint(op, names));
  std::erase_if(view->operators, [&](const OperatorPlacement& row) { return row.name != op; });
  return view;
}

template <std::string (*Text)(const PlacementView&)>
Expected<Exported> write_view(const MappingProgram& program, const std::string& op) {
  TRY(const auto view, view_of(program, op));
  Exported out;
  out.text = Text(view);  // what it cannot say stands in comments
  return out;
}

/// Rows with "no name" and its reason among them; an error only where there is nothing to name.
Expected<Exported> written_names(const std::vector<NameRow>& rows, const char* wanted) {
  if (rows.empty()) return fail("program", "it has nothing to name", wanted);
  Exported out;
  out.text = names_text(rows);
  return out;
}

Expected<Exported> write_megatron(const MappingProgram& program, const std::string& op) {
  TRY(const auto view, view_of(program, op));
  return written_names(megatron_names(view), "Megatron's classes are products of two operands on an axis of the mesh");
}

Expected<Exported> write_pope(const MappingProgram& program, const std::string& op) {
  TRY(const auto view, view_of(program, op));
  std::vector<NameRow> rows = pope_names(view);
  const std::vector<NameRow> products = product_names(view);
  rows.insert(rows.end(), products.begin(), products.end());
  return written_names(rows, "layouts are of products with a weight, a tensor whose name starts with W");
}

Expected<Exported> write_eyeriss(const MappingProgram& program, const std::string& op) {
  TRY(const auto chip, chip_program(program, op));
  return written_names({taxonomy_name(chip)}, "");
}

Expected<MappingProgram> read_notation(const std::string& text, const std::string& file) { return parse(text, file); }

Expected<Exported> write_notation(const MappingProgram& program, const std::string& op) {
  if (!op.empty())
    return fail("--op", fmt::format("operator '{}' of a program that is printed whole", op), "leave --op out");
  Exported out;
  out.text = print(program);
  return out;
}

}  // namespace

std::vector<ForeignFormat> cluster_formats() {
  const char* const placements_file = "FILE: a mesh, operators, and the placement of each tensor behind its operator";
  return {
      {"dtensor", "PyTorch DTensor: Shard, Replicate, Partial by mesh axis", placements_file, read_one<read_dtensor>,
          write_view<dtensor_text>},
      {"jax", "JAX: a PartitionSpec for each tensor", placements_file, read_one<read_jax>, write_view<jax_text>},
      {"shardy", "Shardy: sdy.sharding and sharding rules", placements_file, read_one<read_shardy>,
          write_view<shardy_text>},
      {"megatron", "Megatron-LM: classes and flags", "FILE: one layer, 'ColumnParallelLinear m:64 n:64 k:64 tp:8'",
          read_one<read_megatron>, write_megatron},
      {"pope", "layouts of Pope et al., SUMMA, Cannon, 2.5-D", "", nullptr, write_pope},
      {"eyeriss", "the Eyeriss taxonomy: which tensor is stationary", "", nullptr, write_eyeriss},
      {"notation", "this notation, as printed", "FILE.flow", read_one<read_notation>, write_notation},
  };
}

}  // namespace stepcast::dataflow
