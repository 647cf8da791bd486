#include "tests/kernels/emulated/gpu.h"

#include "kernels/cuda/memory/copy_kernels.cuh"
#include "kernels/cuda/memory/elementwise_kernel.cuh"
#include "kernels/cuda/memory/elementwise_ops.cuh"
#include "kernels/cuda/memory/optimizer_kernels.cuh"
#include "kernels/cuda/memory/quantize_kernels.cuh"
#include "tests/kernels/emulated/numbers.h"

namespace stepcast::kernels::gpu {
namespace {

using reference::Values;

/// Runs an operator on normal numbers; want(in) gives the results in float64.
template <typename Op, typename T, typename Want>
void expect_elementwise(Op op, std::size_t count, unsigned blocks, Want want) {
  std::vector<std::vector<T>> in, out;
  Arrays<T, Op::reads, Op::writes> arrays;
  for (int r = 0; r < Op::reads; ++r) in.push_back(normal_numbers<T>(count, 10 + static_cast<unsigned>(r), 2));
  for (int w = 0; w < Op::writes; ++w) out.push_back(unwritten<T>(count));
  for (int r = 0; r < Op::reads; ++r) arrays.in[r] = in[static_cast<std::size_t>(r)].data();
  for (int w = 0; w < Op::writes; ++w) arrays.out[w] = out[static_cast<std::size_t>(w)].data();
  emulate(blocks, kStreamThreads, 0, [&] { elementwise_kernel<Op, T>(op, arrays, static_cast<std::int64_t>(count)); });
  std::vector<Values> expected(Op::writes);
  for (std::size_t i = 0; i < count; ++i) {
    Values x;
    for (const auto& array : in) x.push_back(static_cast<double>(to_float(array[i])));
    const Values y = want(x);
    for (std::size_t w = 0; w < expected.size(); ++w) expected[w].push_back(y[w]);
  }
  for (std::size_t w = 0; w < expected.size(); ++w) {
    EXPECT_LE(reference::largest_error(values(out[w], 0, count), expected[w]), reference::allowed_error(sizeof(T), 1))
        << count << " elements, result " << w;
    for (std::size_t i = count; i < out[w].size(); ++i) {
      EXPECT_TRUE(std::isnan(to_float(out[w][i]))) << "written beyond the end";
    }
  }
}

/// Less than a vector, a tail, exactly one vector each, and several turns of a small grid.
template <typename Op, typename Want> void expect_elementwise(Op op, Want want) {
  for (const std::size_t count : {3, 8, 1001, 2048, 20003}) {
    expect_elementwise<Op, Bf16>(op, count, 2, want);
    expect_elementwise<Op, float>(op, count, 2, want);
  }
  expect_elementwise<Op, Fp16>(op, 1001, 1, want);
}

TEST(EmulatedElementwise, SumsAndTriad) {
  expect_elementwise(AddResidual{}, [](const Values& x) { return Values{x[0] + x[1]}; });
  expect_elementwise(AddScalar{1.5f}, [](const Values& x) { return Values{x[0] + 1.5}; });
  expect_elementwise(Triad{0.75f}, [](const Values& x) { return Values{x[0] + 0.75 * x[1]}; });
}

TEST(EmulatedElementwise, Activations) {
  expect_elementwise(Gelu{}, [](const Values& x) { return Values{reference::gelu(x[0])}; });
  expect_elementwise(GeluBackward{}, [](const Values& x) { return Values{reference::gelu_gradient(x[0], x[1])}; });
  expect_elementwise(SwiGlu{}, [](const Values& x) { return Values{reference::silu(x[0]) * x[1]}; });
  expect_elementwise(SwiGluBackward{}, [](const Values& x) {
    const auto gradient = reference::swiglu_gradient(x[0], x[1], x[2]);
    return Values{gradient.gate, gradient.up};
  });
}

TEST(EmulatedElementwise, ActivationsOfLargeNumbersAreTheirLimits) {
  std::vector<float> x{100, -100, 3e38f, -3e38f}, gelu(4), up{1, 1, 1, 1}, gated(4);
  emulate(1, 32, 0, [&] { elementwise_kernel<Gelu, float>({}, {{x.data()}, {gelu.data()}}, 4); });
  emulate(1, 32, 0, [&] { elementwise_kernel<SwiGlu, float>({}, {{x.data(), up.data()}, {gated.data()}}, 4); });
  EXPECT_EQ(gelu, (std::vector<float>{100, 0, 3e38f, 0}));
  EXPECT_EQ(gated[0], 100);
  EXPECT_NEAR(gated[1], 0, 1e-40);
  EXPECT_EQ(gated[2], 3e38f);
  EXPECT_EQ(gated[3], 0);
}

TEST(EmulatedCopy, CopiesWritesAndReadsAllVectors) {
  for (const std::int64_t vectors : {1, 300, 1500, 5000}) {  // 512 threads
    std::vector<uint4> from, to(static_cast<std::size_t>(vectors), uint4{0, 0, 0, 0});
    unsigned all = 0;
    for (unsigned i = 0; i < vectors; ++i) {
      from.push_back({i * 2654435761u, i, ~i, i * i});
      all ^= from.back().x ^ from.back().y ^ from.back().z ^ from.back().w;
    }
    emulate(2, kStreamThreads, 0, [&] { copy_kernel(from.data(), to.data(), vectors); });
    EXPECT_EQ(std::memcmp(from.data(), to.data(), from.size() * sizeof(uint4)), 0);
    std::vector<unsigned> read(kReadWords * kReadStride);
    emulate(2, kStreamThreads, 0, [&] { read_kernel(from.data(), vectors, read.data()); });
    EXPECT_EQ(read[0] ^ read[kReadStride], all);  // a word of each block
    read[0] = read[kReadStride] = 0;
    EXPECT_EQ(read, std::vector<unsigned>(read.size()));
    emulate(2, kStreamThreads, 0, [&] { write_kernel(to.data(), vectors, {1, 2, 3, 4}); });
    for (const uint4& v : to) EXPECT_TRUE(v.x == 1 && v.y == 2 && v.z == 3 && v.w == 4);
  }
}

TEST(EmulatedQuantize, RoundsToFp8AndFindsTheLargest) {
  const std::size_t count = 8 * 700;
  auto x = normal_numbers<Bf16>(count, 3);
  x[4321] = from_float<Bf16>(-1000.0f);  // 1000 x 0.75 saturates
  std::vector<Fp8E4m3> y(count);
  float amax = 0;
  emulate(2, kStreamThreads, 0, [&] { quantize_kernel<Bf16>(x.data(), y.data(), 0.75f, &amax, count / 8); });
  EXPECT_EQ(amax, 1000);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(y[i].bits, to_e4m3(to_float(x[i]) * 0.75f)) << i;
  EXPECT_EQ(to_float(y[4321]), -448);
  amax = 2000;  // of another part of the tensor
  emulate(2, kStreamThreads, 0, [&] { quantize_kernel<Bf16>(x.data(), y.data(), 0.75f, &amax, count / 8); });
  EXPECT_EQ(amax, 2000);
}

TEST(EmulatedAdam, FollowsTheAlgorithmForThreeSteps) {
  const std::size_t count = 4 * 600;
  const auto gradient = normal_numbers<float>(count, 1);
  auto weight = normal_numbers<float>(count, 2);
  std::vector<float> mean(count), square(count);
  std::vector<Bf16> copy(count);
  std::vector<reference::AdamWeight> want;
  for (const float w : weight) want.push_back({static_cast<double>(w), 0, 0});
  for (int t = 1; t <= 3; ++t) {
    AdamStep step;
    step.correction1 = 1 / (1 - std::pow(step.beta1, static_cast<float>(t)));
    step.correction2 = 1 / (1 - std::pow(step.beta2, static_cast<float>(t)));
    emulate(1, kStreamThreads, 0, [&] {
      adam_kernel<Bf16>(step, {gradient.data(), weight.data(), mean.data(), square.data()}, copy.data(), count / 4);
    });
    const reference::AdamRates rates{
        step.rate, step.beta1, step.beta2, step.epsilon, step.decay, step.correction1, step.correction2};
    for (std::size_t i = 0; i < count; ++i) want[i] = reference::adam(rates, want[i], static_cast<double>(gradient[i]));
  }
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_NEAR(weight[i], want[i].weight, 1e-6);
    EXPECT_NEAR(mean[i], want[i].mean, 1e-6);
    EXPECT_NEAR(square[i], want[i].square, 1e-5);
    EXPECT_EQ(copy[i].bits, to_bf16(weight[i]));
  }
}

}  // namespace
}  // namespace stepcast::kernels::gpu
