#include <fmt/format.h>

#include "model/base/quantity_text.h"
#include "studies/print/digits.h"
#include "studies/print/paint.h"
#include "studies/print/table.h"
#include "studies/print/terminal_plot.h"
#include "studies/scale/migrate.h"

namespace stepcast::scale {
namespace {

std::string rung_cell(const SizeOnPath& size, int rung, const Paint& paint) {
  const RungRun& run = size.rungs[rung];
  if (!run.outcome) return paint.dim(run.offered ? to_text(run.binds) : "-");
  if (!run.outcome->fits) return paint.bad("memory");
  std::string text = fmt::format("{} {}", format_percent(run.mfu), to_text(run.binds));
  return rung == size.best ? paint.bold("*" + text) : text;
}

std::string size_label(const SizeOnPath& size) { return grouped_digits(static_cast<double>(size.gpus)); }

std::string sizes_table(const Migration& path, const Paint& paint) {
  std::vector<Table::Column> columns = {{"network"}, {"GPUs", Align::right}, {"batch", Align::right}};
  for (const Rung& rung : rungs()) columns.push_back({std::string(rung.name)});
  for (const char* more : {"best plan", "step"}) columns.push_back({more});
  Table table(columns);
  for (const SizeOnPath& size : path.sizes) {
    std::vector<std::string> cells = {
        size.network, size_label(size), grouped_digits(static_cast<double>(size.global_batch))};
    for (std::size_t rung = 0; rung < rungs().size(); ++rung)
      cells.push_back(rung_cell(size, static_cast<int>(rung), paint));
    cells.push_back(size.best < 0 ? "none" : size.rungs[size.best].plan);
    cells.push_back(size.best < 0 ? "" : format_seconds(size.rungs[size.best].outcome->step_time));
    table.add(std::move(cells));
  }
  return table.text("  ");
}

/// Why the old way is the slower one, or cannot run.
std::string binding_text(const RungRun& run) {
  return run.why.empty() ? to_text(run.binds) : fmt::format("{}, {}", to_text(run.binds), run.why);
}

std::string turn_line(const Migration& path, const TurnOfPath& turn) {
  const SizeOnPath& size = path.sizes[turn.size];
  const std::string at = fmt::format("{} on {} GPUs", size.network, size_label(size));
  const std::string to(rungs()[turn.to].name);
  if (turn.from < 0) return fmt::format("{}: {} is the first that runs", at, to);
  const RungRun& old = size.rungs[turn.from];
  const std::string from(rungs()[turn.from].name);
  if (turn.faster == 0) return fmt::format("{}: {}, for {} cannot run ({})", at, to, from, binding_text(old));
  return fmt::format(
      "{}: {} is {} faster than {} ({})", at, to, format_percent(turn.faster - 1), from, binding_text(old));
}

std::string plot_gpus(double value) { return grouped_digits(value); }
std::string plot_mfu(double value) { return fmt::format("{:.3g} %", value); }

/// MFU of each rung over GPUs, of the first network.
std::string mfu_plot(const Migration& path, const Console& console) {
  constexpr char marks[] = {'d', 'f', 'h', 't', 'p'};
  LogPlot plot{"GPUs", plot_gpus, plot_mfu, {}};
  for (std::size_t rung = 0; rung < rungs().size(); ++rung) {
    PlotLine line{std::string(rungs()[rung].name), {}, static_cast<int>(rung), marks[rung]};
    for (const SizeOnPath& size : path.sizes)
      if (size.network == path.sizes.front().network && size.rungs[rung].works())
        line.points.emplace_back(static_cast<double>(size.gpus), 100 * size.rungs[rung].mfu);
    if (line.points.size() > 1) plot.lines.push_back(std::move(line));
  }
  const std::string text = plot.lines.empty() ? "" : plot_text(plot, console);
  return text.empty() ? text : "\nMFU of each way over GPUs\n" + text;
}

}  // namespace

std::vector<std::string> path_lines(const Migration& path) {
  std::vector<std::string> lines;
  const SizeOnPath& first = path.sizes.front();
  if (first.best >= 0)
    lines.push_back(fmt::format("{} on {} GPUs: {}", first.network, size_label(first), rungs()[first.best].name));
  for (const TurnOfPath& turn : path.turns) lines.push_back(turn_line(path, turn));
  if (path.turns.empty()) lines.emplace_back("no other way pays at any size");
  return lines;
}

std::string migration_text(const Migration& path, const Request& request, const Console& console) {
  const Paint paint(console);
  std::string text = fmt::format("{}  {}\n", paint.bold("When to change the sharding, on " + request.machine->row.name),
      paint.dim(path.scaling == Scaling::strong ? "the global batch stays" : "the global batch grows with the GPUs"));
  text += paragraph(
      "MFU and what binds: memory, links (time that communication shows), bubble, optimizer, batch (too small for "
      "so many ranks), split (does not divide), compute (none takes 5 %); * the fastest, the plainer one within 2 %",
      "  ", "  ", page_columns);
  text += "\n" + sizes_table(path, paint) + fmt::format("\n{}\n", paint.bold("The path"));
  for (const std::string& line : path_lines(path)) text += paragraph(line, "  ", "    ", page_columns);
  return text + mfu_plot(path, console);
}

std::string migration_json(const Migration& path) {
  JsonWriter json;
  json.open();
  json.field("scaling", path.scaling == Scaling::strong ? "strong" : "weak");
  json.list("sizes", path.sizes, [&](const SizeOnPath& size) {
    json.fields("network", size.network, "gpus", size.gpus, "global_batch", size.global_batch);
    if (size.best < 0) json.null_field("best");
    else json.field("best", rungs()[size.best].id);
    json.open_list("rungs");
    for (std::size_t rung = 0; rung < size.rungs.size(); ++rung) {
      const RungRun& run = size.rungs[rung];
      json.open();
      json.fields("id", rungs()[rung].id, "works", run.works(), "binds", to_text(run.binds), "why", run.why);
      if (run.outcome) {
        json.field("plan", run.plan);
        json.base_fields("step_time_s", run.outcome->step_time, "memory_peak_bytes", run.outcome->memory);
        json.field("mfu", run.mfu);
      }
      json.close();
    }
    json.close();
  });
  json.list("turns", path.turns, [&](const TurnOfPath& turn) {
    const SizeOnPath& size = path.sizes[turn.size];
    json.fields("network", size.network, "gpus", size.gpus, "to", rungs()[turn.to].id);
    if (turn.from >= 0) json.fields("from", rungs()[turn.from].id, "faster", turn.faster);
  });
  json.close();
  return json.text();
}

}  // namespace stepcast::scale
