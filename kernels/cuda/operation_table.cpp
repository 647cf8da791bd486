// Which function makes the operation that answers a question with somebody's kernel.
#include <string>
#include <variant>

#include "kernels/cuda/graph_replay.h"
#include "kernels/cuda/sequence_replay.h"
#include "kernels/cuda/operation.h"

namespace stepcast::kernels::gpu {
namespace {

struct Maker {
  std::size_t question;  ///< index in Query
  KernelSource source;
  MadeOperation (*make)(GpuContext&, const Query&);
};

template <typename Question> constexpr std::size_t index_of() { return Query(Question{}).index(); }

template <typename Question, MadeOperation (*make)(GpuContext&, const Question&)> Maker served(KernelSource source) {
  return {index_of<Question>(), source,
      [](GpuContext& context, const Query& query) { return make(context, std::get<Question>(query)); }};
}

const Maker makers[] = {
    served<GemmQuery, make_gemm>(KernelSource::cublas),
    served<AttentionQuery, make_attention>(KernelSource::stepcast),
    served<AttentionQuery, make_cudnn_attention>(KernelSource::cudnn),
    served<MemoryQuery, make_memory_op>(KernelSource::stepcast),
    served<TransferQuery, make_transfer>(KernelSource::cuda),
};

/// Questions that no operation of one GPU answers, and why.
struct Refusal {
  std::size_t question;
  const char *what, *hint;
};
const Refusal refusals[] = {
    {index_of<MoeQuery>(), "routed experts are not timed by this program", "time their products as batched GEMMs"},
    {index_of<CollectiveQuery>(), "a collective needs several GPUs", "collectives are timed on all of them together"},
    {index_of<LaunchQuery>(), "a launch cost is timed alone", "give a product, an attention, a copy or an operator"},
};

/// "cublas or cudnn": who serves the question.
std::string sources_of(std::size_t question) {
  std::string text;
  for (const Maker& maker : makers) {
    if (maker.question == question) text += (text.empty() ? "" : " or ") + std::string(to_text(maker.source));
  }
  return text;
}

Expected<void> check_launch(const Work& work) {
  if (work.beside) return fail(to_text(work), "launch costs are timed with nothing beside them", "no work beside it");
  if (work.source != KernelSource::cuda) return fail(to_text(work), "launches are timed by cuda only", "source cuda");
  return {};
}

}  // namespace

MadeOperation make_operation(GpuContext& context, const Query& query, KernelSource source) {
  for (const Refusal& refusal : refusals) {
    if (refusal.question == query.index()) return fail(work_name(query), refusal.what, refusal.hint);
  }
  for (const Maker& maker : makers) {
    if (maker.question == query.index() && maker.source == source) return maker.make(context, query);
  }
  return fail(work_name(query), std::string(to_text(source)) + " has no kernel for it",
      "it is timed by " + sources_of(query.index()));
}

Expected<std::unique_ptr<PreparedWork>> prepare_work(GpuContext& context, const Work& work) {
  if (const auto* launch = std::get_if<LaunchQuery>(&work.what)) {
    TRY(check_launch(work));
    return make_launch_cost(context, *launch);
  }
  TRY(auto timed, make_operation(context, work.what, work.source));
  std::unique_ptr<Operation> beside;
  if (work.beside) {
    TRY(beside, make_operation(context, *work.beside, usual_source(*work.beside)));
  }
  return std::make_unique<GraphReplay>(context, std::move(timed), std::move(beside));
}

Expected<std::unique_ptr<PreparedWork>> prepare_sequence(GpuContext& context, const Sequence& sequence) {
  if (sequence.calls.empty()) return fail(sequence.name, "holds no works", "one or more");
  std::vector<std::unique_ptr<Operation>> operations;
  for (const Work& work : sequence.calls) {
    if (work.beside) return fail(to_text(work), "works of a sequence run alone", "no work beside it");
    TRY(auto operation, make_operation(context, work.what, work.source));
    operations.push_back(std::move(operation));
  }
  return std::make_unique<SequenceReplay>(context, std::move(operations), sequence.in_graph);
}

}  // namespace stepcast::kernels::gpu
