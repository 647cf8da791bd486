// Shards' results into one: the same rows, tally and bytes as if one process had done all of it.
#include <algorithm>

#include <fmt/format.h>

#include "studies/print/digits.h"
#include "studies/sweep/result/result.h"

namespace stepcast::sweep {
namespace {

std::string merged_digits(std::uint64_t n) { return grouped_digits(static_cast<double>(n)); }

std::string configurations_text(const IndexRange& range) {
  if (range.size() == 1) return fmt::format("configuration {}", merged_digits(range.begin));
  return fmt::format("configurations {} to {}", merged_digits(range.begin), merged_digits(range.end - 1));
}

struct OwnedRange {
  IndexRange range;
  const NamedResult* owner;
};

Expected<void> same_question(const std::vector<NamedResult>& parts) {
  const NamedResult& first = parts.front();
  for (const NamedResult& part : parts)
    if (const std::string differs = question_difference(first.result.question, part.result.question); !differs.empty())
      return fail(part.name, fmt::format("answers another question than {}: {}", first.name, differs),
          "results of one sweep, with the same model, machine, space and settings");
  return {};
}

tl::unexpected<Error> done_twice(const OwnedRange& a, const OwnedRange& b) {
  const Shard& shard = b.owner->result.shard;
  const std::string what =
      a.owner->result.shard == shard
          ? fmt::format("is shard {}/{}, as {} is", shard.index, shard.count, a.owner->name)
          : fmt::format("holds {}, which {} holds too",
                configurations_text({b.range.begin, std::min(a.range.end, b.range.end)}), a.owner->name);
  return fail(b.owner->name, what, "each shard once");
}

/// All that is done, in order.
Expected<Ranges> all_done(const std::vector<NamedResult>& parts) {
  std::vector<OwnedRange> owned;
  for (const NamedResult& part : parts)
    for (const IndexRange& range : part.result.done) owned.push_back({range, &part});
  std::ranges::stable_sort(owned, [](const auto& a, const auto& b) { return a.range.begin < b.range.begin; });
  Ranges done;
  for (std::size_t i = 0; i < owned.size(); ++i) {
    if (i > 0 && owned[i].range.begin < owned[i - 1].range.end) return done_twice(owned[i - 1], owned[i]);
    add_range(done, owned[i].range);
  }
  return done;
}

bool meets_any(const IndexRange& range, const Ranges& others) {
  return std::ranges::any_of(others, [&](const IndexRange& o) { return o.begin < range.end && range.begin < o.end; });
}

/// "shard 2/8 is not finished: 1,200 of 5,000 left (two.jsonl)", of each that leaves some of the gaps.
std::vector<std::string> unfinished_shards(const std::vector<NamedResult>& parts, const Ranges& gaps) {
  std::vector<std::string> texts;
  for (const NamedResult& part : parts) {
    const IndexRange all = range_of(part.result.shard, part.result.question.size());
    std::uint64_t left = 0;
    bool counts = false;
    for (const IndexRange& range : missing(part.result.done, all)) {
      left += range.size();
      counts |= meets_any(range, gaps);
    }
    if (counts)
      texts.push_back(fmt::format("shard {}/{} is not finished: {} of {} left ({})", part.result.shard.index,
          part.result.shard.count, merged_digits(left), merged_digits(all.size()), part.name));
  }
  return texts;
}

/// And of one that can be walked through: files may say anything.
bool of_one_count(const std::vector<NamedResult>& parts) {
  constexpr std::uint64_t most = 10'000'000;
  const std::uint64_t count = parts.front().result.shard.count;
  const auto of_it = [&](const NamedResult& part) { return part.result.shard.count == count; };
  return count <= most && std::ranges::all_of(parts, of_it);
}

/// Shards that no file is of, where all count alike: "shard 3/8 is missing".
std::vector<std::string> missing_shards(const std::vector<NamedResult>& parts, const Ranges& gaps) {
  const std::uint64_t count = parts.front().result.shard.count, size = parts.front().result.question.size();
  std::vector<bool> there(count, false);
  for (const NamedResult& part : parts) there[part.result.shard.index] = true;
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < count; ++i)
    if (!there[i] && meets_any(range_of({i, count}, size), gaps))
      texts.push_back(fmt::format("shard {}/{} is missing", i, count));
  return texts;
}

/// Of shards of several counts: the gaps that belong to no file's shard.
std::vector<std::string> missing_parts(const std::vector<NamedResult>& parts, const Ranges& gaps) {
  std::vector<std::string> texts;
  for (const IndexRange& gap : gaps) {
    Ranges nobody = {gap};
    for (const NamedResult& part : parts) {
      const IndexRange own = range_of(part.result.shard, part.result.question.size());
      if (own.size() == 0) continue;
      Ranges rest;
      for (const IndexRange& range : nobody)
        for (const IndexRange& outside : missing({own}, range)) rest.push_back(outside);
      nobody = rest;
    }
    for (const IndexRange& range : nobody)
      texts.push_back(fmt::format("{} {} in no file", configurations_text(range), range.size() == 1 ? "is" : "are"));
  }
  return texts;
}

std::string first_few(const std::vector<std::string>& texts) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, texts.size()); ++i) text += (i == 0 ? "" : "; ") + texts[i];
  return texts.size() > most ? text + fmt::format("; and {} more", texts.size() - most) : text;
}

Expected<void> nothing_missing(const std::vector<NamedResult>& parts, const Ranges& done) {
  const Ranges gaps = missing(done, {0, parts.front().result.question.size()});
  if (gaps.empty()) return {};
  std::vector<std::string> texts = of_one_count(parts) ? missing_shards(parts, gaps) : missing_parts(parts, gaps);
  const std::vector<std::string> unfinished = unfinished_shards(parts, gaps);
  std::string hint;
  if (!texts.empty()) hint = "run the sweep with --shard for what is missing (shards count from 0)";
  if (!unfinished.empty())
    hint += fmt::format("{}run {} again with --resume", hint.empty() ? "" : "; ",
        unfinished.size() == 1 ? "the unfinished one" : "unfinished ones");
  texts.insert(texts.end(), unfinished.begin(), unfinished.end());
  return fail("FILES", first_few(texts), hint);
}

SweepResult folded_parts(std::vector<NamedResult> parts, Ranges done) {
  SweepResult all;
  all.question = parts.front().result.question;
  all.done = std::move(done);
  std::vector<Figure> front;
  for (const std::string& name : all.question.pareto) front.push_back(find_figure(name, name).value());
  for (NamedResult& part : parts) {
    all.tally.add(part.result.tally);
    for (SweepRow& row : part.result.top) keep_top(all.top, std::move(row), all.question);
    for (SweepRow& row : part.result.pareto) keep_front(all.pareto, std::move(row), front);
  }
  return all;
}

}  // namespace

Expected<SweepResult> merge_results(std::vector<NamedResult> parts) {
  if (parts.empty()) return fail("FILES", "there is nothing to merge", "results of all shards");
  TRY(same_question(parts));
  TRY(auto done, all_done(parts));
  TRY(nothing_missing(parts, done));
  return folded_parts(std::move(parts), std::move(done));
}

}  // namespace stepcast::sweep
