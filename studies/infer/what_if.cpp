#include "studies/infer/what_if.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/json_writer.h"
#include "model/base/quantity_text.h"
#include "model/catalog.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"

namespace stepcast::infer {
namespace {

constexpr double factor = 2;
constexpr double nothing = 1e-6;  // of a share: as good as the same

ChangedAnswer told(std::string change, const Asked& asked, const Answer& answer) {
  return {std::move(change), answer.phase.time, words_per_gpu(asked, answer), words_per_user(asked, answer.phase),
      answer.room.sequences};
}

Serving with_faster_host(Serving serving) {
  for (Engine::Tuning& tuning : serving.engine.tunings)
    for (Seconds* cost : {&tuning.host_per_launch, &tuning.host_per_iteration, &tuning.host_per_sequence})
      *cost = *cost / factor;
  if (serving.drafter) serving.drafter = std::make_shared<const Serving>(with_faster_host(*serving.drafter));
  return serving;
}

/// Another question and what it changes.
struct Neighbour {
  std::string change;
  Asked asked;
};

std::vector<Neighbour> split_neighbours(const Asked& asked, const ServingWishes& now) {
  struct Count {
    const char* name;
    std::int64_t ServingWishes::*value;
  };
  constexpr Count counts[] = {{"tp", &ServingWishes::tp}, {"pp", &ServingWishes::pp}, {"ep", &ServingWishes::ep},
      {"dp-attention", &ServingWishes::attention_dp}, {"cp", &ServingWishes::cp}, {"dcp", &ServingWishes::dcp}};
  std::vector<Neighbour> out;
  const auto add = [&](const Count& count, std::int64_t value) {
    Neighbour other{fmt::format("--{} {}", count.name, value), asked};
    other.asked.wishes = now;
    other.asked.wishes.*count.value = value;
    if (count.value == &ServingWishes::pp) other.asked.wishes.layout.clear();
    out.push_back(std::move(other));
  };
  const auto usual = [](const ServingWishes& wishes, const Count& count) { return wishes.*count.value == 1; };
  for (const Count& count : counts) {
    const std::int64_t value = now.*count.value;
    // Networks without experts have neither of these; nobody asks for them there.
    const bool of_experts = count.value == &ServingWishes::ep || count.value == &ServingWishes::attention_dp;
    const bool of_context = count.value == &ServingWishes::cp || count.value == &ServingWishes::dcp;
    if (of_context && usual(now, count)) continue;
    if (of_experts && usual(now, count) && now.ep == 1 && now.attention_dp == 1) continue;
    if (value % 2 == 0) add(count, value / 2);
    add(count, value * 2);
  }
  return out;
}

std::vector<Neighbour> neighbours_of(const Asked& asked, const Answer& answer) {
  ServingWishes now = asked.wishes;
  now.gpus = 0;  // they follow from the split
  std::vector<Neighbour> out;
  if (now.mapping.text.empty()) {
    now.tp = answer.serving.tensor_ways;
    out = split_neighbours(asked, now);
  }
  const auto add = [&](std::string change, const auto& set) {
    Neighbour other{std::move(change), asked};
    other.asked.wishes = now;
    set(other.asked);
    out.push_back(std::move(other));
  };
  if (asked.batch % 2 == 0) add(fmt::format("--batch {}", asked.batch / 2), [](Asked& other) { other.batch /= 2; });
  add(fmt::format("--batch {}", asked.batch * 2), [](Asked& other) { other.batch *= 2; });
  if (answer.serving.types.weight_bytes > 1)
    for (const char* type : {"fp8", "int4"})
      add(fmt::format("--weights {}", type), [&](Asked& other) { other.wishes.weights = type; });
  if (answer.serving.types.products != Precision::nvfp4 &&
      answer.serving.machine().gpu.peak[static_cast<int>(Precision::nvfp4)].value() > 0)
    add("--weights nvfp4", [](Asked& other) { other.wishes.weights = "nvfp4"; });
  if (answer.serving.cache_element_bytes > 1) add("--kv fp8", [](Asked& other) { other.wishes.cache = "fp8"; });
  for (const Engine& engine : built_in().engines)
    if (engine.until.empty() && engine.id != answer.serving.engine.id)
      add(fmt::format("--engine {}", engine.id),
          [&](Asked& other) { other.wishes.engine = engine.id, other.wishes.row = nullptr; });
  return out;
}

double effect(const ChangedAnswer& change, const ChangedAnswer& as_asked) {
  return change.words_per_gpu / as_asked.words_per_gpu - 1;
}

}  // namespace

/// Laws of kernels stand in the scenario while a lever of the machine is moved.
Serving with_lever(Serving serving, const whatif::MachineLever& lever, double times) {
  serving.scenario.profile.row = *serving.profile;
  lever.scale(serving.scenario, times);
  serving.profile = std::make_shared<const Profile>(serving.scenario.profile.row);
  if (serving.drafter) serving.drafter = std::make_shared<const Serving>(with_lever(*serving.drafter, lever, times));
  return serving;
}

WhatIf what_if(const Asked& asked, const Answer& answer) {
  WhatIf study;
  study.as_asked = told("as asked", asked, answer);
  const auto keep = [&](ChangedAnswer change) {
    const bool same = std::abs(effect(change, study.as_asked)) < nothing &&
                      std::abs(change.time / study.as_asked.time - 1) < nothing &&
                      change.sequences == study.as_asked.sequences;
    if (same) study.idle.push_back(std::move(change.change));
    else study.changes.push_back(std::move(change));
  };
  const auto forecast_again = [&](std::string change, Serving serving) {
    Answer other{std::move(serving), {}, {}, {}};
    other.room = capacity(other.serving, held_of(asked));
    other.phase = phase_of(other.serving, asked);
    keep(told(std::move(change), asked, other));
  };
  Scenario scenario = answer.serving.scenario;
  scenario.profile.row = *answer.serving.profile;
  for (const whatif::MachineLever& lever : whatif::machine_levers(scenario)) {
    if (lever.of_software) continue;
    const double times = lever.more_is_faster ? factor : 1 / factor;
    forecast_again(fmt::format("{} {}x", lever.id, times), with_lever(answer.serving, lever, times));
  }
  forecast_again(fmt::format("host {}x", 1 / factor), with_faster_host(answer.serving));
  for (const Neighbour& other : neighbours_of(asked, answer)) {
    const auto made = answer_to(other.asked);
    if (made) keep(told(other.change, other.asked, *made));
    else study.refused.push_back({other.change, made.error().what});
  }
  std::ranges::stable_sort(study.changes, std::greater{},
      [&](const ChangedAnswer& change) { return std::abs(effect(change, study.as_asked)); });
  return study;
}

std::string what_if_text(const WhatIf& study, const Console& console) {
  const print::Paint paint(console);
  print::Table table({{"change"}, {"time", print::Align::right}, {"tokens/s/GPU", print::Align::right},
      {"", print::Align::right}, {"tokens/s/user", print::Align::right}, {"sequences", print::Align::right}});
  const auto add = [&](const ChangedAnswer& row, const std::string& share) {
    table.add({row.change, format_seconds(row.time), print::grouped_digits(row.words_per_gpu), share,
        row.words_per_user ? fmt::format("{:.1f}", *row.words_per_user) : "-",
        print::grouped_digits(static_cast<double>(row.sequences))});
  };
  add(study.as_asked, "");
  for (const ChangedAnswer& row : study.changes) add(row, fmt::format("{:+.1f} %", 100 * effect(row, study.as_asked)));
  std::string text = fmt::format("{}\n{}", paint.bold("What if"), table.text(""));
  if (!study.idle.empty()) text += fmt::format("\nChange nothing  {}\n", fmt::join(study.idle, ", "));
  if (!study.refused.empty()) text += "\nCannot run\n";
  for (const RefusedChange& row : study.refused) text += fmt::format("  {}: {}\n", row.change, row.reason);
  return text;
}

std::string what_if_json(const WhatIf& study) {
  JsonWriter json;
  const auto put = [&](const ChangedAnswer& row) {
    json.fields("change", row.change);
    json.base_field("time_s", row.time);
    json.fields("tokens_per_s_per_gpu", row.words_per_gpu, "sequences", static_cast<double>(row.sequences));
    if (row.words_per_user) json.field("tokens_per_s_per_user", *row.words_per_user);
    json.close();
  };
  json.open();
  json.open("as_asked");
  put(study.as_asked);
  json.open_list("changes");
  for (const ChangedAnswer& row : study.changes) json.open(), put(row);
  json.close();
  json.field("change_nothing", study.idle);
  json.open_list("cannot_run");
  for (const RefusedChange& row : study.refused) {
    json.open();
    json.fields("change", row.change, "reason", row.reason);
    json.close();
  }
  json.close();
  json.close();
  return json.text() + "\n";
}

}  // namespace stepcast::infer
