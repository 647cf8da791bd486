// The loss of a launch: whether all logits are made, and in how many pieces else.
#include <fmt/format.h>

#include "studies/launch/facts/losses.h"
#include "studies/launch/read/launched_run.h"

namespace stepcast::launch {

Expected<void> read_loss(const LaunchSubject& subject) {
  LaunchAnswers& ask = subject.answers;
  const auto pieces = ask.count(Asked::loss_pieces);
  (void)ask.text(Asked::loss);  // all that answer are read here
  for (const ArgumentFact* row : subject.framework.table().answering(Asked::loss)) {
    const GivenArgument* given = subject.launch.find(row->name);
    if (given == nullptr) continue;
    const MeantLoss meant = meant_loss(given->name, given->value);
    if (meant.untold)
      subject.out.warnings.push_back(fmt::format("{} {:.60}: how many logits this loss makes at once is not known, and "
                                                 "the forecast has all of them",
          place_of(subject.launch, *given), given->value));
    if (meant.known == nullptr) continue;
    LaunchedLoss loss{meant.known->form, meant.known->bytes, meant.known->in_place, meant.known->again};
    if (loss.form.pieces == LossPieces::count && pieces) loss.form.size = *pieces;
    subject.note(fmt::format("loss: {}; the time of its pieces is that of whole products{}", meant.known->name,
        loss.again ? ", and backward makes the logits again" : ""));
    subject.out.loss = loss;
    break;
  }
  if (ask.error()) return tl::unexpected(*ask.error());
  return {};
}

}  // namespace stepcast::launch
