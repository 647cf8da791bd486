#include "model/stack.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/catalog.h"

namespace stepcast {
namespace {

std::string stack_error(const std::string& from, const std::string& to) {
  std::string text = write_stack(**find_row(built_in().stacks, "megatron-core", "stack"));
  const auto at = text.find(from);
  if (at == std::string::npos) return "nothing to replace";
  const auto stack = read_stack(text.replace(at, from.size(), to), "s.json");
  return stack ? "accepted" : to_text(stack.error());
}

TEST(ReadStack, RefusesUnknownKernelGroupsAndManners) {
  EXPECT_NE(stack_error("\"swiglu\"", "\"swigul\"").find("did you mean 'swiglu'?"), std::string::npos);
  EXPECT_NE(stack_error("\"overlapped\"", "\"overlaped\"").find("did you mean 'overlapped'?"), std::string::npos);
  EXPECT_NE(stack_error("\"2023-12\"", "\"2023-13\"").find("is no month"), std::string::npos);
}

TEST(ReadStack, WantsEveryTermStated) {
  EXPECT_NE(stack_error("\"host_per_launch\"", "\"host_per_lunch\"").find("did you mean 'host_per_launch'?"),
      std::string::npos);
  EXPECT_NE(
      stack_error("\"host_per_step\": \"10 ms\",", "").find("/host_per_step: this key is missing"), std::string::npos);
  EXPECT_NE(stack_error("\"160 MB\"", "160").find("has no unit"), std::string::npos);
  EXPECT_NE(stack_error("\"allocator_slack\": 0.04", "\"allocator_slack\": 4"), "accepted");
}

TEST(CatalogStacks, DifferWhereTheSoftwareDid) {
  const Stack& old = **find_row(built_in().stacks, "megatron-2022", "stack");
  EXPECT_EQ(old.attention, AttentionForm::unfused);
  EXPECT_EQ(old.gradient_reduces, Manners::blocking);
  const Stack& now = **find_row(built_in().stacks, "megatron-core", "stack");
  EXPECT_EQ(now.attention, AttentionForm::fused);
  EXPECT_EQ(now.gradient_reduces, Manners::overlapped);
}

// clang-format off
/// One field each, set to what no default is.
struct FieldChange { const char* key; void (*change)(Stack&); };
constexpr FieldChange field_changes[] = {
    {"id", [](Stack& s) { s.id = "other"; }},
    {"name", [](Stack& s) { s.name = "Other"; }},
    {"aliases", [](Stack& s) { s.aliases = {"another"}; }},
    {"source", [](Stack& s) { s.source = "elsewhere"; }},
    {"from", [](Stack& s) { s.from = "2024-02"; }},
    {"until", [](Stack& s) { s.until = "2025-03"; }},
    {"attention", [](Stack& s) { s.attention = AttentionForm::unfused; }},
    {"fused", [](Stack& s) { s.fused = {"norm", "expert.up", "shared.up", "attn.up", "attn.down"}; }},
    {"recompute_whole", [](Stack& s) { s.recompute_whole = false; }},
    {"gradient_bytes", [](Stack& s) { s.gradient_bytes = 2; }},
    {"half_gradients", [](Stack& s) { s.half_gradients = true; }},
    {"accumulates_apart", [](Stack& s) { s.accumulates_apart = true; }},
    {"autocast", [](Stack& s) { s.autocast = true; }},
    {"gradients_freed", [](Stack& s) { s.gradients_freed = true; }},
    {"dropout", [](Stack& s) { s.dropout = true; }},
    {"master_bytes", [](Stack& s) { s.master_bytes = 2; }},
    {"optimizer_bytes", [](Stack& s) { s.optimizer_bytes = 4; }},
    {"gradient_bucket", [](Stack& s) { s.gradient_bucket = Bytes(25e6); }},
    {"activation_moves", [](Stack& s) { s.activation_moves = Manners::overlapped; }},
    {"input_moves_in_backward", [](Stack& s) { s.input_moves_in_backward = Manners::overlapped; }},
    {"activation_pieces", [](Stack& s) { s.activation_pieces = 3; }},
    {"gathers_cast", [](Stack& s) { s.gathers_cast = true; }},
    {"ring_moves", [](Stack& s) { s.ring_moves = Manners::blocking; }},
    {"weight_gathers", [](Stack& s) { s.weight_gathers = Manners::blocking; }},
    {"gradient_reduces", [](Stack& s) { s.gradient_reduces = Manners::blocking; }},
    {"boundary_sends", [](Stack& s) { s.boundary_sends = Manners::overlapped; }},
    {"statements", [](Stack& s) { s.statements = {"home boundary: s on tp"}; }},
    {"loss_bytes", [](Stack& s) { s.loss_bytes = 2; }},
    {"host_per_launch", [](Stack& s) { s.host_per_launch = Seconds(3e-6); }},
    {"host_per_step", [](Stack& s) { s.host_per_step = Seconds(3e-3); }},
    {"gpu_spread", [](Stack& s) { s.gpu_spread = 0.02; }},
    {"expert_dispatch", [](Stack& s) { s.expert_dispatch = Dispatch::tokens; }},
    {"dispatch_cast", [](Stack& s) { s.dispatch_cast = true; }},
    {"casts_apart", [](Stack& s) { s.casts_apart = true; }},
    {"expert_moves", [](Stack& s) { s.expert_moves = Manners::overlapped; }},
    {"captured", [](Stack& s) { s.captured = Capture::static_parts; }},
    {"calls_per_kernel", [](Stack& s) { s.calls_per_kernel = 5; }},
    {"calls_per_expert", [](Stack& s) { s.calls_per_expert = 2; }},
    {"calls_per_dispatch", [](Stack& s) { s.calls_per_dispatch = 40; }},
    {"narrow_attention", [](Stack& s) { s.narrow_attention = true; }},
    {"narrow_head", [](Stack& s) { s.narrow_head = true; }},
    {"attention_rate", [](Stack& s) { s.attention_rate = 0.5; }},
    {"one_by_one", [](Stack& s) { s.one_by_one = {{"rope", 10, 5, 1}}; }},
    {"ampere_attention", [](Stack& s) { s.ampere_attention = true; }},
    {"launch_gap", [](Stack& s) { s.launch_gap = Seconds(1e-4); }},
    {"data_wait", [](Stack& s) { s.data_wait = Seconds(0.25); }},
    {"gradient_stand_ins", [](Stack& s) { s.gradient_stand_ins = true; }},
    {"pads_vocabulary", [](Stack& s) { s.pads_vocabulary = true; }},
    {"loss_in_place", [](Stack& s) { s.loss_in_place = true; }},
    {"loss_pieces", [](Stack& s) { s.loss.pieces = LossPieces::by_width; }},
    {"loss_piece", [](Stack& s) { s.loss.size = 8; }},
    {"loss_kept", [](Stack& s) { s.loss.kept = true; }},
    {"loss_product_whole", [](Stack& s) { s.loss.whole_product = true; }},
    {"gates_in_experts", [](Stack& s) { s.gates_in_experts = true; }},
    {"rotary_key_per_head", [](Stack& s) { s.rotary_key_per_head = true; }},
    {"workspace", [](Stack& s) { s.workspace = Bytes(64e6); }},
    {"framework_memory", [](Stack& s) { s.framework_memory = Bytes(1e9); }},
    {"allocator_slack", [](Stack& s) { s.allocator_slack = 0.125; }},
    {"parameters", [](Stack& s) { s.parameters = {"products", "memory"}; }},
    {"expert_parameters", [](Stack& s) { s.expert_parameters = {"host_per_launch_s"}; }},
    {"joint_precisions", [](Stack& s) { s.joint_precisions = true; }},
    {"fitted_with", [](Stack& s) { s.fitted_with = "nemo"; }},
    {"tuned_like", [](Stack& s) { s.tuned_like = {"nemo", "jax"}; }},
};
// clang-format on

Stack plain_stack() {
  Stack stack;
  stack.id = "plain", stack.name = "Plain", stack.source = "nowhere", stack.from = "2023-01";
  return stack;
}

nlohmann::json keys_of(const Stack& stack) { return nlohmann::json::parse(write_stack(stack)); }

TEST(StackFields, EachIsWrittenReadAndLeavesTheOthersAlone) {
  const nlohmann::json plain = keys_of(plain_stack());
  for (const FieldChange& field : field_changes) {
    Stack stack = plain_stack();
    field.change(stack);
    const auto read = read_stack(write_stack(stack), "s.json");
    ASSERT_TRUE(read.has_value()) << field.key << ": " << to_text(read.error());
    EXPECT_EQ(write_stack(*read), write_stack(stack)) << field.key;
    nlohmann::json now = keys_of(stack);
    EXPECT_NE(now.value(field.key, nlohmann::json()), plain.value(field.key, nlohmann::json())) << field.key;
    nlohmann::json others = plain;
    now.erase(field.key), others.erase(field.key);
    EXPECT_EQ(now, others) << field.key;
  }
}

TEST(StackFields, TheTestKnowsThemAll) {
  Stack stack = plain_stack();
  for (const FieldChange& field : field_changes) field.change(stack);
  EXPECT_EQ(keys_of(stack).size(), std::size(field_changes));
}

TEST(StackFields, WhatAFileLeavesOutIsAsInTheStruct) {
  nlohmann::json file = keys_of(plain_stack());
  const std::string whole = write_stack(*read_stack(file.dump(), "s.json"));
  for (const char* key : {"expert_dispatch", "expert_moves", "captured", "calls_per_kernel", "calls_per_expert",
           "calls_per_dispatch", "narrow_attention", "narrow_head", "gradient_stand_ins", "loss_in_place",
           "gates_in_experts", "rotary_key_per_head", "workspace"}) {
    nlohmann::json less = file;
    ASSERT_EQ(less.erase(key), 1U) << key;
    const auto read = read_stack(less.dump(), "s.json");
    ASSERT_TRUE(read.has_value()) << to_text(read.error());
    EXPECT_EQ(write_stack(*read), whole) << key;
  }
}

TEST(StackFields, ValuesOutOfRangeAreRefusedByName) {
  const auto refusal = [](const char* key, const nlohmann::json& value) {
    nlohmann::json file = keys_of(plain_stack());
    file[key] = value;
    const auto read = read_stack(file.dump(), "s.json");
    return read ? "accepted" : to_text(read.error());
  };
  const std::pair<const char*, nlohmann::json> wrong[] = {{"calls_per_kernel", -1}, {"calls_per_expert", 101},
      {"calls_per_dispatch", 1001}, {"attention_rate", 0}, {"attention_rate", 2.5}, {"activation_pieces", 0},
      {"gradient_bytes", 0}, {"captured", "steps"}, {"expert_dispatch", "row"}, {"expert_moves", "hidden"},
      {"dropout", 0.1}, {"one_by_one", 1}, {"one_by_one", {{{"function", "rop"}, {"passes", 2}}}},
      {"one_by_one", {{{"function", "rope"}, {"passes", 0.5}}}},
      {"one_by_one", {{{"function", "rope"}, {"passes", 2}, {"kept", -1}}}},
      {"parameters", {"products", "memory", "attention", "contention"}}, {"parameters", {"product"}},
      {"expert_parameters", {"producs"}}, {"until", "2024"}, {"launch_gap", "1 GB"}};
  for (const auto& [key, value] : wrong)
    EXPECT_NE(refusal(key, value).find(std::string("/") + key), std::string::npos)
        << key << ": " << refusal(key, value);
  EXPECT_NE(refusal("eager", 1).find("is called by another name now"), std::string::npos) << refusal("eager", 1);
}

TEST(StackFields, HalfGradientsAreOfFp16Alone) {
  Stack stack = plain_stack();
  for (const Precision precision : {Precision::fp16, Precision::bf16}) EXPECT_EQ(gradient_bytes(stack, precision), 4);
  stack.half_gradients = true;
  EXPECT_EQ(gradient_bytes(stack, Precision::fp16), 2);
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::bf16, Precision::fp8})
    EXPECT_EQ(gradient_bytes(stack, precision), 4);
}

TEST(CatalogStacks, FitsAreBorrowedFromOtherStacksOfTheCatalogue) {
  for (const Stack& stack : built_in().stacks)
    for (const std::string& id : stack.tuned_like) {
      const auto known = find_row(built_in().stacks, id, "stack");
      ASSERT_TRUE(known.has_value()) << stack.id << " is tuned like " << id;
      EXPECT_EQ((*known)->id, id) << "an alias: fits go by id";
      EXPECT_NE(id, stack.id);
    }
}

TEST(CatalogStacks, FitsTogetherAreFiledUnderAStackThatHasItsOwnAndTurnTheSame) {
  for (const Stack& stack : built_in().stacks) {
    if (stack.fitted_with.empty()) continue;
    const auto other = find_row(built_in().stacks, stack.fitted_with, "stack");
    ASSERT_TRUE(other.has_value()) << stack.id;
    EXPECT_EQ((*other)->id, stack.fitted_with) << "an alias: fits go by id";
    EXPECT_EQ((*other)->fitted_with, "") << stack.id;
    EXPECT_EQ((*other)->parameters, stack.parameters) << stack.id;
    EXPECT_EQ((*other)->expert_parameters, stack.expert_parameters) << stack.id;
  }
}

TEST(CatalogStacks, BeginBeforeTheyEnd) {
  for (const Stack& stack : built_in().stacks)
    EXPECT_TRUE(stack.until.empty() || stack.from <= stack.until) << stack.id;
}

}  // namespace
}  // namespace stepcast
