// Works of one launch by what its items are. Internal to dataflow/lower: add_works() in fuse.h calls them.
#pragma once

#include <cstddef>
#include <vector>

#include "dataflow/lower/fuse/fuse.h"

namespace stepcast::dataflow {

/// With the label, the calls and the facts that follow from the item's operator alone.
KernelWork blank_work(const FuseContext& c, const PlacedItem& item);
/// All that the item reads and writes.
Bytes touched_bytes(const FuseContext& c, const PlacedItem& item);

/// Joins products over one input (Q, K, V; gate and up) into one launch; others stay launches of their own.
void add_products(const FuseContext& c, const std::vector<const PlacedItem*>& members, std::vector<KernelWork>& works);
/// Additions of the weight gradients from `first` on, where no product accumulates.
void add_accumulations(const FuseContext& c, std::size_t first, std::vector<KernelWork>& works);
/// The same where a product's weight is a cast of the one that is trained.
void add_cast_accumulations(
    const FuseContext& c, const std::vector<const PlacedItem*>& members, std::vector<KernelWork>& works);
/// Casts of weights that are gathered wide under a narrow plan.
void add_weight_casts(
    const FuseContext& c, const std::vector<const PlacedItem*>& members, std::vector<KernelWork>& works);

/// Fused attention and scans. Their backward kernels make the gradients of their few weights, too.
void add_cores(const FuseContext& c, const std::vector<const PlacedItem*>& cores, std::vector<KernelWork>& works);
/// The scores of an indexer and the best of each row.
KernelWork index_work(const FuseContext& c, const PlacedItem& item);

/// Reads from outside plus writes to outside; what stays inside the launch costs nothing. False: all of it.
bool add_pointwise(const FuseContext& c, const std::vector<const PlacedItem*>& members, const std::vector<int>& root,
    const std::vector<char>& read_outside, std::vector<KernelWork>& works);
/// Convolutions along positions in front of a scan, forward: m positions of all sequences, n channels, k taps; other
/// pointwise works that mix no streams have k 0.
void size_convolution(const FuseContext& c, const std::vector<const PlacedItem*>& members, KernelWork& work);
/// Does a launch of these mix residual streams, forward?
bool mixes_streams(const FuseContext& c, const std::vector<const PlacedItem*>& members);
/// That launch.
void add_mixing(const FuseContext& c, const std::vector<const PlacedItem*>& members, const std::vector<int>& root,
    const std::vector<char>& read_outside, std::vector<KernelWork>& works);
/// An embedding, or a picked logit.
KernelWork look_up(const FuseContext& c, const PlacedItem& item);

}  // namespace stepcast::dataflow
