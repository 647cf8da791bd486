// Kinds of points: by the table of names, by kernel class where no row knows the name.
#include <set>

#include <gtest/gtest.h>

#include "dataflow/lower/lower.h"
#include "model/catalog.h"
#include "studies/cli/flags.h"
#include "studies/launch/asked_run.h"
#include "studies/run/forecast.h"
#include "studies/roofline/figures/operator_points.h"
#include "studies/launch/run_flags.h"
#include "tests/studies/asked_of.h"

namespace stepcast::roofline {
namespace {

KernelWork named_work(const std::string& label, KernelClass kernel = KernelClass::pointwise) {
  KernelWork work;
  work.label = label;
  work.kernel = kernel;
  return work;
}

TEST(PointKinds, NamesOfTheBuilderHaveTheirs) {
  const std::pair<const char*, PointKind> rows[] = {{"attn.core", PointKind::attention},
      {"attn.core.scores dX", PointKind::attention}, {"softmax", PointKind::attention},
      {"rope dX", PointKind::attention}, {"attn.qkv dW", PointKind::projection},
      {"attn.out again", PointKind::projection}, {"attn.up.Q", PointKind::projection},
      {"attn.norm.cq", PointKind::norm}, {"mlp.up dW added", PointKind::mlp}, {"swiglu", PointKind::mlp},
      {"bias_gelu dX", PointKind::mlp}, {"expert.up", PointKind::experts}, {"shared.gate.score", PointKind::experts},
      {"router", PointKind::experts}, {"dispatch", PointKind::experts}, {"norm dW", PointKind::norm},
      {"norm2.y sum", PointKind::other}, {"X sum", PointKind::other}, {"embedding dW", PointKind::embedding},
      {"head dX", PointKind::loss}, {"mtp.head", PointKind::loss}, {"mtp.proj.stream", PointKind::projection},
      {"loss", PointKind::loss}, {"optimizer", PointKind::optimizer}, {"gradient norm", PointKind::optimizer},
      {"bias_dropout_add", PointKind::other}};
  for (const auto& [label, kind] : rows) EXPECT_EQ(point_kind(named_work(label)), kind) << label;
}

TEST(PointKinds, WhatFollowsTheRoutingBelongsToExperts) {
  KernelWork work = named_work("swiglu");
  work.routed = true;
  EXPECT_EQ(point_kind(work), PointKind::experts);
}

TEST(PointKinds, UnknownNamesGoByTheirKernel) {
  EXPECT_EQ(point_kind(named_work("<b>&\"", KernelClass::gemm)), PointKind::projection);
  EXPECT_EQ(point_kind(named_work("conv", KernelClass::attention)), PointKind::attention);
  EXPECT_EQ(point_kind(named_work("table", KernelClass::lookup)), PointKind::embedding);
  EXPECT_EQ(point_kind(named_work("", KernelClass::pointwise)), PointKind::other);
}

TEST(PointKinds, EachHasAnIdAndAName) {
  std::set<std::string> ids, names;
  for (const PointKind kind : point_kinds()) ids.insert(to_text(kind)), names.insert(point_kind_name(kind));
  EXPECT_EQ(ids.size(), point_kinds().size());
  EXPECT_EQ(names.size(), point_kinds().size());
  EXPECT_STREQ(to_text(PointKind::mlp), "mlp");
  EXPECT_STREQ(point_kind_name(PointKind::loss), "Head and loss");
  for (const std::string& id : ids)
    EXPECT_EQ(id.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), std::string::npos) << "a CSS class";
}

TEST(PointKinds, BothGradientsAreBackward) {
  EXPECT_EQ(point_pass(Pass::forward), PointPass::forward);
  EXPECT_EQ(point_pass(Pass::recompute), PointPass::recompute);
  EXPECT_EQ(point_pass(Pass::input_grad), PointPass::backward);
  EXPECT_EQ(point_pass(Pass::weight_grad), PointPass::backward);
  EXPECT_EQ(point_pass(Pass::step), PointPass::step);
  EXPECT_STREQ(to_text(PointPass::recompute), "recompute");
}

/// "other" holds residuals and what mixes their streams, dropouts, sums of gradients and the features of several layers
/// side by side, nothing else.
bool is_residual(const std::string& label) {
  return label.find("dropout") != std::string::npos || label.ends_with(" sum") || label.starts_with("residual") ||
         label.find("streams") != std::string::npos || label.starts_with("add") || label.starts_with("projector") ||
         label.starts_with("predict") || label.starts_with("correct");
}

std::vector<KernelWork> works_of_network(const std::string& network, const std::string& stack) {
  std::vector<std::string> words{network, "--machine", "dgx-h100", "--gpus", "512", "--stack", stack};
  for (const std::string& word : asked_words(**find_row(built_in().networks, network, "network")))
    words.push_back(word);
  const auto arguments = parse_arguments(run_flags(), 1, 1, "", words);
  EXPECT_TRUE(arguments.has_value()) << to_text(arguments.error());
  const auto request = read_request(network, *arguments);
  EXPECT_TRUE(request.has_value()) << to_text(request.error());
  const auto scenario = complete(*request);
  if (!scenario) return {};  // experts under software that has none
  const auto program = lower(scenario->network.row, scenario->plan, scenario->stack.row);
  EXPECT_TRUE(program.has_value()) << to_text(program.error());
  std::vector<KernelWork> works;
  for (const ProgramBlock& block : program->blocks) works.insert(works.end(), block.works.begin(), block.works.end());
  return works;
}

TEST(PointKinds, EveryNetworkOfTheCatalogueIsKnown) {
  std::set<PointKind> seen;
  for (const NetworkSpec& network : built_in().networks)
    for (const char* stack : {"megatron-core", "megatron-2022", "pytorch-fsdp-eager"}) {
      const std::vector<KernelWork> works = works_of_network(network.id, stack);
      EXPECT_TRUE(!works.empty() || std::string(stack) != "megatron-core") << network.id;
      for (const KernelWork& work : works) {
        seen.insert(point_kind(work));
        if (point_kind(work) == PointKind::other) {
          EXPECT_TRUE(is_residual(work.label)) << network.id << " " << stack << ": " << work.label;
        }
      }
    }
  for (const PointKind kind : {PointKind::attention, PointKind::projection, PointKind::mlp, PointKind::experts,
           PointKind::norm, PointKind::embedding, PointKind::loss})
    EXPECT_TRUE(seen.contains(kind)) << to_text(kind);
}

}  // namespace
}  // namespace stepcast::roofline
