// What starting work costs, per item of a row of them. Launches into a stream, launches of graphs and recording of
// events are bounded by the host: its clock is read, up to the end of the last. The nodes of a graph follow one another
// without the host: the GPU's own time is taken.
#include <cmath>

#include "kernels/cuda/graph_timer.h"
#include "kernels/cuda/operation.h"

namespace stepcast::kernels::gpu {
namespace {

enum class Item : std::uint8_t { kernel, graph, event };

/// One kind of launch: what is enqueued, and whether all calls are nodes of one graph or each is enqueued by the host.
struct LaunchForm {
  LaunchKind kind;
  Item item;
  bool calls_in_graph;
  const char* kernel;
};
constexpr LaunchForm launch_forms[] = {
    {LaunchKind::stream_kernel, Item::kernel, false, "empty_kernel"},
    {LaunchKind::graph_kernel, Item::graph, true, "empty_kernel"},
    {LaunchKind::graph, Item::graph, false, "empty_kernel"},
    {LaunchKind::event, Item::event, false, ""},
};

__global__ void empty_kernel() {}
__global__ void count_kernel(unsigned* count) { atomicAdd(count, 1u); }

/// Nothing where there is no counter: that is what is timed. With one, how often it ran shows.
Expected<void> start_kernel(cudaStream_t stream, unsigned* count) {
  if (count == nullptr) {
    empty_kernel<<<1, 1, 0, stream>>>();
  } else {
    count_kernel<<<1, 1, 0, stream>>>(count);
  }
  return checked(cudaGetLastError(), "launch of an empty kernel");
}

class LaunchCost : public PreparedWork {
 public:
  LaunchCost(GpuContext& context, const LaunchForm& form) : context_(context), form_(form) {}
  [[nodiscard]] Bytes touched() const override { return Bytes(); }
  [[nodiscard]] std::string kernel() const override { return form_.kernel; }
  Expected<void> allocate(int) override { return context_.use(); }
  Expected<Check> check() override;
  Expected<void> record(int calls) override { return prepare(calls, nullptr); }
  Expected<Seconds> replay(bool flush) override;

 private:
  Expected<void> prepare(int calls, unsigned* count);
  Expected<void> enqueue();
  Expected<void> run() {
    TRY(enqueue());
    return context_.wait("launches");
  }
  GpuContext& context_;
  const LaunchForm& form_;
  CapturedGraph graph_;
  StreamEvent mark_;
  GraphTimer timer_;
  unsigned* count_ = nullptr;
  int repeats_ = 0;
};

Expected<void> LaunchCost::prepare(int calls, unsigned* count) {
  if (calls < 1) return fail("record", "no calls", "at least 1");
  TRY(context_.use());
  repeats_ = 0;
  count_ = count;
  // Loads the kernel.
  TRY(start_kernel(context_.stream, nullptr));
  if (form_.item == Item::graph) {
    const int nodes = form_.calls_in_graph ? calls : 1;
    TRY(graph_, CapturedGraph::make(context_.stream, nodes, [&](int) { return start_kernel(context_.stream, count); }));
  }
  // As frameworks make events between streams: without time.
  TRY(mark_, StreamEvent::make(cudaEventDisableTiming));
  TRY(timer_, GraphTimer::make());
  repeats_ = form_.calls_in_graph ? 1 : calls;
  return context_.wait("first launch");
}

Expected<void> LaunchCost::enqueue() {
  for (int i = 0; i < repeats_; ++i) {
    switch (form_.item) {
      case Item::kernel: TRY(start_kernel(context_.stream, count_)); break;
      case Item::graph: TRY(graph_.launch(context_.stream)); break;
      case Item::event: TRY(mark_.record(context_.stream)); break;
    }
  }
  return {};
}

/// That every item of a row ran: kernels are counted, events passed.
Expected<Check> LaunchCost::check() {
  constexpr int calls = 8;
  TRY(auto count, context_.filled(sizeof(unsigned), Fill::zero));
  TRY(prepare(calls, count.as<unsigned>()));
  TRY(run());
  repeats_ = 0;  // its graph counts: nothing to be timed
  if (form_.item == Item::event) {
    TRY(const auto passed, mark_.passed());
    return Check{passed ? 0.0 : 1.0, 0, 1};
  }
  unsigned ran = 0;
  TRY(checked(cudaMemcpy(&ran, count.as(), sizeof ran, cudaMemcpyDeviceToHost), "cudaMemcpy"));
  return Check{std::abs(static_cast<double>(ran) - calls), 0, calls};
}

Expected<Seconds> LaunchCost::replay(bool) {
  if (repeats_ == 0) return fail("replay", "nothing was recorded", "record comes first");
  TRY(context_.use());
  if (form_.calls_in_graph) return timer_.time(context_, graph_, {});
  TRY(context_.wait("launches"));
  const Seconds begin = host_clock();
  TRY(run());
  return host_clock() - begin;
}

}  // namespace

Expected<std::unique_ptr<PreparedWork>> make_launch_cost(GpuContext& context, const LaunchQuery& query) {
  for (const LaunchForm& form : launch_forms) {
    if (form.kind == query.kind) return std::make_unique<LaunchCost>(context, form);
  }
  return fail(work_name(query), "this kind of launch is not timed", "a kind that a plan lists");
}

}  // namespace stepcast::kernels::gpu
