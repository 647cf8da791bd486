// Converters of torchtitan that take some products to 8 bits and leave others, on networks with experts and without.
#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "studies/launch/read/launch_request.h"

namespace stepcast::launch {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// "fp8", or the error, of a configuration of torchtitan with these lines.
std::string converted(const std::string& model, const std::string& converters, const std::string& lines = "") {
  LaunchSource source;
  source.flag = find_launch_flag("--torchtitan");
  source.file = "run.toml";
  const std::string text = fmt::format(
      "[model]\n{}\nconverters = {}\n[training]\nlocal_batch_size = 1\nseq_len = 4096\n{}\n", model, converters, lines);
  const auto launch = read_launch_text(text, source.file, source);
  if (!launch) return to_text(launch.error());
  LaunchHints hints;
  hints.gpus = 64;
  const auto reading = read_meaning(*launch, hints);
  if (!reading) return to_text(reading.error());
  return reading->request.said().at("precision").text;
}

constexpr const char* scout = "name = \"llama4\"\nflavor = \"17bx16e\"";
constexpr const char* dense = "name = \"llama3\"\nflavor = \"8B\"";

TEST(Converters, LinearLayersAloneLeaveExpertsWide) {
  EXPECT_THAT(converted(scout, "[\"quantize.linear.float8\"]"),
      AllOf(HasSubstr("run.toml:4"), HasSubstr("grouped products of experts stay in 16 bits"),
          HasSubstr("quantize.grouped_mm.float8")));
  EXPECT_THAT(converted(scout, "[\"quantize.linear.mx\"]"), HasSubstr("stay in 16 bits"));
  EXPECT_EQ(converted(dense, "[\"quantize.linear.float8\"]"), "fp8");
  EXPECT_EQ(converted(dense, "[\"quantize.linear.mx\"]"), "mxfp8");
}

/// A converter of grouped products that names no module converts none.
TEST(Converters, GroupedProductsNeedTheirModules) {
  const std::string both = "[\"quantize.linear.float8\", \"quantize.grouped_mm.float8\"]";
  EXPECT_EQ(converted(scout, both, "[quantize.grouped_mm.float8]\nfqns = [\"experts\"]"), "fp8");
  EXPECT_THAT(converted(scout, both, "[quantize.grouped_mm.float8]\nfqns = []"), HasSubstr("stay in 16 bits"));
  EXPECT_THAT(converted(scout, both), HasSubstr("stay in 16 bits"));
  EXPECT_THAT(
      converted(scout, "[\"quantize.grouped_mm.float8\"]", "[quantize.grouped_mm.float8]\nfqns = [\"experts\"]"),
      HasSubstr("products of experts alone are converted"));
}

/// Experts are named, and by the converter of the linear layers' type.
TEST(Converters, OtherSectionsConvertNoExperts) {
  const std::string linear = "[\"quantize.linear.float8\"]",
                    both = "[\"quantize.linear.float8\", \"quantize.grouped_mm.float8\"]";
  EXPECT_THAT(converted(scout, linear, "[mx]\nmoe_fqns_prototype = [\"experts\"]"), HasSubstr("stay in 16 bits"));
  EXPECT_THAT(
      converted(scout, both, "[quantize.grouped_mm.float8]\nfqns = [\"nothing\"]"), HasSubstr("stay in 16 bits"));
  EXPECT_THAT(converted(scout, "[\"quantize.linear.float8\", \"quantize.grouped_mm.mx\"]",
                  "[quantize.grouped_mm.mx]\nfqns = [\"experts\"]"),
      HasSubstr("stay in 16 bits"));
  EXPECT_THAT(converted(dense, "[\"quantize.grouped_mm.float8\"]"),
      AllOf(HasSubstr("grouped products alone are converted"), HasSubstr("quantize.linear.float8")));
}

/// In summer 2025 one converter did both.
TEST(Converters, TheFirstConverterTookExpertsByName) {
  EXPECT_EQ(converted(scout, "[\"float8\"]", "[float8]\nmoe_fqns_prototype = [\"experts\"]"), "fp8");
  EXPECT_THAT(converted(scout, "[\"float8\"]"), HasSubstr("stay in 16 bits"));
}

}  // namespace
}  // namespace stepcast::launch
