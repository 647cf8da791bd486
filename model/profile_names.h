// The words of profile files, for reading, writing and reports.
#pragma once

#include "model/json_reader.h"
#include "model/machine_names.h"
#include "model/profile.h"

namespace stepcast {

inline constexpr Choice<Source> source_names[] = {{"measured", Source::measured},
                                                  {"fitted", Source::fitted},
                                                  {"transferred", Source::transferred},
                                                  {"datasheet", Source::datasheet},
                                                  {"assumed", Source::assumed}};
inline constexpr Choice<CollectiveKind> collective_names[] = {{"all_gather", CollectiveKind::all_gather},
                                                              {"reduce_scatter", CollectiveKind::reduce_scatter},
                                                              {"all_reduce", CollectiveKind::all_reduce},
                                                              {"all_to_all", CollectiveKind::all_to_all},
                                                              {"send_recv", CollectiveKind::send_recv},
                                                              {"broadcast", CollectiveKind::broadcast},
                                                              {"reduce", CollectiveKind::reduce}};
inline constexpr Choice<int> regime_names[] = {{"burst", 0}, {"sustained", 1}};

}  // namespace stepcast
