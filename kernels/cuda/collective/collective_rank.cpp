#include "kernels/cuda/collective/collective_rank.h"

#include <chrono>
#include <thread>
#include <utility>

#include "kernels/process/meeting_socket.h"

namespace stepcast::kernels::gpu {
namespace {

/// A batch takes milliseconds, seconds at most (1 GiB on a bad PCIe host): who waits longer waits for somebody who is
/// gone.
constexpr Seconds longest_wait{60};
constexpr std::int64_t small_elements = 64;

Expected<void> make_stream(cudaStream_t& stream) {
  return checked(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

}  // namespace

Expected<void> CollectiveRank::start() {
  TRY(context_.use());
  TRY(make_stream(context_.stream));
  TRY(make_stream(context_.side_stream));
  for (StreamEvent* event : {&begin_, &end_, &neighbour_runs_, &neighbour_ends_}) {
    TRY(*event, StreamEvent::make());
  }
  TRY(small_, context_.filled(2 * small_elements, Fill::bf16));
  return {};
}

void CollectiveRank::finish() {
  abort();
  end_beside();
  for (DeviceBuffer* buffer : {&send_, &receive_, &small_}) *buffer = DeviceBuffer();
  for (StreamEvent* event : {&begin_, &end_, &neighbour_runs_, &neighbour_ends_}) *event = StreamEvent();
  for (cudaStream_t* stream : {&context_.stream, &context_.side_stream})
    if (*stream != nullptr) (void)cudaStreamDestroy(std::exchange(*stream, nullptr));
}

Expected<Bytes> CollectiveRank::free_memory() const {
  std::size_t free = 0, all = 0;
  TRY(checked(cudaMemGetInfo(&free, &all), "cudaMemGetInfo"));
  return Bytes(static_cast<double>(free));
}

Expected<void> CollectiveRank::open(const NcclUniqueId& id, int ranks, int rank) {
  NcclCommunicator made = nullptr;
  TRY(nccl_.checked(nccl_.init_rank(&made, ranks, id, rank), "ncclCommInitRank"));
  communicator_ = made;
  ranks_ = ranks;
  rank_ = rank;
  return {};
}

Expected<void> CollectiveRank::close() {
  const NcclCommunicator old = communicator_.exchange(nullptr);
  return old == nullptr ? Expected<void>{} : nccl_.checked(nccl_.destroy(old), "ncclCommDestroy");
}

void CollectiveRank::abort() {
  if (const NcclCommunicator old = communicator_.exchange(nullptr); old != nullptr) (void)nccl_.abort(old);
}

Expected<void> CollectiveRank::settle() { return checked(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

CollectiveCall CollectiveRank::call_of(CollectiveKind kind, Bytes buffer) const {
  return {kind, static_cast<std::int64_t>(buffer.value()) / collective_element, ranks_, rank_};
}

Expected<void> CollectiveRank::reserve(Bytes buffer) {
  const auto bytes = static_cast<std::size_t>(buffer.value());
  for (DeviceBuffer* one : {&send_, &receive_}) {
    if (one->bytes() >= bytes) continue;
    *one = DeviceBuffer();  // freed first: both sizes at once may not fit
    TRY(*one, context_.filled(bytes / collective_element, Fill::bf16));
  }
  return {};
}

Expected<void> CollectiveRank::enqueue_call(const CollectiveCall& call, cudaStream_t stream) {
  const NcclCommunicator communicator = communicator_;
  if (communicator == nullptr) return fail("NCCL", given_up, "another rank failed");
  return enqueue(nccl_, call, send_.as(), receive_.as(), communicator, stream);
}

Expected<void> CollectiveRank::line_up(cudaStream_t stream) {
  const NcclCommunicator communicator = communicator_;
  if (communicator == nullptr) return fail("NCCL", given_up, "another rank failed");
  const CollectiveCall call{CollectiveKind::all_reduce, small_elements, ranks_, rank_};
  return enqueue(nccl_, call, small_.as(), small_.as(small_elements * collective_element), communicator, stream);
}

Expected<void> CollectiveRank::wait_for(const StreamEvent& event, const char* what) {
  const Deadline until = deadline_in(longest_wait);
  while (true) {
    auto passed = event.passed();
    if (!passed) {
      abort();
      return tl::unexpected(std::move(passed.error()));
    }
    if (*passed) return {};
    const NcclCommunicator communicator = communicator_;
    NcclResult state = NcclResult::success;
    Expected<void> good;
    if (communicator == nullptr || *abandon_) good = fail(what, given_up, "another rank failed");
    else if (good = nccl_.checked(nccl_.async_error(communicator, &state), "ncclCommGetAsyncError", communicator); good)
      good = state == NcclResult::in_progress ? Expected<void>{} : nccl_.checked(state, what, communicator);
    if (good && std::chrono::steady_clock::now() > until)
      good = fail(what, "did not end within a minute",
          "a rank is missing, or the network between the hosts does not work: NCCL_DEBUG=INFO shows which NCCL chose");
    if (!good) {
      abort();
      return good;
    }
    std::this_thread::yield();
  }
}

Expected<Check> CollectiveRank::check(CollectiveKind kind, Bytes buffer) {
  const CollectiveCall call = call_of(kind, buffer);
  const cudaStream_t stream = context_.stream;
  const auto bytes = static_cast<std::size_t>(call.received() * collective_element);
  TRY(fill_exact(call, send_.as(), stream));
  // All bits set is no number: what the call leaves alone is seen.
  TRY(checked(cudaMemsetAsync(receive_.as(), 0xff, bytes, stream), "cudaMemsetAsync"));
  TRY(enqueue_call(call, stream));
  TRY(end_.record(stream));
  TRY(wait_for(end_, to_text(kind)));
  auto found = compare_exact(call, receive_.as(), stream);
  // Zeros and small integers switch fewer transistors than data does: random numbers again before anything is timed.
  TRY(context_.fill(send_.as(), static_cast<std::size_t>(call.elements), Fill::bf16));
  return found;
}

Expected<Seconds> CollectiveRank::timed(cudaStream_t stream, int calls, const Enqueue& once) {
  auto good = line_up(stream);
  if (good) good = begin_.record(stream);
  for (int call = 0; good && call < calls; ++call) good = once();
  if (good) good = end_.record(stream);
  if (good) good = wait_for(end_, "collective");
  if (!good) {
    abort();
    return tl::unexpected(std::move(good.error()));
  }
  TRY(const auto span, begin_.until(end_));
  return span / calls;
}

Expected<std::vector<Seconds>> CollectiveRank::time(CollectiveKind kind, Bytes buffer, int calls, int batches) {
  const CollectiveCall call = call_of(kind, buffer);
  std::vector<Seconds> times;
  for (int batch = 0; batch < batches; ++batch) {
    TRY(const auto one, timed(context_.stream, calls, [&] { return enqueue_call(call, context_.stream); }));
    times.push_back(one);
  }
  return times;
}

Expected<void> CollectiveRank::begin_beside(const GemmQuery& gemm, CollectiveKind kind, Bytes buffer) {
  TRY(product_, make_gemm(context_, gemm));
  beside_ = call_of(kind, buffer);
  // One set: its three matrices are several times any level-2 cache.
  return product_->allocate(1);
}

CollectiveRank::Row CollectiveRank::products(int calls) {
  return {context_.stream, calls, [this] { return product_->launch(0, context_.stream); }};
}
CollectiveRank::Row CollectiveRank::collectives(int calls) {
  return {context_.side_stream, calls, [this] { return enqueue_call(beside_, context_.side_stream); }};
}

Expected<Seconds> CollectiveRank::products_alone(int calls) {
  return timed(context_.stream, calls, products(calls).once);
}
Expected<Seconds> CollectiveRank::collectives_alone(int calls) {
  return timed(context_.side_stream, calls, collectives(calls).once);
}

Expected<Seconds> CollectiveRank::timed_beside(const Row& row, const Row& neighbour) {
  const auto lined_up = [&](const Row& of) {
    return of.stream == context_.side_stream ? line_up(of.stream) : Expected<void>{};
  };
  Expected<void> good = lined_up(neighbour);
  for (int call = 0; good && call < neighbour.calls; ++call) {
    good = neighbour.once();
    if (good && call == 0) good = neighbour_runs_.record(neighbour.stream);
  }
  if (good) good = neighbour_ends_.record(neighbour.stream);
  if (good) good = wait_for(neighbour_runs_, "the neighbour");
  if (good) good = lined_up(row);
  if (good) good = begin_.record(row.stream);
  for (int call = 0; good && call < row.calls; ++call) good = row.once();
  if (good) good = end_.record(row.stream);
  if (good) good = wait_for(end_, "what is timed beside it");
  if (good) good = wait_for(neighbour_ends_, "the neighbour");
  if (!good) {
    abort();
    return tl::unexpected(std::move(good.error()));
  }
  TRY(const auto overlap, end_.until(neighbour_ends_));
  TRY(const auto span, begin_.until(end_));
  if (overlap.value() <= 0)
    return fail(
        "interference", "the neighbour ended before what was timed beside it", "is another program on the GPU?");
  return span / row.calls;
}

Expected<Seconds> CollectiveRank::products_beside(int calls, int neighbours) {
  return timed_beside(products(calls), collectives(neighbours));
}
Expected<Seconds> CollectiveRank::collectives_beside(int calls, int neighbours) {
  return timed_beside(collectives(calls), products(neighbours));
}

void CollectiveRank::end_beside() { product_.reset(); }

}  // namespace stepcast::kernels::gpu
