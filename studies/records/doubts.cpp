#include "studies/records/doubts.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/errors/carried.h"
#include "model/base/json_reader.h"
#include "studies/records/doubts/embedded_doubts.h"
#include "studies/records/name_pattern.h"

namespace stepcast::records {
namespace {

/// The fields of a record that a rule may name.
struct DoubtText {
  const char* name;
  MaybeText (*value)(const Run& run);
};
constexpr DoubtText doubt_texts[] = {
    {"model", [](const Run& run) { return MaybeText(run.model.name); }},
    {"gpu", [](const Run& run) { return MaybeText(run.hardware.gpu); }},
    {"precision", [](const Run& run) { return run.precision; }},
    {"software", [](const Run& run) { return run.software; }},
    {"recompute", [](const Run& run) { return run.recompute; }},
    {"kind", [](const Run& run) { return MaybeText(run.kind); }},
    {"date", [](const Run& run) { return MaybeText(run.date); }},
};

struct DoubtCount {
  const char* name;
  MaybeCount (*value)(const Run& run);
};
constexpr DoubtCount doubt_counts[] = {
    {"gpus", [](const Run& run) { return MaybeCount(run.parallel.gpus); }},
    {"tp", [](const Run& run) { return MaybeCount(run.parallel.tp); }},
    {"pp", [](const Run& run) { return MaybeCount(run.parallel.pp); }},
    {"dp", [](const Run& run) { return MaybeCount(run.parallel.dp); }},
    {"cp", [](const Run& run) { return MaybeCount(run.parallel.cp); }},
    {"ep", [](const Run& run) { return run.parallel.ep; }},
    {"chunks", [](const Run& run) { return run.parallel.chunks; }},
    {"micro_batch", [](const Run& run) { return run.micro_batch; }},
    {"global_batch", [](const Run& run) { return MaybeCount(run.global_batch); }},
    {"sequence", [](const Run& run) { return run.model.seq_len; }},
};

void read_conditions(JsonObject where, DoubtRule& rule) {
  for (const DoubtText& field : doubt_texts)
    if (where.has(field.name)) where.read(field.name, rule.texts[field.name]);
  for (const DoubtCount& field : doubt_counts) {
    if (!where.has(field.name)) continue;
    std::vector<std::int64_t> ends;
    where.read(field.name, ends, IntegerRange{0, 1'000'000'000});
    if (where.failed()) return;
    where.require(
        ends.size() == 2 && ends[0] <= ends[1], field.name, "no range", "least and most, both included: [1, 4]");
    if (ends.size() == 2) rule.counts[field.name] = {ends[0], ends[1]};
  }
}

DoubtRule read_rule(JsonObject& row) {
  DoubtRule rule;
  row.read("ids", rule.ids);
  row.require(!rule.ids.empty(), "ids", "names no record", "patterns such as \"vtrain-*\"");
  row.read("reason", rule.reason);
  row.require(!rule.reason.empty(), "reason", "is empty", "what contradicts what");
  if (auto where = row.optional_object("where")) read_conditions(*where, rule);
  return rule;
}

std::vector<DoubtRule> read_embedded_doubts() { return carried_rows(embedded_doubts(), "doubts", read_doubts); }

bool fits_texts(const Run& run, const DoubtRule& rule) {
  return std::all_of(std::begin(doubt_texts), std::end(doubt_texts), [&](const DoubtText& field) {
    const auto wanted = rule.texts.find(field.name);
    if (wanted == rule.texts.end()) return true;
    const MaybeText value = field.value(run);
    return value && fits_pattern(*value, wanted->second);
  });
}

bool fits_counts(const Run& run, const DoubtRule& rule) {
  return std::all_of(std::begin(doubt_counts), std::end(doubt_counts), [&](const DoubtCount& field) {
    const auto wanted = rule.counts.find(field.name);
    if (wanted == rule.counts.end()) return true;
    const MaybeCount value = field.value(run);
    return value && wanted->second.least <= *value && *value <= wanted->second.most;
  });
}

}  // namespace

Expected<std::vector<DoubtRule>> read_doubts(const std::string& text, const std::string& where) {
  JsonObject file(text, where);
  std::vector<DoubtRule> rules;
  for (JsonObject& row : file.objects("doubts")) rules.push_back(read_rule(row));
  return file.finish(std::move(rules));
}

const std::vector<DoubtRule>& doubt_rules() {
  static const std::vector<DoubtRule> rules = read_embedded_doubts();
  return rules;
}

bool fits_rule(const Run& run, const DoubtRule& rule) {
  const bool named = std::any_of(
      rule.ids.begin(), rule.ids.end(), [&](const std::string& pattern) { return fits_pattern(run.id, pattern); });
  return named && fits_texts(run, rule) && fits_counts(run, rule);
}

std::string doubt_about(const Run& run) {
  for (const DoubtRule& rule : doubt_rules())
    if (fits_rule(run, rule)) return rule.reason;
  return {};
}

}  // namespace stepcast::records
