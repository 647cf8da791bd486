// The text of stepcast job.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/job/duration.h"
#include "studies/job/time_rows.h"
#include "studies/mixed/report.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"
#include "studies/whatif/whatif_report.h"

namespace stepcast::job {
namespace {

/// "-" where no lives were drawn.
template <typename Text> std::string range_text(const JobSpread& spread, const Percentiles& range, const Text& text) {
  if (spread.lives == 0) return "-";
  return fmt::format("{} to {}", text(range.p10), text(range.p90));
}
std::string seconds_text(double seconds) { return duration_text(Seconds(seconds)); }
std::string counted_text(double count) { return grouped_digits(std::round(count)); }

std::string token_text(double tokens) {
  const bool trillions = tokens >= 1e12;
  return fmt::format("{:.3g} {}", tokens / (trillions ? 1e12 : 1e9), trillions ? "T" : "B");
}

std::string title_of(const JobForecast& job, const Console& console) {
  return job.run.mixed ? mixed::mixed_title(*job.run.mixed, console) : run_title(job.run.scenario, console);
}

std::string length_text(const JobForecast& job) {
  return fmt::format(
      "{} steps of {}, {} tokens", grouped_digits(job.steps), format_seconds(job.base.step), token_text(job.tokens));
}

std::string head_table(const JobForecast& job, const JobWishes& wishes) {
  Table table({{""}, {"", Align::right}, {"10th to 90th percentile"}, {"by chance alone"}});
  const JobSpread& spread = job.spread;
  const sim::LifeTimes& life = job.expected;
  table.add({"Time to train", duration_text(life.whole()), range_text(spread, spread.wall_s, seconds_text),
      range_text(spread, spread.chance_wall_s, seconds_text)});
  table.add({"Goodput", format_percent(life.goodput()), range_text(spread, spread.goodput, format_percent),
      range_text(spread, spread.chance_goodput, format_percent)});
  table.add({"Failures", counted_text(life.failures), range_text(spread, spread.failures, counted_text),
      range_text(spread, spread.chance_failures, counted_text)});
  const double kwh = job.energy_j() / kwh_j, per_kwh = kwh / life.whole().value();
  const auto kwh_text = [small = kwh < 1e3](double value) {
    if (small && value < 10) return fmt::format("{:.3g} kWh", value);
    return fmt::format("{} {}", grouped_digits(std::round(small ? value : value / 1e3)), small ? "kWh" : "MWh");
  };
  if (job.watts > 0)
    table.add({"Energy", kwh_text(kwh),
        range_text(spread, spread.wall_s, [&](double wall) { return kwh_text(per_kwh * wall); }), ""});
  const double hours = job.paid_gpus() / hour_s;
  if (wishes.gpu_hour_price || wishes.kwh_price) {
    const double price = hours * wishes.gpu_hour_price.value_or(0) + per_kwh * wishes.kwh_price.value_or(0);
    const auto money = [price, small = price * life.whole().value() < 100](double wall) {
      const double cost = price * wall;
      if (!small) return grouped_digits(std::round(cost));
      return cost < 0.1 ? fmt::format("{:.2g}", cost) : fmt::format("{:.2f}", cost);
    };
    table.add({"Cost", money(life.whole().value()), range_text(spread, spread.wall_s, money), ""});
  }
  return table.text("");
}

std::string where_it_goes(const JobForecast& job) {
  Table table({{""}, {"time", Align::right}, {"share", Align::right}, {""}});
  for (const TimeRow& row : time_rows(job))
    table.add({(row.inside ? "- " : "") + row.name, duration_text(row.time),
        format_percent(row.time / job.expected.whole()), row.meaning});
  return table.text("  ");
}

std::string saves_text(const JobForecast& job) {
  const sim::LifeSettings& life = job.settings.life;
  const CheckpointSize& size = job.settings.checkpoint;
  std::string parts = fmt::format("{:.3g} bytes per parameter", size.weight + size.optimizer);
  if (size.asked) parts = "--checkpoint-bytes";
  else if (size.adapters) parts += " of the adapters, alone";
  else if (size.trained < size.written)
    parts = fmt::format("{:.3g} bytes per parameter and {:.3g} for each of {:.3g} billion that are trained",
        size.weight, size.optimizer, size.trained / 1e9);
  std::string text = fmt::format("  {} to storage ({}), at most {} of a GPU: written in {}, read in {}\n",
      format_bytes_decimal(size.all), parts, format_bytes_decimal(size.fullest_gpu),
      duration_text(job.settings.times.write), duration_text(job.settings.times.read));
  text += fmt::format("  every {}{}, {:.0f} steps; steps stand still for {}",
      duration_text(life.saves.interval * static_cast<double>(life.saves.per_stored)),
      job.settings.interval_asked ? " (asked for)" : "",
      std::max(1.0, std::round(life.saves.interval * static_cast<double>(life.saves.per_stored) / job.base.step)),
      duration_text(life.saves.store));
  if (life.saves.settle > Seconds()) text += fmt::format(", safe {} later", duration_text(life.saves.settle));
  text += "\n";
  if (life.failures.soft > 0)
    text += fmt::format("  in memory every {}, {} each: {} of failures restart from there\n",
        duration_text(life.saves.interval), duration_text(life.saves.keep), format_percent(life.failures.soft));
  Table table({{"best interval by"}, {"", Align::right}, {"steps", Align::right}, {"goodput", Align::right},
      {"formula"}, {"source"}});
  for (const LawAnswer& law : job.laws)
    table.add({std::string(law.name), duration_text(law.interval),
        fmt::format("{:.0f}", std::max(1.0, std::round(law.interval / job.base.step))), format_percent(law.goodput),
        std::string(law.formula), std::string(law.source) + (law.holds ? "" : ", outside its range")});
  text += table.text("  ");
  text += job.first_order
              ? fmt::format("  Meta's first-order formula (arXiv 2410.21680): {}\n", format_percent(*job.first_order))
              : fmt::format("  Meta's first-order formula is not for this: a failure's loss is {:.2g} of the time "
                            "between failures, at most {:g}\n",
                    job.first_order_loss, sim::FirstOrderGoodput::most_loss);
  return text;
}

std::string failures_text(const JobForecast& job) {
  const sim::FailureCosts& failures = job.settings.life.failures;
  const double count = job.expected.failures;
  std::string text = fmt::format("  every {}: {} to {} in this time (2 sigma of chance at this rate)\n",
      duration_text(failures.mean_between()), counted_text(std::max(0.0, count - 2 * std::sqrt(count))),
      counted_text(count + 2 * std::sqrt(count)));
  text += fmt::format("  found after {}, restarted {} later{}\n", duration_text(failures.detect),
      duration_text(failures.restart),
      failures.soft > 0 ? fmt::format(" ({} from memory)", duration_text(failures.soft_restart)) : "");
  text += fmt::format("  {:.3g} nodes are in repair in the mean, {} of {}\n", job.in_repair,
      format_percent(job.in_repair / static_cast<double>(job.base.nodes())),
      grouped_digits(static_cast<double>(job.base.nodes())));
  const auto& pool = job.settings.life.pool;
  text += pool ? fmt::format("  {} spares: {} of the time is lost to missing nodes; {} spares make it 0.1 %\n",
                     pool->spares, format_percent(job.waiting), job.enough_spares)
               : fmt::format("  {} spares are enough to wait for a node in 0.1 % of the time\n", job.enough_spares);
  return text;
}

std::string health_text(const std::vector<HealthFigure>& health, const Paint& paint) {
  Table table({{""}, {"", Align::right}, {""}, {"slow from"}, {"broken from"}});
  for (const HealthFigure& figure : health) {
    const char* side = figure.higher_is_better ? "below" : "above";
    const std::string word = to_text(figure.verdict());
    table.add({std::string(figure.name), fmt::format("{:.3g}", figure.value),
        figure.verdict() == HealthVerdict::healthy ? word : paint.bad(word), fmt::format("{} {:g}", side, figure.slow),
        fmt::format("{} {:g}", side, figure.broken)});
  }
  return table.text("  ");
}

std::string levers_text(const JobForecast& job) {
  if (job.levers.empty()) return "";
  Table table({{""}, {"goodput", Align::right}, {"time saved", Align::right}});
  const double now = job.expected.goodput();
  for (const JobLever& lever : job.levers)
    table.add(
        {lever.name, format_percent(lever.goodput), duration_text(job.expected.whole() * (1 - now / lever.goodput))});
  return table.text("  ");
}

std::string ten_text(const JobForecast& job) {
  if (!job.ten) return fmt::format("  not forecast: {}\n", job.ten.error().what);
  const TenTimes& ten = *job.ten;
  std::string text = fmt::format("  {} GPUs fail every {}; checkpoints every {}; goodput {}\n",
      grouped_digits(static_cast<double>(ten.gpus)), duration_text(ten.between_failures), duration_text(ten.interval),
      format_percent(ten.goodput));
  text += ten.step ? fmt::format("  steps of ten times the batch take {}", format_seconds(*ten.step))
                   : fmt::format("  the step is as it is, for there is none there: {}", ten.no_step);
  if (ten.same_batch)
    text += fmt::format("; those of the same batch {} where work is even", format_seconds(*ten.same_batch));
  text += "\n";
  for (const std::string& one : ten.breaks) text += paragraph(one, "  ", "    ", page_columns);
  return ten.breaks.empty() ? text + "  nothing of these breaks\n" : text;
}

}  // namespace

std::string job_text(const JobForecast& job, const JobWishes& wishes, const Console& console) {
  const Paint paint(console);
  std::string text = title_of(job, console) + length_text(job) + "\n\n";
  if (!job.never.empty()) {
    text += paint.bad("Goodput 0") + ": " + job.never + "\n";
  } else {
    text += head_table(job, wishes) + "\n" + paint.bold("Where the time goes") + "\n" + where_it_goes(job);
  }
  text += "\n" + paint.bold("Failures") + "\n" + failures_text(job);
  text += "\n" + paint.bold("Checkpoints") + "\n" + saves_text(job);
  text += "\n" + paint.bold("Health") + "\n" + health_text(job.health, paint);
  if (!job.levers.empty()) text += "\n" + paint.bold("What would help") + "\n" + levers_text(job);
  text += "\n" + paint.bold("On ten times the GPUs") + "\n" + ten_text(job);
  text += "\n" + paint.bold("Defaults and assumptions") + "\n";
  for (const std::string& note : job.notes) text += paragraph(note, "  ", "    ", page_columns);
  for (const std::string& warning : job.warnings)
    text += paragraph(warning, paint.warm("warning: "), "  ", page_columns);
  return text;
}

}  // namespace stepcast::job
