// What MAESTRO's mapping file says, between its text and the notation. Format: maestro-project/maestro (4eb08d1):
//   Network NAME { Layer NAME { Type: CONV  Stride { X: 1, Y: 1 }  Dimensions { K: 64, C: 3, ... }
//                               Dataflow { TemporalMap(Sz(R),1) Y; SpatialMap(1,1) K; Cluster(16,P); ... } } }
// Directives stand outer to inner; Cluster(n,P) ends a level of clusters and opens the next one, inside a cluster of n.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "dataflow/translate/foreign.h"
#include "dataflow/translate/import_log.h"

namespace stepcast::dataflow {

/// A sum of numbers and sizes of dims: 8 + Sz(S) - 1.
struct MaestroSize {
  struct Term {
    std::int64_t sign = 1, number = 0;
    std::string dim;  ///< "" = the number
  };
  std::vector<Term> terms;
};

struct MaestroDirective {
  enum class Kind { temporal, spatial, cluster } kind = Kind::temporal;
  MaestroSize size, offset;  ///< cluster: size only
  std::string dim;           ///< "" for a cluster
  Position position;
};

struct MaestroLayer {
  std::string name, type;
  std::int64_t stride_x = 1, stride_y = 1;
  std::vector<std::pair<std::string, std::int64_t>> dims;
  std::vector<MaestroDirective> directives;
  Position position;

  /// 0 = the layer has no such dim.
  [[nodiscard]] std::int64_t size(const std::string& dim) const;
};

/// A hardware file; 0 = not said. An element has one byte.
struct MaestroHardware {
  std::int64_t pes = 0;
  double l1_bytes = 0, noc_bytes_per_cycle = 0, offchip_bytes_per_cycle = 0;
  Position position;
};

MaestroHardware maestro_hardware(const SourceFile& file, ImportLog& log);
std::vector<MaestroLayer> maestro_layers(const SourceFile& file, ImportLog& log);

/// The layers that MAESTRO knows, as operators of the notation. {sx} and {sy} are the strides, {n} "N," or "" for the
/// batch. Y and X of a convolution are sizes of the input; the loops over its result are Y_out and X_out.
struct MaestroWindow {
  const char *image, *filter, *output;  ///< Y slides by R: Y_out
};
struct MaestroType {
  std::string_view name;
  const char* dims;  ///< one letter each, all required
  const char* access;
  bool windows;  ///< Y and X slide
};
extern const std::vector<MaestroType> maestro_types;
extern const std::vector<MaestroWindow> maestro_windows;

}  // namespace stepcast::dataflow
