// Written operators as the cluster placer knows operators: kinds, and clear answers for what a mesh cannot place.
#include <gtest/gtest.h>

#include "dataflow/place/block.h"
#include "dataflow/notation/written.h"

namespace stepcast::dataflow {
namespace {

const std::string written_dims = "dim b:2 s:8 t:8 g:2 r:2 d:4 h:16 v:32 e:4 c:8 k:2\n";

Expected<Network> written_network(const std::string& text) {
  Expected<MappingProgram> program = parse(written_dims + text, "p.flow");
  if (!program) ADD_FAILURE() << to_text(program.error());
  return network_of(*program);
}

Operator written_operator_of(const std::string& text) {
  Expected<Network> network = written_network(text);
  if (!network) return ADD_FAILURE() << to_text(network.error()), Operator{};
  return network->blocks.at(0).operators.at(0);
}

void expect_not_placed(const std::string& text, const std::string& said) {
  const Expected<Network> network = written_network(text);
  ASSERT_FALSE(network) << text;
  EXPECT_EQ(network.error().where, "p.flow:2:1");
  EXPECT_NE(to_text(network.error()).find(said), std::string::npos) << to_text(network.error());
}

TEST(Written, SelectLooksUpData) {
  const Expected<Network> network = written_network("embed: X[b,s,h] += select Wembed[v,h], ids[b,s]");
  ASSERT_TRUE(network);
  EXPECT_EQ(network->blocks[0].operators[0].kind, OperatorKind::select);
  EXPECT_EQ(network->tensors[network->find_tensor("ids")].role, TensorRole::data);
  EXPECT_EQ(network->tensors[network->find_tensor("Wembed")].role, TensorRole::weight);
}

TEST(Written, RoutesKnowTheirRows) {
  const Operator out = written_operator_of("dispatch: Xe[e,c,h] = route X[b,s,h]");
  EXPECT_EQ(out.kind, OperatorKind::route);
  EXPECT_EQ(out.function, "dispatch");
  EXPECT_EQ(out.output.row_dim, 1);                           // c
  EXPECT_EQ(out.output.row_loops, (std::vector<int>{0, 1}));  // b, s
  const Operator back = written_operator_of("combine: Y[b,s,h] += route Oe[e,c,h], gates[b,s,k]");
  EXPECT_EQ(back.function, "combine");
  EXPECT_EQ(back.inputs[0].row_dim, 1);
  EXPECT_EQ(back.inputs[0].row_loops, (std::vector<int>{0, 1}));
}

TEST(Written, SoftmaxOverKeysIsTheFusedCore) {
  const Operator core =
      written_operator_of("core: O[b,s,g,r,d] softmax= Q[b,s,g,r,d], K[b,t,g,d], V[b,t,g,d] where t <= s");
  EXPECT_EQ(core.kind, OperatorKind::attention);
  EXPECT_EQ(core.domain, Domain::causal);
  EXPECT_EQ(core.query_loop, 1);
  EXPECT_EQ(core.key_loop, 2);
  EXPECT_EQ(core.whole_loops, (std::vector<int>{5, 5, 5, 5, 5}));  // d, as the built core has it
  const Operator near =
      written_operator_of("core: O[b,s,g,r,d] softmax= Q[b,s,g,r,d], K[b,t,g,d], V[b,t,g,d] where s-4 < t <= s");
  EXPECT_EQ(near.domain, Domain::window);
  EXPECT_EQ(near.reach, 4);
}

TEST(Written, LoopsInParenthesesStayWhole) {
  const Operator rope = written_operator_of("rope: Y[b,s,d] = rope(d) X[b,s,d]");
  EXPECT_EQ(rope.kind, OperatorKind::opaque);
  EXPECT_EQ(rope.whole_loops, (std::vector<int>{5}));
  EXPECT_TRUE(backward_reads(rope).inputs.empty());  // the built rotation reads nothing either
  EXPECT_EQ(written_operator_of("scan: Y[b,s,d] = scan(s) X[b,s,d]").whole_loops, (std::vector<int>{1}));
}

TEST(Written, SplittingAWholeLoopIsRefused) {
  const auto program = parse("mesh x:2\ndim s:8 d:4\nscan: Y[s,d] = scan(s) X[s,d]\npar s on x", "p.flow");
  ASSERT_TRUE(program);
  const auto network = network_of(*program);
  const auto statements = expand(*program);
  ASSERT_TRUE(network && statements);
  const auto placed = place(*network, program->meshes, *statements, 2, {});
  ASSERT_FALSE(placed);
  EXPECT_NE(to_text(placed.error()).find("loop s of operator scan, which must stay whole"), std::string::npos);
}

TEST(Written, WhatAMeshCannotPlaceIsSaid) {
  expect_not_placed("o: O[s] += I[s+d] * W[d]", "put the ranks into the arch");
  expect_not_placed("o: O[s] += I[2*s] * W[d]", "put the ranks into the arch");
  expect_not_placed("o: O[b,t] = I[b,t] where t <= b", "compares loops of 8 and 2");
  expect_not_placed("o: O[s,d] = I[s,d] pad s", "'pad s' is not known to the cluster placer");
  expect_not_placed("o: O[s,d] = scan I[s,d]", "scan(s)");
  expect_not_placed("o: O[s,d] = select I[s,d]", "select TABLE[v,h], IDS[b,s]");
  expect_not_placed("o: O[s,d] = route I[s,d]", "each side has loops that the other lacks");
  expect_not_placed("o: O[s] softmax= Q[s], K[s], V[s]", "over one loop of keys");
}

TEST(Written, ChipLinesDoNotChangeThePlacement) {
  const std::string text = "mesh x:2\ndim m:8 n:8 k:8\no: O[m,n] += I[m,k] * W[k,n]\npar m on x\n";
  const std::string chip = "arch dram { pe[8] }\ndram: for m:8 for n:8 [I W O]\npe: par k on pe\nat o: pe: [O]\n";
  std::vector<std::size_t> items;
  for (const std::string& program_text : {text, text + chip}) {
    const auto program = parse(program_text, "p.flow");
    ASSERT_TRUE(program) << to_text(program.error());
    const auto network = network_of(*program);
    const auto statements = expand(*program);
    ASSERT_TRUE(network && statements);
    const auto placed = place(*network, program->meshes, *statements, 2, {});
    ASSERT_TRUE(placed) << to_text(placed.error());
    const PlacedBlock& block = placed->blocks[0];
    items.push_back(block.forward.size() + block.backward.size() + block.step.size());
  }
  EXPECT_EQ(items[0], items[1]);
}

}  // namespace
}  // namespace stepcast::dataflow
