// The price of one work or move: time with its provenance and interval. Pure functions of Program items, Machine, Profile.
#pragma once

#include "dataflow/program.h"
#include "model/machine.h"
#include "model/profile.h"
#include "model/stack.h"

namespace stepcast {

struct Price {
  Seconds time;
  Source source = Source::assumed;
  Spread spread;
  const char* law = "";             ///< static text: "gemm roofline bf16", "curve nvswitch x8", for --explain
};

/// How a group lies on the machine: how many members share each level's instance.
struct Span {
  int level = 0;                    ///< index of the outermost level the group crosses
  std::int64_t inside = 1;          ///< members under one instance of level 0 (NVLink domain)
  std::int64_t nodes = 1;           ///< distinct instances of level 0
};
Span span_of(const Group& group, const Machine& machine);

/// Binds what prices depend on. Cheap to copy; holds references that must outlive it.
class CostModel {
 public:
  CostModel(const Machine& machine, const Profile& profile, const Stack& stack, Precision precision);

  [[nodiscard]] Price work(const Work& work) const;
  /// `group` of the move; local moves cost nothing.
  [[nodiscard]] Price move(const Move& move, const Group& group) const;
  /// Point-to-point of `bytes` between ranks `distance` apart while all ranks of the stage send theirs.
  [[nodiscard]] Price send(Bytes bytes, std::int64_t distance) const;

  [[nodiscard]] const Machine& machine() const { return *machine_; }
  [[nodiscard]] const Profile& profile() const { return *profile_; }
  [[nodiscard]] const Stack& stack() const { return *stack_; }

 private:
  const Machine* machine_;
  const Profile* profile_;
  const Stack* stack_;
  Precision precision_;
};

}  // namespace stepcast
