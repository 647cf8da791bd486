// stepcast kernel: the time of one kernel, or of a table of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/profile/kernel_law.h"
#include "model/profile/pass_figures.h"
#include "studies/ask/rates.h"
#include "studies/ask/rates_report.h"

namespace stepcast::ask {
namespace {

/// What the answer says of the law behind it.
RateAnswer answer_of(const KernelTime& time, const std::string& law) {
  RateAnswer out;
  out.time = time.time;
  out.spread = time.spread;
  out.bound = to_text(time.bound);
  out.source = time.source;
  out.extrapolated = time.extrapolated;
  out.law = law;
  out.error = time.error;
  out.alone = time.alone;
  if (time.behind != nullptr && !time.behind->software.empty()) out.law += ", " + time.behind->software;
  if (time.corrected) out.correction = to_text(time.behind->use);
  return out;
}

/// What the level-2 cache cannot hold comes from device memory, at the datasheet's rate at best.
void respect_memory(RateAnswer& answer, const Gpu& gpu, Bytes bytes) {
  const Seconds least = bytes > gpu.l2 ? bytes / gpu.memory_bandwidth : Seconds(0);
  if (answer.time >= least) return;
  answer.time = least;
  answer.bound = to_text(Bound::memory);
}

void add_rates(RateAnswer& answer, const RateSource& source, Flops flops, Bytes bytes) {
  respect_memory(answer, source.machine.gpu, bytes);
  if (flops.value() > 0) {
    answer.figures.emplace_back("flops", flops.value());
    answer.figures.emplace_back("flops_per_s", (flops / answer.time).value());
  }
  answer.figures.emplace_back("bytes", bytes.value());
  answer.figures.emplace_back("bytes_per_s", (bytes / answer.time).value());
}

Error no_law(const RateSource& source, const std::string& what) {
  return {source.profile.id, fmt::format("the profile has no law for {}", what),
      "another --machine or --profile, or measure and fit one: stepcast calibrate"};
}

Expected<RateAnswer> answer_gemm(const RateSource& source, const GemmQuery& query) {
  const auto time = gemm_time(source.profile, query);
  if (!time)
    return tl::unexpected(no_law(source,
        fmt::format("{} products{}", to_text(query.precision), query.block_scaled ? " with block scales" : "")));
  RateAnswer answer =
      answer_of(*time, fmt::format("gemm {}{}", to_text(query.precision), query.block_scaled ? " block-scaled" : ""));
  add_rates(answer, source, flops_of(query), bytes_of(query));
  if (query.casts_x) answer.figures.emplace_back("cast_s", time->cast.value());
  return answer;
}

/// Names of the kernels that the profile has for this pass.
std::vector<std::string> attention_software(const Profile& profile, const AttentionQuery& query) {
  std::vector<std::string> names;
  const auto add = [&](const AttentionLaw& law) {
    if (law.decode == (query.pass == AttentionPass::decode) && law.latent == is_latent(query) &&
        !law.refinement.software.empty())
      names.push_back(law.refinement.software);
  };
  add(profile.attention);
  for (const AttentionLaw& law : profile.attention_kernels) add(law);
  return names;
}

Expected<RateAnswer> answer_attention(
    const RateSource& source, const AttentionQuery& query, const FieldValue& software) {
  const std::string what = query.pass != AttentionPass::decode ? "attention"
                           : is_latent(query)                  ? "attention decode over a latent cache"
                                                               : "attention decode";
  const auto time = attention_time(source.profile, query, software.text == "any" ? "" : software.text);
  const std::vector<std::string> others = attention_software(source.profile, query);
  if (!time && software.text != "any" && !others.empty())
    return fail(software.where, fmt::format("no {} of '{:.60}' in {}", what, software.text, source.profile.id),
        fmt::format("one of: {}", fmt::join(others, ", ")));
  if (!time) return tl::unexpected(no_law(source, what));
  RateAnswer answer = answer_of(*time, what);
  const PassFigures& pass = pass_figures(query.pass);
  add_rates(answer, source, forward_flops_of(query) * pass.products, bytes_of(query) * pass.tensors);
  return answer;
}

Expected<RateAnswer> answer_moe(const RateSource& source, const MoeQuery& query) {
  const auto time = moe_time(source.profile, query);
  if (!time) return tl::unexpected(no_law(source, fmt::format("layers of experts in {}", to_text(query.precision))));
  RateAnswer answer = answer_of(*time, fmt::format("moe {}", to_text(query.precision)));
  add_rates(answer, source, flops_of(query), bytes_of(query));
  return answer;
}

Expected<RateAnswer> answer_memory(const RateSource& source, const MemoryQuery& query) {
  RateAnswer answer = answer_of(memory_time(source.profile, query), std::string(query.op->id));
  add_rates(answer, source, Flops(0), bytes_of(query));
  return answer;
}

/// "auto": narrow products cast x where the tables behind the law timed the cast along.
bool casts_by_itself(const RateSource& source, const GemmQuery& query) {
  const RooflineLaw* law = find_gemm(source.profile, query.precision, query.block_scaled);
  return law != nullptr && law->cast.value() > 0;
}

Expected<RateAnswer> kernel_answer(const RateSource& source, const RateQuestion& asked) {
  const Asked& query = asked.query;
  if (const auto* gemm = std::get_if<GemmQuery>(&query)) {
    GemmQuery with_cast = *gemm;
    if (asked.said.find("cast")->second.text == "auto") with_cast.casts_x = casts_by_itself(source, *gemm);
    return answer_gemm(source, with_cast);
  }
  if (const auto* attention = std::get_if<AttentionQuery>(&query))
    return answer_attention(source, *attention, asked.said.find("software")->second);
  if (const auto* moe = std::get_if<MoeQuery>(&query)) return answer_moe(source, *moe);
  return answer_memory(source, std::get<MemoryQuery>(query));
}

}  // namespace

std::span<const Flag> kernel_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<const QueryKind*> kinds;
    for (const char* name : {"gemm", "attention", "moe", "norm"}) kinds.push_back(*find_kernel_kind(name));
    return rate_flags(kinds);
  }();
  return flags;
}

Expected<void> kernel_command(const Arguments& arguments, Console& console) {
  TRY(const auto kind, find_kernel_kind(arguments.words.at(0)));
  return answer_rates(*kind, arguments.words[0], arguments, console, kernel_answer);
}

}  // namespace stepcast::ask
