#include "kernels/library/nccl_call.h"

namespace stepcast::kernels {
namespace {

/// Pointer arithmetic in elements.
const char* element_at(const void* buffer, std::int64_t index) {
  return static_cast<const char*>(buffer) + index * collective_element;
}
char* element_at(void* buffer, std::int64_t index) { return static_cast<char*>(buffer) + index * collective_element; }

/// Calls between ncclGroupStart and ncclGroupEnd; the end is called whatever failed, else the group would stay open.
template <typename Calls> Expected<void> grouped(const NcclLibrary& nccl, NcclCommunicator communicator, Calls calls) {
  TRY(nccl.checked(nccl.group_start(), "ncclGroupStart", communicator));
  Expected<void> inside = calls();
  auto ended = nccl.checked(nccl.group_end(), "ncclGroupEnd", communicator);
  return inside ? ended : inside;
}

}  // namespace

Expected<void> enqueue(const NcclLibrary& nccl, const CollectiveCall& call, const void* send, void* receive,
    NcclCommunicator communicator, NcclStream stream) {
  constexpr NcclType type = collective_type;
  constexpr NcclOperator sum = NcclOperator::sum;
  constexpr int root = 0;
  const auto whole = static_cast<std::size_t>(call.elements), share = static_cast<std::size_t>(call.share());
  const auto checked = [&](NcclResult result, const char* name) { return nccl.checked(result, name, communicator); };
  const auto exchange = [&](const void* out, int to, void* in, int from, std::size_t count) -> Expected<void> {
    TRY(checked(nccl.send(out, count, type, to, communicator, stream), "ncclSend"));
    return checked(nccl.receive(in, count, type, from, communicator, stream), "ncclRecv");
  };
  switch (call.kind) {
    case CollectiveKind::all_reduce:
      return checked(nccl.all_reduce(send, receive, whole, type, sum, communicator, stream), "ncclAllReduce");
    case CollectiveKind::all_gather:
      return checked(nccl.all_gather(send, receive, share, type, communicator, stream), "ncclAllGather");
    case CollectiveKind::reduce_scatter:
      return checked(nccl.reduce_scatter(send, receive, share, type, sum, communicator, stream), "ncclReduceScatter");
    case CollectiveKind::broadcast:
      return checked(nccl.broadcast(send, receive, whole, type, root, communicator, stream), "ncclBroadcast");
    case CollectiveKind::reduce:
      return checked(nccl.reduce(send, receive, whole, type, sum, root, communicator, stream), "ncclReduce");
    case CollectiveKind::send_recv:
      return grouped(nccl, communicator, [&] {
        return exchange(send, (call.rank + 1) % call.ranks, receive, (call.rank + call.ranks - 1) % call.ranks, whole);
      });
    case CollectiveKind::all_to_all:
      return grouped(nccl, communicator, [&]() -> Expected<void> {
        for (int peer = 0; peer < call.ranks; ++peer) {
          const std::int64_t at = peer * call.share();
          TRY(exchange(element_at(send, at), peer, element_at(receive, at), peer, share));
        }
        return {};
      });
  }
  return fail("collective", "an unknown kind", "a collective of NCCL");
}

}  // namespace stepcast::kernels
