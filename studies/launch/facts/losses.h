// Losses that software has beside the usual one, which makes all logits and keeps them: what each of them makes at
// once, in which type, and what it makes again.
#pragma once

#include <string>
#include <string_view>

#include "model/loss_form.h"

namespace stepcast::launch {

struct KnownLoss {
  std::string_view id, name;
  LossForm form;
  double bytes = 4;       ///< element size of the logits in it
  bool in_place = false;  ///< their gradient is written over them
  bool again = false;     ///< logits are made again in backward
};

/// What the value of an argument that tells the loss means; `known` is null where all logits are made, or where it is
/// not known how many (`untold`).
struct MeantLoss {
  const KnownLoss* known = nullptr;
  bool untold = false;
};
MeantLoss meant_loss(std::string_view argument, const std::string& value);

}  // namespace stepcast::launch
