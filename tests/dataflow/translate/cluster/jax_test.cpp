// Placements in JAX's words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataflow/translate/cluster/placements.h"
#include "tests/dataflow/translate/cluster/written_placements.h"

namespace stepcast::dataflow {
namespace {

using testing::HasSubstr;

std::string jax_of(const std::string& text) {
  const auto program = parse(text, "test.flow");
  EXPECT_TRUE(program) << to_text(program.error());
  const auto written = placement_tests::write_jax(*program);
  EXPECT_TRUE(written) << to_text(written.error());
  return written.value_or("");
}

TEST(Jax, WeightStationaryArrayHasAPendingSum) {
  const std::string text =
      jax_of("mesh x:16 y:16\ndim m:128 n:128 k:64\nO: O[m,n] += I[m,k] * W[k,n]\npar k on x\npar n on y\n");
  EXPECT_THAT(text, HasSubstr("mesh = jax.make_mesh((16, 16), ('y', 'x'))\n"));
  EXPECT_THAT(text, HasSubstr("I = P(None, 'x')\n"));
  EXPECT_THAT(text, HasSubstr("W = P('x', 'y')\n"));
  EXPECT_THAT(text, HasSubstr("O = P(None, 'y', unreduced={'x'}) -> P(None, 'y')  # pending psum over 'x'\n"));
}

TEST(Jax, SeveralAxesOnOneDimAreListedSlowestFirst) {
  EXPECT_THAT(
      jax_of("mesh x:2 y:4\ndim m:8 k:8\nO: O[m] += I[m,k]\npar m on x*y\n"), HasSubstr("I = P(('y', 'x'), None)\n"));
}

TEST(Jax, SpecsGiveTheLoops) {
  const auto program =
      read_jax("mesh = jax.make_mesh((2, 8), ('dp', 'tp'))\ndim m:16 k:16 n:16\nO = jnp.einsum('mk,kn->mn', I, W)\n"
               "I = P('dp')\nW = jax.P(None, 'tp')\nO = PartitionSpec('dp', 'tp')\n",
          "f.py");
  ASSERT_TRUE(program) << to_text(program.error());
  EXPECT_THAT(print(*program), HasSubstr("mesh tp:8 dp:2\n"));
  EXPECT_THAT(print(*program), HasSubstr("par n on tp\npar m on dp\n"));
}

TEST(Jax, WrongSpecsAreNamed) {
  const auto wrong = [](const std::string& spec) {
    const auto program =
        read_jax("mesh x:2 y:4\ndim m:8\nO: O[m] = relu I[m]\nO = " + spec + "\nI = " + spec + "\n", "f.py");
    EXPECT_FALSE(program) << spec;
    return program ? std::string{} : to_text(program.error());
  };
  EXPECT_THAT(wrong("P('z')"), HasSubstr("unknown axis 'z'"));
  EXPECT_THAT(wrong("P(x)"), HasSubstr("'x' is no axis"));
  EXPECT_THAT(wrong("P(('x', 'y'))"), HasSubstr("behind a faster axis"));
  EXPECT_THAT(wrong("P(('x', 'x'))"), HasSubstr("stands twice"));
  EXPECT_THAT(wrong("P('x', 'y')"), HasSubstr("more entries than the 1 dims"));
  EXPECT_THAT(wrong("Q('x')"), HasSubstr("a PartitionSpec is wanted"));
}

}  // namespace
}  // namespace stepcast::dataflow
