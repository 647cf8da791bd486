// What must not matter to a placement (names of axes, alias or its expansion), and what wrong mappings answer.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/dataflow/ledger.h"
#include "tests/dataflow/networks.h"

namespace stepcast::dataflow {
namespace {

/// Everything of a placed network but labels, as text.
std::string skeleton(const PlacedNetwork& placed) {
  std::string text;
  const auto place = [&](const Placement& p) {
    for (std::size_t a = 0; a < placed.mesh.atoms.size(); ++a) text += fmt::format("{} ", static_cast<int>(p.at[a]));
    text += "| ";
  };
  for (const Atom& atom : placed.mesh.atoms) text += fmt::format("atom {} {} {}\n", atom.stride, atom.size, atom.stage);
  for (std::size_t b = 0; b < placed.blocks.size(); ++b) {
    const PlacedBlock& block = placed.blocks[b];
    for (const OperatorSplit& split : placed.splits[b])
      for (std::size_t a = 0; a < placed.mesh.atoms.size(); ++a) text += fmt::format("{} ", split.loop[a]);
    for (const Copy& c : block.copies) {
      text += fmt::format("\ncopy {} {} {} {} ", c.tensor, c.gradient, c.bytes, c.parent);
      place(c.place);
    }
    for (const auto* list : {&block.forward, &block.backward, &block.step})
      for (const PlacedItem& i : *list) {
        text += fmt::format("\nitem {} {} {} {} {} {} {} {} {} {} {}: ", static_cast<int>(i.kind),
            static_cast<int>(i.pass), i.op, static_cast<int>(i.move), i.atoms, i.received, i.steps, i.launches,
            static_cast<int>(i.cargo), static_cast<int>(i.when), i.again);
        for (int r : i.reads) text += fmt::format("{} ", r);
        for (int w : i.writes) text += fmt::format("> {}", w);
      }
    for (const SavedCopy& s : block.saved)
      text += fmt::format("\nsaved {} {} {} {}", s.copy, s.op, s.bytes, s.held_until_weight_grad);
    for (const WeightChain& chain : block.chains) {
      text += fmt::format(
          "\nchain {} {} {} {} ", chain.tensor, chain.home_bytes, chain.accumulator_bytes, chain.optimizer_elements);
      place(chain.home);
      place(chain.accumulator);
      place(chain.optimizer);
    }
    text += "\n";
  }
  return text;
}

Error refusal(const std::string& mapping) {
  const Expected<PlacedNetwork> placed = place_text(section_c_network(4), mapping);
  EXPECT_FALSE(placed) << mapping << " was accepted";
  return placed ? Error{} : placed.error();
}

void expect_refusal(const std::string& mapping, const std::string& where, std::initializer_list<const char*> said) {
  const Error error = refusal(mapping);
  EXPECT_EQ(error.where, where) << mapping;
  for (const char* part : said)
    EXPECT_NE(to_text(error).find(part), std::string::npos) << mapping << "\n" << to_text(error) << "\n lacks " << part;
}

TEST(Structure, NamesOfAxesAreLabels) {
  const Network net = section_c_network(4);
  const std::string with_names = "par g*r on tp ; par f on tp ; par v on tp ; at loss: par none on tp ; par s on tp ; "
                                 "par s on cp zigzag ; par b on dp\n"
                                 "at attn.core: move K, V rotate ; home weights: * on dp*cp ; home optimizer: * on "
                                 "dp*cp ; home residual2.x: s on tp";
  std::string renamed = with_names;
  for (const auto& [from, to] : {std::pair{"tp", "zebra"}, {"cp", "a"}, {"dp", "tp"}})
    for (std::size_t at = 0; (at = renamed.find(std::string(" on ") + from, at)) != std::string::npos; at += 4)
      renamed.replace(at + 4, 2, to);
  for (std::size_t at = 0; (at = renamed.find("*cp", at)) != std::string::npos;) renamed.replace(at, 3, "*a");
  const std::string one = skeleton(placed_of(net, "mesh tp:4 cp:2 dp:4\n" + with_names)),
                    other = skeleton(placed_of(net, "mesh zebra:4 a:2 tp:4\n" + renamed));
  EXPECT_GT(one.size(), 10'000u);
  EXPECT_EQ(one, other) << renamed;
}

TEST(Structure, OrderOfTheMeshIsNoLabel) {
  // The same splits on other ranks: the atoms differ, the bytes do not.
  const Network net = section_c_network(4);
  const PlacedNetwork inner = placed_of(net, "mesh tp:4 cp:1 dp:4\nuse tp, sp, dp, zero1"),
                      outer = placed_of(net, "mesh dp:4 cp:1 tp:4\nuse tp, sp, dp, zero1");
  EXPECT_NE(skeleton(inner), skeleton(outer));
  EXPECT_EQ(moved_bytes(net, inner, "layer"), moved_bytes(net, outer, "layer"));
}

TEST(Structure, AnAliasIsItsExpansion) {
  const Network net = section_c_network(4);
  const std::string mesh = "mesh tp:4 cp:2 dp:4 pp:2\n";
  for (const char* uses : {"use dp", "use tp, vocab, sp, cp, dp, zero1", "use tp, dp, zero2",
           "use tp, ulysses, dp, fsdp", "use tp, sp, cp_gather, dp, fsdp_nosync, pp"}) {
    const Expected<MappingProgram> program = parse(mesh + uses, "plan.flow");
    ASSERT_TRUE(program) << to_text(program.error());
    const auto statements = expand(*program);
    ASSERT_TRUE(statements) << to_text(statements.error());
    std::string written = mesh;
    for (const Statement& statement : *statements)
      // Statements over dims that only other networks have are refused when a user writes them.
      if (print(statement).find("par fs ") == std::string::npos && print(statement).find("par u ") == std::string::npos)
        written += print(statement) + "\n";
    EXPECT_EQ(skeleton(placed_of(net, mesh + uses)), skeleton(placed_of(net, written))) << written;
  }
}

TEST(Structure, BothFormsOfAttentionMoveTheSame) {
  const Network fused = section_c_network(4),
                unfused = build_network(section_c_spec(), {4, 4096, 2, 2}, AttentionForm::unfused);
  for (const char* mapping : {"mesh tp:1 cp:1 dp:4\nuse dp", "mesh tp:4\nuse tp",
           "mesh tp:4 cp:2\nuse tp, sp, cp_gather", "mesh tp:16\nuse tp, sp", "mesh tp:2 cp:4\nuse tp, ulysses"})
    EXPECT_EQ(moved_bytes(fused, placed_of(fused, mapping), "layer"),
        moved_bytes(unfused, placed_of(unfused, mapping), "layer"))
        << mapping;
}

TEST(Structure, DoesNotDivide) {
  // 32 heads on 5 ranks; the legal sizes are the divisors of 32.
  expect_refusal(
      "mesh tp:5\npar g*r on tp", "plan.flow:2:1", {"par g*r on tp", "5 ranks", "legal sizes: 1, 2, 4, 8, 16, 32"});
  expect_refusal("mesh x:3\n\n  par b on x", "plan.flow:3:3", {"extent 4", "over 3 ranks", "legal sizes: 1, 2, 4"});
  expect_refusal("mesh x:3\nhome O: s on x", "plan.flow:2:1", {"cuts dim s (4096) of O into 3 parts", "divide"});
}

TEST(Structure, UnknownNames) {
  expect_refusal("mesh tp:4\npar f on pt", "plan.flow:2:1", {"axis 'pt'", "tp"});
  expect_refusal("mesh tp:4\npar q on tp", "plan.flow:2:1", {"loop 'q'", "section-c"});
  expect_refusal("mesh tp:4\nat attn.cor: par s on tp", "plan.flow:2:1", {"attn.cor", "attn.core"});
  expect_refusal("mesh tp:4\nhome Q: f on tp", "plan.flow:2:1", {"Q has no dim 'f'"});
  expect_refusal("mesh tp:4\nhome QQ: s on tp", "plan.flow:2:1", {"QQ"});
  expect_refusal("mesh tp:4\nmove QQ rotate", "plan.flow:2:1", {"QQ"});
  expect_refusal("mesh tp:4\nsave QQ at use", "plan.flow:2:1", {"QQ"});
  expect_refusal("mesh tp:4\nrecompute attn.cor", "plan.flow:2:1", {"attn.cor", "attn.core"});
}

TEST(Structure, AliasOnAMeshWithoutItsAxis) { expect_refusal("mesh x:4\nuse tp", "plan.flow:2:1", {"tp"}); }

TEST(Structure, WholeLoopsStayWhole) {
  expect_refusal("mesh x:4\npar d on x", "plan.flow:2:1", {"loop d", "attn.rope.Q", "must stay whole", "par none"});
}

TEST(Structure, PartialIntoANonlinearOperator) {
  // The square sum of a norm is Partial where h is split: the norm itself is not linear in it.
  expect_refusal("mesh x:4\npar h on x ; home norm1.q: partial on x", "layer/norm1.y",
      {"norm1.q is Partial on x", "not linear", "reduce it before"});
}

TEST(Structure, TheStreamBetweenBlocksHasOneHome) {
  for (const char* name : {"X0", "X", "X.last"})
    expect_refusal(
        fmt::format("mesh x:4\nhome {}: s on x", name), "plan.flow:2:1", {"where blocks meet", "residual2.x"});
  // Stated where it is decided, every block follows: the embedding's output is cut for free, the head's input gathered.
  const Network net = section_c_network();
  const PlacedNetwork placed = placed_of(net, "mesh x:4\nhome residual2.x: s on x");
  for (const PlacedBlock& block : placed.blocks)
    if (block.input >= 0) {
      EXPECT_EQ(block.copies[block.input].place, placed.blocks[0].copies[placed.blocks[0].output].place);
    }
  EXPECT_EQ(placed.blocks[0].copies[placed.blocks[0].output].place.at[0], 1);  // dim s of X0[b,s,h]
}

TEST(Structure, MeshLinesMustAgree) {
  expect_refusal("mesh x:4\nmesh y:2", "plan.flow:2:1", {"2 ranks", "4 GPUs", "product must be 4"});
  expect_refusal("mesh x:2 y:6\nmesh u:3 v:4", "plan.flow:2:1", {"no common refinement", "2 and 3"});
}

TEST(Structure, SplitOnTheAxisOfTheLayers) {
  expect_refusal("mesh x:2 pp:2\nuse pp\npar s on pp", "plan.flow:3:1", {"par s on pp", "layers"});
}

}  // namespace
}  // namespace stepcast::dataflow
