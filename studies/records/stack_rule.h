// Finds the training software that a record ran on, from its software string, its date and, where those say too little,
// its id.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "studies/records/run_record.h"

namespace stepcast::records {

/// The first row that fits decides: its words occur in the record's software string ("" fits any, also an unknown one),
/// the record's month is before `until` ("" = no end), `id` occurs in the record's id, it ran in `precision` ("" fits
/// any), its weights lie in shards where `sharded` asks for it, and its layers are of attention and one MLP where
/// `dense` does.
struct StackRule {
  std::string_view software, until, stack, id = {}, precision = {};
  bool sharded = false, dense = false;
};
std::span<const StackRule> stack_rules();

/// Catalogue id of a stack. `guessed` tells when the software string named nothing known, and what else the record says
/// decided.
struct RunStack {
  std::string id;
  bool guessed = false;
};
RunStack stack_of(const Run& run);

}  // namespace stepcast::records
