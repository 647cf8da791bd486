// The pipeline of a launch: its schedule, chunks of a stage, and which layers lie where.
#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/text.h"
#include "sim/schedule/layers/layer_layout.h"
#include "sim/schedule/schedule_table.h"
#include "studies/launch/read/launched_run.h"
#include "studies/launch/facts/step_words.h"
#include "studies/launch/facts/torchtitan_models.h"

namespace stepcast::launch {
namespace {

/// What frameworks call the schedules that we have, and how many chunks a rank holds under them (0 = as told).
struct ScheduleWord {
  std::string_view word, schedule;
  std::int64_t chunks;
};
constexpr ScheduleWord schedule_words[] = {
    // torch.distributed.pipelining; several stages per rank are two unless told (torchtitan's pipeline_parallel.py)
    {"1f1b", "1f1b", 1},
    {"gpipe", "gpipe", 1},
    {"afab", "gpipe", 1},  // Nanotron: all forward, then all backward
    {"interleaved1f1b", "interleaved-1f1b", 2},
    {"interleavedzerobubble", "interleaved-zb", 2},
    {"zbvzerobubble", "zb-v", 2},
    {"dualpipev", "dualpipev", 2},
    {"loopedbfs", "looped-bfs", 2},
};

class StagesReader {
 public:
  explicit StagesReader(const LaunchSubject& subject)
      : subject_(subject), ask_(subject.answers), run_(subject.out.run), p_(run_.parallel) {}

  /// Chunks per stage: said, or by the layers of one; torch's schedules by their name.
  void schedule() {
    const auto said = ask_.count(Asked::chunks), layers = ask_.count(Asked::layers_per_chunk);
    std::string word = lower_case(ask_.text(Asked::schedule).value_or(""));
    word.erase(0, std::min(word.rfind('/') == word.npos ? 0 : word.rfind('/') + 1, word.size()));
    subject_.said("chunks", said ? Asked::chunks : Asked::layers_per_chunk);
    subject_.said("schedule", Asked::schedule);
    p_.chunks = 1;
    if (p_.pp == 1) return;
    const ScheduleWord* row = word_row(schedule_words, word);
    const bool known = row != nullptr && find_schedule(std::string(row->schedule));
    if (said) p_.chunks = said;
    else if (layers) p_.chunks = std::max<std::int64_t>(1, weighed_layers(*layers));
    else if (row != nullptr) p_.chunks = row->chunks;
    p_.schedule = *p_.chunks > 1 ? "interleaved-1f1b" : "1f1b";
    if (known && row->chunks == 1 && *p_.chunks > 1)
      subject_.note(fmt::format("{} runs one part per rank, and {} are asked for, which {} refuses", word, *p_.chunks,
          subject_.framework.name));
    if (known) subject_.out.schedule = row->schedule;
    else if (subject_.is_on("enable_zbh1_pipeline")) subject_.out.schedule = "zb-h1";  // Megatron-DeepSpeed
    else if (!word.empty()) subject_.note(fmt::format("schedule {} forecast as {}", word, *p_.schedule));
  }

  /// Chunks of a stage by the layers of one, where embedding and head may stand for layers: torchtitan rounds up
  /// (pipeline_parallel.py), Megatron refuses what does not divide (arguments.py).
  std::int64_t weighed_layers(std::int64_t of_chunk) {
    const std::int64_t all = *run_.model.layers + ends(Asked::embedding_as_layer) + ends(Asked::loss_as_layer);
    if (counts_ends()) {
      const std::int64_t parts = (all + of_chunk - 1) / of_chunk;
      if (parts % p_.pp != 0)
        subject_.note(
            fmt::format("{} layers, {} a part, are {} parts: torchtitan refuses what does not divide over pp {}", all,
                of_chunk, parts, p_.pp));
      return parts / p_.pp;
    }
    if (all % p_.pp != 0 || all / p_.pp % of_chunk != 0)
      subject_.note(
          fmt::format("{} layers on pp {} do not divide into chunks of {}, which {} refuses: forecast as {} per stage",
              all, p_.pp, of_chunk, subject_.framework.name, std::max<std::int64_t>(1, all / p_.pp / of_chunk)));
    return all / p_.pp / of_chunk;
  }

  [[nodiscard]] bool counts_ends() const { return subject_.framework.ends_are_layers; }
  /// Before April 2025 torchtitan counted layers alone, and gave what did not divide to the stages behind the first.
  [[nodiscard]] bool lays_middle_first() const {
    return counts_ends() && subject_.framework.table().before(subject_.launch.release, "2025-05");
  }
  /// Layers that the embedding, or norm and head, stand for: a switch with Megatron, a number with torchtitan.
  std::int64_t ends(Asked asked) {
    const auto text = ask_.text_or_default(asked);
    if (!text && counts_ends()) return lays_middle_first() ? 0 : 1;  // fixed, before there were settings for it
    if (!text || is_off(*text)) return text == "1" ? 1 : 0;
    return counts_ends() ? ask_.count_or_default(asked).value_or(0) : ask_.flag(asked, false) ? 1 : 0;
  }

  /// A layout in Megatron's own string or as torchtitan's lists of modules, layers of the first and last stage, or
  /// embedding and head counted as layers.
  void layers() {
    const auto text = ask_.text(Asked::layout);
    const auto first = ask_.count(Asked::first_layers), last = ask_.count(Asked::last_layers);
    // BLOOM: "type:transformer|embedding" counts the embedding in front and the tied head behind as a layer each
    const GivenArgument* parts = subject_.launch.find("pp_partition_method");
    const std::int64_t both = parts != nullptr && parts->value.find("embedding") != std::string::npos ? 1 : 0;
    const std::int64_t embedding = std::max(both, ends(Asked::embedding_as_layer)),
                       loss = std::max(both, ends(Asked::loss_as_layer));
    for (const Asked asked :
        {Asked::layout, Asked::first_layers, Asked::last_layers, Asked::embedding_as_layer, Asked::loss_as_layer})
      subject_.said("layout", asked);
    const std::string pattern = ask_.text(Asked::layer_pattern).value_or("");
    if (p_.pp == 1 && pattern.find('|') != pattern.npos)
      return ask_.refuse(Asked::layer_pattern, "borders of stages stand in the pattern, and there is one stage",
          "a pattern without |, or as many stages as it has parts");
    if (p_.pp == 1) return;
    if (pattern.find('|') != pattern.npos) {
      subject_.said("layout", Asked::layer_pattern);
      if (text || first || last)
        return ask_.refuse(
            Asked::layer_pattern, "borders of stages stand in the pattern, and a layout beside it", "one of the two");
      return bordered(pattern.substr(0, pattern.find('/')));
    }
    if (text) given_layout(*text);
    else if (first || last) ends_given(first, last);
    else if (embedding > 0 || loss > 0 || counts_ends()) ends_lighter(embedding, loss);
  }

  /// As many virtual stages as it has parts.
  void given_layout(const std::string& text) {
    std::vector<std::int64_t> parts = counts_ends() ? torchtitan_part_layers(text) : std::vector<std::int64_t>{};
    std::int64_t count = static_cast<std::int64_t>(parts.size());
    subject_.out.layout = parts.empty() ? text : fmt::format("{}", fmt::join(parts, ","));
    if (parts.empty())
      if (const auto layout = read_layers(text, ask_.where(Asked::layout)))
        count = static_cast<std::int64_t>(layout->stages.size());
    if (count % p_.pp == 0) p_.chunks = std::max<std::int64_t>(1, count / p_.pp);
    if (subject_.out.schedule.empty()) p_.schedule = *p_.chunks > 1 ? "interleaved-1f1b" : "1f1b";
  }

  /// "MM*|M-M-": the letters between borders are the layers of a virtual stage (Megatron-LM d98e8a6
  /// megatron/core/ssm/mamba_hybrid_layer_allocation.py).
  void bordered(std::string_view pattern) {
    std::vector<std::int64_t> parts{0};
    for (const char letter : pattern) letter == '|' ? parts.push_back(0) : void(++parts.back());
    const auto count = static_cast<std::int64_t>(parts.size());
    if (count % p_.pp != 0 || std::ranges::find(parts, 0) != parts.end())
      return ask_.refuse(Asked::layer_pattern, fmt::format("{} parts between borders for {} stages", count, p_.pp),
          "as many parts as stages, or a multiple, none of them empty");
    p_.chunks = count / p_.pp;
    subject_.out.layout = fmt::format("{}", fmt::join(parts, ","));
    if (subject_.out.schedule.empty()) p_.schedule = *p_.chunks > 1 ? "interleaved-1f1b" : "1f1b";
  }

  /// Megatron's decoder-first and -last-pipeline-num-layers: those stages hold so many, over all their chunks; the
  /// others share the rest.
  void ends_given(MaybeCount first, MaybeCount last) {
    const std::int64_t ends = (first ? 1 : 0) + (last ? 1 : 0), chunks = *p_.chunks;
    const std::int64_t rest = *run_.model.layers - first.value_or(0) - last.value_or(0), middle = p_.pp - ends;
    std::vector<std::int64_t> counts;
    for (std::int64_t part = 0; part < p_.pp * chunks; ++part) {
      const std::int64_t stage = part % p_.pp;
      const std::int64_t whole = stage == 0 && first          ? *first
                                 : stage == p_.pp - 1 && last ? *last
                                 : middle > 0                 ? rest / middle
                                                              : 0;
      counts.push_back(whole / chunks);
    }
    subject_.out.layout = fmt::format("{}", fmt::join(counts, ","));
  }

  /// Embedding and head take the place of layers on the first and the last virtual stage; what does not divide goes to
  /// the first ones.
  void ends_lighter(std::int64_t embedding, std::int64_t loss) {
    const std::int64_t parts = p_.pp * *p_.chunks, all = *run_.model.layers + embedding + loss;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(parts), all / parts);
    if (all % parts != 0 && !counts_ends())
      subject_.note(fmt::format("{} layers, embedding or head among them, do not divide over {} parts, which {} "
                                "refuses: the first ones get one more",
          all, parts, subject_.framework.name));
    for (std::int64_t i = 0; i < all % parts; ++i)
      ++counts[static_cast<std::size_t>(i + (lays_middle_first() ? 1 : 0))];
    counts.front() -= embedding;
    counts.back() -= loss;
    if (std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end()) return;
    subject_.out.layout = fmt::format("{}", fmt::join(counts, ","));
  }

 private:
  const LaunchSubject& subject_;
  LaunchAnswers& ask_;
  Run& run_;
  RunParallel& p_;
};

}  // namespace

void read_stages(const LaunchSubject& subject) {
  StagesReader reader(subject);
  reader.schedule();
  reader.layers();
}

}  // namespace stepcast::launch
