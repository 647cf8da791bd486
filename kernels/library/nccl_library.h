// NCCL, loaded when first needed: its functions and numbers as nccl.h 2.28 declares them
// (docs.nvidia.com/deeplearning/nccl, "API"), written out here because the header is not part of every CUDA toolkit.
// The interface has been the same since send and receive came with 2.7. Plain host code: it builds, and the library
// answers, without a GPU.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>

#include "kernels/library/shared_library.h"
#include "model/base/error.h"

struct CUstream_st;  // what a cudaStream_t points to (driver_types.h)

namespace stepcast::kernels {

enum class NcclResult : int {
  success = 0,
  unhandled_cuda_error = 1,
  system_error = 2,
  internal_error = 3,
  invalid_argument = 4,
  invalid_usage = 5,
  remote_error = 6,
  in_progress = 7
};
enum class NcclType : int {
  int8 = 0,
  uint8 = 1,
  int32 = 2,
  uint32 = 3,
  int64 = 4,
  uint64 = 5,
  float16 = 6,
  float32 = 7,
  float64 = 8,
  bfloat16 = 9
};
enum class NcclOperator : int { sum = 0, product = 1, maximum = 2, minimum = 3, average = 4 };

/// Names a communicator that is being made: one rank asks for it, all ranks need it.
struct NcclUniqueId {
  char bytes[128];
};
static_assert(sizeof(NcclUniqueId) == 128 && std::is_trivially_copyable_v<NcclUniqueId>);

using NcclCommunicator = struct NcclCommunicatorState*;  ///< opaque
using NcclStream = CUstream_st*;

struct NcclLibrary {
  FunctionReader read;
  NcclResult (*get_version)(int*) = read("ncclGetVersion");
  NcclResult (*get_unique_id)(NcclUniqueId*) = read("ncclGetUniqueId");
  NcclResult (*init_rank)(NcclCommunicator*, int ranks, NcclUniqueId, int rank) = read("ncclCommInitRank");
  NcclResult (*destroy)(NcclCommunicator) = read("ncclCommDestroy");
  NcclResult (*abort)(NcclCommunicator) = read("ncclCommAbort");
  NcclResult (*async_error)(NcclCommunicator, NcclResult*) = read("ncclCommGetAsyncError");
  NcclResult (*all_reduce)(
      const void*, void*, std::size_t, NcclType, NcclOperator, NcclCommunicator, NcclStream) = read("ncclAllReduce");
  NcclResult (*all_gather)(const void*, void*, std::size_t sent, NcclType, NcclCommunicator, NcclStream) = read(
      "ncclAllGather");
  NcclResult (*reduce_scatter)(const void*, void*, std::size_t received, NcclType, NcclOperator, NcclCommunicator,
      NcclStream) = read("ncclReduceScatter");
  NcclResult (*broadcast)(const void*, void*, std::size_t, NcclType, int root, NcclCommunicator, NcclStream) = read(
      "ncclBroadcast");
  NcclResult (*reduce)(const void*, void*, std::size_t, NcclType, NcclOperator, int root, NcclCommunicator,
      NcclStream) = read("ncclReduce");
  NcclResult (*send)(const void*, std::size_t, NcclType, int peer, NcclCommunicator, NcclStream) = read("ncclSend");
  NcclResult (*receive)(void*, std::size_t, NcclType, int peer, NcclCommunicator, NcclStream) = read("ncclRecv");
  NcclResult (*group_start)() = read("ncclGroupStart");
  NcclResult (*group_end)() = read("ncclGroupEnd");
  const char* (*error_text)(NcclResult) = read("ncclGetErrorString");
  const char* (*last_error)(NcclCommunicator) = read.any_of({"ncclGetLastError"});  ///< since 2.13; null in older ones

  /// "ncclAllReduce: unhandled cuda error", with NCCL's last words where it has some.
  [[nodiscard]] Expected<void> checked(
      NcclResult result, const char* call, NcclCommunicator communicator = nullptr) const;
  /// "2.28.9".
  [[nodiscard]] Expected<std::string> version() const;
};

/// Loaded once per process; the failure is remembered as well.
Expected<const NcclLibrary*> nccl_library();
/// From a library that is open.
Expected<NcclLibrary> load_nccl(const SharedLibrary& library);

}  // namespace stepcast::kernels
