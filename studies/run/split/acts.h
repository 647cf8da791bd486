// Where a choice can change anything: a lever that cannot is not tried, and who asks for it is told (run/fields.h).
#pragma once

#include "model/network/network.h"
#include "studies/run/split/mapping_text.h"
#include "studies/run/split/wishes.h"

namespace stepcast::run {

bool is_staged(const Split& split, const RunWishes& told, const NetworkSpec& network);
/// One stage has them where a schedule is said that brings them there.
bool has_chunks(const Split& split, const RunWishes& told, const NetworkSpec& network);
/// On one stage a schedule changes what is held, unless it holds as little as 1f1b does.
bool is_scheduled(const Split& split, const RunWishes& told, const NetworkSpec& network);
/// Other schedules only check the cap.
bool keeps_to_cap(const Split& split, const RunWishes& told, const NetworkSpec& network);
bool splits_tensors(const Split& split, const RunWishes& told, const NetworkSpec& network);
bool splits_context(const Split& split, const RunWishes& told, const NetworkSpec& network);
bool has_experts(const Split& split, const RunWishes& told, const NetworkSpec& network);
/// Is there more than one axis of several ranks?
bool has_axes(const Split& split, const RunWishes& told, const NetworkSpec& network);

/// Are there ranks that could share what each holds whole without ZeRO?
bool has_shards(const Split& split, const RunWishes& told, const NetworkSpec& network);
bool keeps_shards(const Split& split, const RunWishes& told, const NetworkSpec& network);
/// Over dp and cp; under sp the norms' over tp, too.
bool reduces_gradients(const Split& split, const RunWishes& told, const NetworkSpec& network);
bool gathers_weights(const Split& split, const RunWishes& told, const NetworkSpec& network);
bool moves_in_layers(const Split& split, const RunWishes& told, const NetworkSpec& network);
bool sends_repeated(const Split& split, const RunWishes& told, const NetworkSpec& network);
bool gathers_again(const Split& split, const RunWishes& told, const NetworkSpec& network);

}  // namespace stepcast::run
