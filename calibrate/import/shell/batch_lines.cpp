// What a batch system tells a script: header lines of Slurm and PBS, and the options of srun, as the variables that
// jobs find set.
#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "calibrate/import/shell/reader.h"
#include "calibrate/import/tables/plain_words.h"
#include "model/base/text.h"

namespace stepcast::calibrate {
namespace {

/// What Slurm tells a job of its header. `sign` sets off the kind of GPU: gpu:8, gpu:h100:8.
struct BatchVariable {
  std::string_view option, variable;
};
constexpr BatchVariable batch_variables[] = {{"nodes", "SLURM_NNODES"}, {"nodes", "SLURM_JOB_NUM_NODES"},
    {"N", "SLURM_NNODES"}, {"N", "SLURM_JOB_NUM_NODES"}, {"ntasks-per-node", "SLURM_NTASKS_PER_NODE"},
    {"ntasks", "SLURM_NTASKS"}, {"ntasks", "SLURM_NPROCS"}, {"n", "SLURM_NTASKS"}, {"n", "SLURM_NPROCS"},
    {"gpus-per-node", "SLURM_GPUS_PER_NODE"}, {"gpus-per-node", "SLURM_GPUS_ON_NODE"}, {"gres", "SLURM_GPUS_ON_NODE"}};

/// A batch system's sign of a header line. `ends`: it reads none behind the first command (man sbatch: "will stop
/// processing further #SBATCH directives once the first non-comment non-whitespace line has been reached"; OpenPBS, man
/// qsub, says the same of #PBS).
struct HeaderSign {
  std::string_view sign;
  bool ends, chunks;
};
constexpr HeaderSign header_signs[] = {{"#SBATCH", true, false}, {"#PBS", true, true}, {"#BSUB", false, true},
    {"#COBALT", true, true}, {"#flux:", true, true}, {"# flux:", true, true}};

/// What other batch systems call Slurm's options (man bsub; docs.alcf.anl.gov, Cobalt's qsub; Flux RFC 36 and
/// flux-batch(1)). LSF's -n counts slots, that is cores, which tell no ranks.
struct BatchOption {
  std::string_view sign, option, slurm;
};
constexpr BatchOption batch_options[] = {{"#BSUB", "nnodes", "nodes"}, {"#COBALT", "n", "nodes"},
    {"#COBALT", "nodecount", "nodes"}, {"flux:", "N", "nodes"}, {"flux:", "nodes", "nodes"}, {"flux:", "n", "ntasks"},
    {"flux:", "nslots", "ntasks"}, {"flux:", "ntasks", "ntasks"}, {"flux:", "tasks-per-node", "ntasks-per-node"},
    {"flux:", "gpus-per-node", "gpus-per-node"}};

/// Of "#COBALT -n 64" and "#flux: --nodes=64 -n 512": what Slurm calls the option, and its text.
std::vector<std::pair<std::string_view, std::string_view>> counted_options(std::string_view plain) {
  std::vector<std::pair<std::string_view, std::string_view>> found;
  for (std::string_view rest = plain; !rest.empty();) {
    const std::string_view word = first_token(rest);
    rest = stripped(rest.substr(word.size()));
    const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size()),
                      equals = std::min(word.find('='), word.size());
    if (dashes == 0 || dashes == word.size()) continue;
    for (const BatchOption& row : batch_options) {
      const std::string_view name = word.substr(dashes, equals - dashes);
      const bool glued = dashes == 1 && row.option.size() == 1 && name.starts_with(row.option) && name != row.option;
      if (plain.find(row.sign) > 2 || (name != row.option && !glued)) continue;
      found.emplace_back(row.slurm, glued                  ? name.substr(1)
                                    : equals < word.size() ? word.substr(equals + 1)
                                                           : first_token(rest));
    }
  }
  return found;
}

/// The digits behind `name`, wherever it stands: "8" of "ptile=8]" and of "num=8:mode=shared".
std::string_view digits_behind(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == text.npos) return {};
  text.remove_prefix(at + name.size());
  return text.substr(0, text.find_first_not_of("0123456789"));
}

}  // namespace

void ShellReader::take_header(std::string_view plain, std::size_t line) {
  const auto row = std::ranges::find_if(
      header_signs, [&](const HeaderSign& candidate) { return plain.starts_with(candidate.sign); });
  if (row == std::end(header_signs)) return;
  if (row->ends && heads_job_ == Header::passed) {
    ShellCommand late{line, {{"#SBATCH", line, {}, false}}, {}, {}, {}};
    late.notes.push_back(fmt::format(
        "the {} in line {} stands behind the first command: the batch system does not read it", row->sign, line));
    out_.commands.push_back(std::move(late));
  } else if (row->chunks) {
    take_chunks(plain, line);
  } else {
    take_batch(plain, line);
  }
}

void ShellReader::take_batch(std::string_view plain, std::size_t line) {
  ShellWords words(ShellSource(plain.substr(1), line), &variables_);
  ShellCommand command{line, {{"#SBATCH", line, {}, false}}, {}, {}, {}};
  while (words.next()) command.words.push_back(plain_word(words.word(), true));
  if (command.words.size() < 2) return;
  command.words.erase(command.words.begin() + 1);
  set_batch_variables(command.words, command.words.size(), line);
  out_.commands.push_back(std::move(command));
}

bool has_header(std::string_view text) {
  return std::ranges::any_of(header_signs, [&](const HeaderSign& row) { return text.find(row.sign) != text.npos; });
}

/// LSF's "-n 64" counts slots of all nodes and "-R span[ptile=8]" those of each (man bsub); "" until both are known.
std::string ShellReader::nodes_of_slots(std::string_view plain) {
  const auto count = [](std::string_view digits) {
    std::int64_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
  };
  constexpr std::string_view slots = "-n ", tile = "ptile=";
  const bool told = plain.find(' ' + std::string(slots)) != plain.npos, tiled = plain.find(tile) != plain.npos;
  if (told) slots_ = count(digits_behind(plain, ' ' + std::string(slots)));
  if (tiled) node_slots_ = count(digits_behind(plain, tile));
  if ((!told && !tiled) || slots_ <= 0 || node_slots_ <= 0) return "";
  return std::to_string((slots_ + node_slots_ - 1) / node_slots_);  // the last may have fewer
}

/// "#PBS -l select=16:ncpus=96:ngpus=8", "#PBS -l nodes=4:ppn=8:gpus=8", "#BSUB -nnodes 64" and their like in the words
/// of Slurm. Chunks of several kinds, and more than one to a node, are left alone.
void ShellReader::take_chunks(std::string_view plain, std::size_t line) {
  ShellCommand command{line, {{"#SBATCH", line, {}, false}}, {}, {}, {}};
  const auto put = [&](std::string_view option, std::string_view count) {
    if (!count.empty() && count.find_first_not_of("0123456789") == count.npos)
      command.words.push_back({fmt::format("--{}={}", option, count), line, {}, false});
  };
  for (const auto& [option, count] : counted_options(plain)) put(option, count);
  if (plain.starts_with("#BSUB"))
    put("gpus-per-node", digits_behind(plain, "num=")), put("nodes", nodes_of_slots(plain));
  if (const std::size_t nodes = plain.find("nodes="); plain.starts_with("#PBS") && nodes != plain.npos) {
    const std::string_view chunk = first_token(plain.substr(nodes));
    if (chunk.find('+') != chunk.npos) return;
    put("nodes", digits_behind(chunk, "nodes="));
    put("gpus-per-node", digits_behind(chunk, ":gpus="));
  }
  if (const std::size_t select = plain.find("select="); plain.starts_with("#PBS") && select != plain.npos) {
    std::string_view chunk = first_token(plain.substr(select + 7));
    chunk = chunk.substr(0, chunk.find(','));
    if (chunk.find('+') != chunk.npos) return;
    const std::size_t gpus = chunk.find(":ngpus=");
    const std::string_view count =
        gpus == chunk.npos ? "" : chunk.substr(gpus + 7, chunk.find(':', gpus + 7) - gpus - 7);
    if (count == "1" || count == "2") return;
    put("nodes", chunk.substr(0, chunk.find(':')));
    put("ntasks-per-node", count);
  }
  if (command.words.size() > 1) out_.commands.push_back(std::move(command));
}

/// What Slurm tells the commands behind the options words[1] to words[end - 1]; -N2 becomes two words.
void ShellReader::set_batch_variables(std::vector<ShellWord>& words, std::size_t end, std::size_t line) {
  for (std::size_t i = 1; i < end; ++i)
    if (const std::size_t value = glued_value(words[i].text); value > 0) {
      ShellWord number = words[i];
      number.text = number.text.substr(value);
      words[i].text.resize(value);
      words.insert(words.begin() + static_cast<std::ptrdiff_t>(++i), std::move(number));
      ++end;
    }
  for (std::size_t i = 1; i < end; ++i) {
    const std::string& word = words[i].text;
    const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size()),
                      equals = std::min(word.find('='), word.size());
    std::string value = equals < word.size() ? word.substr(equals + 1) : i + 1 < end ? words[i + 1].text : "";
    value = value.substr(value.rfind(':') + 1);
    for (const BatchVariable& row : batch_variables)
      if (dashes > 0 && word.substr(dashes, equals - dashes) == row.option) set_plain(row.variable, value, line);
  }
}

void ShellReader::set_plain(std::string_view name, std::string_view text, std::size_t line) {
  ShellText value;
  value.put(text, line);
  variables_.set(std::string(name), ShellValue{{value}, false, line, 0, {}});
}

}  // namespace stepcast::calibrate
