// Our attention kernels run on the CPU, thread by thread, against the double reference: every row of small problems.
#include "tests/kernels/emulated/gpu.h"
#include "tests/kernels/emulated/numbers.h"
#include "tests/kernels/cuda/tensor_core.h"
#include "tests/trials.h"
#include "kernels/cuda/attention/attention_backward.cuh"
#include "kernels/cuda/attention/attention_forward.cuh"
#include "kernels/reference/attention_reference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace stepcast::kernels::gpu {
namespace {

/// Buffers of a problem as the kernels want them, exactly as long as they are.
template <HalfType type> struct EmulatedAttention {
  AttentionShape shape;
  AttentionSizes sizes;
  std::vector<std::uint16_t> inputs[4];  // by AttentionTensor
  std::vector<std::uint16_t> result, query_gradient, key_gradient, value_gradient;
  std::vector<float> lse;

  explicit EmulatedAttention(const AttentionShape& of) : shape(of) {
    const auto scale = static_cast<float>(of.scale());
    sizes = {static_cast<int>(of.positions), static_cast<int>(of.heads), static_cast<int>(of.group()), of.causal, scale,
        scale * 1.4426950408889634F};
    std::mt19937 random{7};
    std::normal_distribution<double> normal;
    for (int t = 0; t < 4; ++t) {
      inputs[t].resize(elements(heads_of(static_cast<AttentionTensor>(t))));
      for (auto& bits : inputs[t]) bits = type == HalfType::bf16 ? to_bf16(normal(random)) : to_fp16(normal(random));
    }
    result.assign(inputs[0].size(), 0x7fff);  // not a number in both types: every element must be written
    query_gradient = result;
    key_gradient.assign(inputs[1].size(), 0x7fff);
    value_gradient = key_gradient;
    lse.assign(static_cast<std::size_t>(of.batch * of.heads * of.positions), NAN);
  }
  [[nodiscard]] std::int64_t heads_of(AttentionTensor tensor) const {
    return tensor == AttentionTensor::keys || tensor == AttentionTensor::values ? shape.kv_heads : shape.heads;
  }
  [[nodiscard]] std::size_t elements(std::int64_t heads) const {
    return static_cast<std::size_t>(shape.batch * shape.positions * heads * shape.head_dim);
  }
  [[nodiscard]] double at(
      const std::vector<std::uint16_t>& tensor, std::int64_t heads, const AttentionRow& row, std::size_t d) const {
    const std::int64_t line = (row.batch * shape.positions + row.position) * heads + row.head;
    const std::uint16_t bits = tensor[static_cast<std::size_t>(line * shape.head_dim) + d];
    return static_cast<double>(type == HalfType::bf16 ? from_bf16(bits) : from_fp16(bits));
  }
  AttentionInputs accessor() {
    return [this](AttentionTensor tensor, const AttentionRow& row, std::span<double> into) {
      for (std::size_t d = 0; d < into.size(); ++d)
        into[d] = at(inputs[static_cast<int>(tensor)], heads_of(tensor), row, d);
    };
  }
  [[nodiscard]] unsigned blocks(int rows) const { return static_cast<unsigned>((shape.positions + rows - 1) / rows); }

  template <int head_dim> void forward() {
    using Tile = ForwardTile<head_dim>;
    const AttentionForwardArguments arguments{
        inputs[0].data(), inputs[1].data(), inputs[2].data(), result.data(), lse.data(), sizes};
    emulate(dim3(blocks(Tile::queries), static_cast<unsigned>(shape.heads), static_cast<unsigned>(shape.batch)),
        Tile::threads, Tile::shared_bytes, [&] { attention_forward_kernel<type, head_dim>(arguments); });
  }

  template <typename Tile> void backward() {
    constexpr int head_dim = Tile::head_dim;
    const auto heads = static_cast<unsigned>(shape.heads), kv_heads = static_cast<unsigned>(shape.kv_heads),
               batch = static_cast<unsigned>(shape.batch);
    const unsigned steps = blocks(Tile::queries), key_blocks = blocks(Tile::keys), padded = steps * Tile::queries;
    std::vector<float2> statistics(batch * heads * padded, float2{NAN, NAN});
    // Aligned as cudaMalloc aligns.
    std::vector<float4> query_sums(batch * heads * padded * head_dim / 4, float4{0, 0, 0, 0});
    std::vector<float4> key_sums(batch * kv_heads * key_blocks * Tile::keys * head_dim / 4, float4{0, 0, 0, 0});
    std::vector<float4> value_sums = key_sums;
    const AttentionStatisticsArguments before{
        result.data(), inputs[3].data(), lse.data(), statistics.data(), static_cast<int>(padded), sizes};
    constexpr unsigned rows = kStatisticsThreads / (head_dim / 8);
    emulate(dim3((padded + rows - 1) / rows, heads, batch), kStatisticsThreads, 0,
        [&] { attention_statistics_kernel<type, head_dim>(before); });
    const AttentionBackwardArguments arguments{inputs[0].data(), inputs[1].data(), inputs[2].data(), inputs[3].data(),
        statistics.data(), &query_sums[0].x, &key_sums[0].x, &value_sums[0].x, key_gradient.data(),
        value_gradient.data(), sizes};
    emulate(dim3(key_blocks, heads, batch), Tile::threads, Tile::shared_bytes,
        [&] { attention_backward_kernel<type, Tile>(arguments); });
    const AttentionConvertArguments queries{
        &query_sums[0].x, query_gradient.data(), static_cast<int>(heads), sizes.scale, sizes};
    emulate(dim3(steps, heads, batch), Tile::threads, 0,
        [&] { attention_convert_kernel<type, head_dim, Tile::threads, 2, 4>(queries); });
    if (shape.group() == 1) return;
    const AttentionConvertArguments keys{
        &key_sums[0].x, key_gradient.data(), static_cast<int>(kv_heads), sizes.scale, sizes};
    const AttentionConvertArguments values{
        &value_sums[0].x, value_gradient.data(), static_cast<int>(kv_heads), 1, sizes};
    for (const auto& convert : {keys, values})
      emulate(dim3(key_blocks, kv_heads, batch), Tile::threads, 0,
          [&] { attention_convert_kernel<type, head_dim, Tile::threads, 1, 1>(convert); });
  }

  /// Every query's statistics by the reference, made once.
  [[nodiscard]] std::function<AttentionStatistics(const AttentionRow&)> exact_statistics() {
    std::vector<AttentionStatistics> all;
    for (std::int64_t b = 0; b < shape.batch; ++b)
      for (std::int64_t h = 0; h < shape.heads; ++h)
        for (std::int64_t p = 0; p < shape.positions; ++p)
          all.push_back(attention_statistics(shape, accessor(), {b, p, h}));
    return [this, all](const AttentionRow& row) { return all[line_of(row)]; };
  }
  [[nodiscard]] std::size_t line_of(const AttentionRow& row) const {  // in [batch, heads, positions]
    return static_cast<std::size_t>((row.batch * shape.heads + row.head) * shape.positions + row.position);
  }

  void compare(const char* what, const std::vector<std::uint16_t>& got, std::int64_t heads,
      const std::function<std::vector<double>(const AttentionRow&)>& expected) {
    AttentionRowErrors errors(0.25);  // all rows, and so the first ones too, whose gradients nearly cancel
    std::vector<double> mine(static_cast<std::size_t>(shape.head_dim));
    for (std::int64_t b = 0; b < shape.batch; ++b)
      for (std::int64_t p = 0; p < shape.positions; ++p)
        for (std::int64_t h = 0; h < heads; ++h) {
          for (std::size_t d = 0; d < mine.size(); ++d) mine[d] = at(got, heads, {b, p, h}, d);
          errors.add(mine, expected({b, p, h}));
        }
    EXPECT_LE(errors.largest(), attention_allowed(type == HalfType::bf16)) << what;
    EXPECT_EQ(errors.compared(), static_cast<std::int64_t>(got.size())) << what;
    testing::Test::RecordProperty(what, std::to_string(errors.largest()));
  }
  [[nodiscard]] std::string text() const {
    return fmt::format("{} batch {} positions {} heads {}/{} of {} {}", type == HalfType::bf16 ? "bf16" : "fp16",
        shape.batch, shape.positions, shape.heads, shape.kv_heads, shape.head_dim, shape.causal ? "causal" : "full");
  }
};

template <HalfType type, typename Tile> void check_emulated(AttentionShape shape) {
  constexpr int head_dim = Tile::head_dim;
  shape.head_dim = head_dim;
  EmulatedAttention<type> attention(shape);
  SCOPED_TRACE(attention.text());
  emulated_core::bank_conflicts = 0;
  attention.template forward<head_dim>();
  const AttentionInputs inputs = attention.accessor();
  attention.compare("result", attention.result, shape.heads, [&](const AttentionRow& row) {
    const AttentionForwardRow forward = attention_forward_row(shape, inputs, row);
    EXPECT_NEAR(
        static_cast<double>(attention.lse[attention.line_of(row)]), forward.lse, 2e-5 * (1 + std::abs(forward.lse)));
    return forward.result;
  });
  attention.template backward<Tile>();
  attention.compare("query gradient", attention.query_gradient, shape.heads,
      [&](const AttentionRow& row) { return attention_query_gradient(shape, inputs, row); });
  std::vector<AttentionKeyGradients> of_keys;  // in the order of compare
  const auto statistics = attention.exact_statistics();
  attention.compare("key gradient", attention.key_gradient, shape.kv_heads, [&](const AttentionRow& row) {
    return of_keys.emplace_back(attention_key_gradients(shape, inputs, {&row, 1}, statistics).front()).keys;
  });
  std::size_t number = 0;
  attention.compare("value gradient", attention.value_gradient, shape.kv_heads,
      [&](const AttentionRow&) { return of_keys[number++].values; });
  EXPECT_EQ(emulated_core::bank_conflicts, 0);
}

using Wide = BackwardTile<128, 8, 64, 2>;
using Small = BackwardTile<64, 8, 64, 2>;
using WideNarrow = BackwardTile<128, 4, 32, 2>;
using WideOneStage = BackwardTile<128, 4, 32, 1>;
using SmallOneStage = BackwardTile<64, 4, 32, 1>;

/// Positions of a problem whose last block is a tail: the fewest that make one with sanitizers, for work grows with
/// their square.
constexpr std::int64_t tail(std::int64_t positions) { return sanitized ? 66 : positions; }

TEST(AttentionEmulated, OnePosition) {
  for (bool causal : {true, false}) check_emulated<HalfType::bf16, Small>({.positions = 1, .causal = causal});
  check_emulated<HalfType::fp16, Wide>({.positions = 1});
}

TEST(AttentionEmulated, TailsOfBlocks) {
  for (bool causal : {true, false}) {
    check_emulated<HalfType::bf16, Wide>({.positions = 17, .causal = causal});
    check_emulated<HalfType::fp16, Small>({.positions = tail(130), .causal = causal});
    check_emulated<HalfType::bf16, Wide>({.positions = tail(200), .causal = causal});
  }
}

TEST(AttentionEmulated, WholeBlocks) {
  check_emulated<HalfType::fp16, Small>({.positions = 64});
  check_emulated<HalfType::bf16, Wide>({.positions = 128, .causal = false});
}

TEST(AttentionEmulated, SeveralSequencesAndHeads) {
  check_emulated<HalfType::bf16, Small>({.batch = 2, .positions = 70, .heads = 3, .kv_heads = 3});
}

TEST(AttentionEmulated, GroupedHeads) {
  check_emulated<HalfType::bf16, Small>({.batch = 2, .positions = 65, .heads = 4, .kv_heads = 2});
  check_emulated<HalfType::fp16, Wide>({.positions = tail(140), .heads = 3, .kv_heads = 1, .causal = false});
}

TEST(AttentionEmulated, TilesForLessSharedMemory) {
  for (bool causal : {true, false}) {
    check_emulated<HalfType::bf16, WideNarrow>({.positions = tail(130), .heads = 2, .kv_heads = 1, .causal = causal});
    check_emulated<HalfType::fp16, WideOneStage>({.positions = tail(100), .causal = causal});
    check_emulated<HalfType::fp16, SmallOneStage>(
        {.positions = tail(100), .heads = 2, .kv_heads = 1, .causal = causal});
  }
}

}  // namespace
}  // namespace stepcast::kernels::gpu
