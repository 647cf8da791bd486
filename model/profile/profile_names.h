// The words of profile files, for reading, writing and reports.
#pragma once

#include "model/base/json_reader.h"
#include "model/machine/machine_names.h"
#include "model/profile/profile.h"

namespace stepcast {

inline constexpr Choice<Source> source_names[] = {{"measured", Source::measured}, {"fitted", Source::fitted},
    {"transferred", Source::transferred}, {"datasheet", Source::datasheet}, {"assumed", Source::assumed}};
inline constexpr Choice<CollectiveKind> collective_names[] = {{"all_gather", CollectiveKind::all_gather},
    {"reduce_scatter", CollectiveKind::reduce_scatter}, {"all_reduce", CollectiveKind::all_reduce},
    {"all_to_all", CollectiveKind::all_to_all}, {"send_recv", CollectiveKind::send_recv},
    {"broadcast", CollectiveKind::broadcast}, {"reduce", CollectiveKind::reduce}};
inline constexpr Choice<ExchangeKernel> exchange_kernel_names[] = {{"low_latency", ExchangeKernel::low_latency},
    {"normal", ExchangeKernel::normal}, {"nvlink_two_sided", ExchangeKernel::nvlink_two_sided},
    {"nvlink_one_sided", ExchangeKernel::nvlink_one_sided}};
inline constexpr Choice<ExchangeDirection> exchange_direction_names[] = {{"prepare", ExchangeDirection::prepare},
    {"dispatch", ExchangeDirection::dispatch}, {"combine", ExchangeDirection::combine}};
inline constexpr Choice<bool> exchange_copies_names[] = {{"per_choice", false}, {"per_rank", true}};
inline constexpr Choice<HyperConnectionPart> hyper_connection_names[] = {
    {"pre", HyperConnectionPart::pre}, {"post", HyperConnectionPart::post}};
inline constexpr Choice<CorrectionUse> correction_use_names[] = {
    {"kernels only", CorrectionUse::kernels}, {"kernels and steps", CorrectionUse::kernels_and_steps}};
inline constexpr Choice<int> regime_names[] = {{"burst", 0}, {"sustained", 1}};

/// What a roof may be of, and what its rate counts.
enum class RoofUnit : std::uint8_t { bytes, flops };
inline constexpr Choice<RoofUnit> roof_names[] = {{"hbm read", RoofUnit::bytes}, {"hbm write", RoofUnit::bytes},
    {"hbm copy", RoofUnit::bytes}, {"hbm triad", RoofUnit::bytes}, {"l2 read", RoofUnit::bytes},
    {"host_to_device", RoofUnit::bytes}, {"device_to_host", RoofUnit::bytes}, {"fp32", RoofUnit::flops},
    {"tf32", RoofUnit::flops}, {"fp16", RoofUnit::flops}, {"bf16", RoofUnit::flops}, {"fp8", RoofUnit::flops},
    {"fp8 block-scaled", RoofUnit::flops}, {"mxfp8", RoofUnit::flops}, {"nvfp4", RoofUnit::flops}};
/// Bytes where the table lacks the name.
inline RoofUnit unit_of(const Roof& roof) {
  for (const Choice<RoofUnit>& row : roof_names)
    if (roof.of == row.name) return row.value;
  return RoofUnit::bytes;
}

}  // namespace stepcast
