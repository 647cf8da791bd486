#include "kernels/cuda/graph_replay.h"

#include <algorithm>

namespace stepcast::kernels::gpu {
namespace {

constexpr double kCachesRead = 3;                           // what pushes everything else out of the level-2 cache
constexpr int kFirstSideGraphs = 2, kMostSideGraphs = 256;  // of about 5 ms: more than a second

/// Writes everything. Lines of data that is used again and again outlive a mere reading of three times the cache: on
/// H100 a kernel took as long after one as without (GpuBenchOnGpu.FlushAndRotationTakeDataOutOfTheCache).
__global__ void write_all(uint4* data, std::size_t count) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads)
    data[i] = make_uint4(0, 0, 0, 0);
}

/// Reads everything. Lines that are read leave the cache without being written back, which would take from the memory's
/// bandwidth while the timed work already runs.
__global__ void read_all(const uint4* data, std::size_t count, unsigned* sink) {
  unsigned bits = 0;
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    const uint4 value = __ldcg(data + i);
    bits |= value.x | value.y | value.z | value.w;
  }
  if (bits != 0) *sink = bits;  // the data is all zero: nothing is ever written, but the loads cannot be left out
}

/// Whole elements of read_all.
std::size_t flush_bytes(const GpuContext& context) {
  return static_cast<std::size_t>(kCachesRead * context.device.l2.value()) / sizeof(uint4) * sizeof(uint4);
}

}  // namespace

GraphReplay::GraphReplay(GpuContext& context, std::unique_ptr<Operation> timed, std::unique_ptr<Operation> beside)
    : context_(context), timed_(std::move(timed)) {
  if (beside) beside_ = std::make_unique<SideLoad>(context, std::move(beside));
}

// Nothing of this may still run when its buffers go.
GraphReplay::~GraphReplay() {
  if (!context_.use()) return;
  (void)context_.wait("end");
  if (beside_) (void)beside_->drain();
}

Expected<void> GraphReplay::allocate(int copies) {
  if (copies < 1) return fail("allocate", "no sets of buffers", "at least 1");
  TRY(context_.use());
  graph_ = CapturedGraph();
  copies_ = 0;
  if (beside_) {
    TRY(beside_->allocate());
  }
  TRY(timed_->allocate(copies));
  copies_ = copies;
  return {};
}

Expected<Check> GraphReplay::check() {
  if (copies_ == 0) return fail("check", "there are no buffers", "allocate comes first");
  TRY(context_.use());
  return timed_->check();
}

Expected<void> GraphReplay::record(int calls) {
  if (copies_ == 0) return fail("record", "there are no buffers", "allocate comes first");
  if (calls < 1) return fail("record", "no calls", "at least 1");
  TRY(context_.use());
  graph_ = CapturedGraph();
  TRY(timer_, GraphTimer::make());
  // Once outside of a graph: kernels are loaded when they first run, and their errors come out here.
  TRY(timed_->launch(0, context_.stream));
  TRY(context_.wait("first call"));
  TRY(graph_, CapturedGraph::make(
                  context_.stream, calls, [&](int call) { return timed_->launch(call % copies_, context_.stream); }));
  return beside_ ? beside_->record() : Expected<void>{};
}

/// What the flush reads, and behind it a place for its result.
Expected<void> GraphReplay::make_other_data() {
  if (other_data_.bytes() > 0) return {};
  TRY(other_data_, context_.filled(flush_bytes(context_) + sizeof(uint4), Fill::zero));
  return {};
}

Expected<void> GraphReplay::flush_cache() {
  const std::size_t bytes = flush_bytes(context_);
  const auto blocks = static_cast<unsigned>(8 * std::max(context_.device.sm_count, 1));
  write_all<<<blocks, 256, 0, context_.stream>>>(other_data_.as<uint4>(), bytes / sizeof(uint4));
  read_all<<<blocks, 256, 0, context_.stream>>>(
      other_data_.as<const uint4>(), bytes / sizeof(uint4), other_data_.as<unsigned>(bytes));
  return checked(cudaGetLastError(), "flush of the level-2 cache");
}

Expected<Seconds> GraphReplay::timed_replay(bool flush) {
  return timer_.time(context_, graph_, [&]() -> Expected<void> { return flush ? flush_cache() : Expected<void>{}; });
}

/// The load is launched ahead, more of it each time that it ended too early.
Expected<Seconds> GraphReplay::replay_beside(bool flush) {
  for (; side_graphs_ <= kMostSideGraphs; side_graphs_ *= 2) {
    if (auto good = beside_->start(side_graphs_); !good) {
      (void)beside_->drain();
      return tl::unexpected(std::move(good.error()));
    }
    const auto time = timed_replay(flush);
    const auto still = beside_->running();
    TRY(beside_->drain());
    if (!time || !still) return tl::unexpected(!time ? time.error() : still.error());
    if (*still) return time;
  }
  side_graphs_ = kFirstSideGraphs;
  return fail("work beside", "it ended before what was timed did, however much of it was launched ahead",
      "shorter replays, or larger work beside");
}

Expected<Seconds> GraphReplay::replay(bool flush) {
  if (graph_.empty()) return fail("replay", "nothing was recorded", "record comes first");
  TRY(context_.use());
  if (flush) {  // here and not later: making a buffer waits for all that runs on the GPU
    TRY(make_other_data());
  }
  return beside_ ? replay_beside(flush) : timed_replay(flush);
}

}  // namespace stepcast::kernels::gpu
