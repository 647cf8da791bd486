#include "model/machine/gpu_units.h"

#include <array>

namespace stepcast {

std::span<const CtaTile> cta_tiles() {
  static constexpr std::array tiles{CtaTile{256, 128, 64}, CtaTile{128, 256, 64}, CtaTile{128, 128, 64},
      CtaTile{128, 64, 64}, CtaTile{64, 128, 64}, CtaTile{64, 64, 64}};
  return tiles;
}

}  // namespace stepcast
