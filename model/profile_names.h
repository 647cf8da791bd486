// The words of profile files, for reading, writing and reports.
#pragma once

#include "model/json_reader.h"
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
inline constexpr Choice<FabricKind> fabric_names[] = {{"nvswitch", FabricKind::nvswitch},
                                          {"nvlink_mesh", FabricKind::nvlink_mesh},
                                          {"pcie", FabricKind::pcie},
                                          {"infiniband", FabricKind::infiniband},
                                          {"ethernet", FabricKind::ethernet}};
inline constexpr Choice<Precision> precision_names[] = {{"fp32", Precision::fp32}, {"tf32", Precision::tf32},   {"fp16", Precision::fp16},
                                            {"bf16", Precision::bf16}, {"fp8", Precision::fp8},     {"mxfp8", Precision::mxfp8},
                                            {"nvfp4", Precision::nvfp4}};
inline constexpr Choice<int> regime_names[] = {{"burst", 0}, {"sustained", 1}};

}  // namespace stepcast
