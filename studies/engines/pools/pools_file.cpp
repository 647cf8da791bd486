#include "studies/engines/pools/pools_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "model/base/contains.h"
#include "model/base/text.h"
#include "model/base/whole_number.h"
#include "studies/engines/pools/recipe_variants.h"

namespace stepcast::engines {
namespace {

/// Keys of a router, which say nothing of an engine, and values with which they leave forecasts alone; "": any.
struct RouterKey {
  std::string_view name, plain;
};
/// NVIDIA/TensorRT-LLM@0228a71223: tensorrt_llm/llmapi/disagg_utils.py, extract_disagg_cfg() and what it calls.
constexpr RouterKey router_keys[] = {{"hostname", ""}, {"port", ""}, {"max_retries", ""},
    {"perf_metrics_max_requests", ""}, {"return_perf_metrics", ""}, {"perf_metrics_output_dir", ""},
    {"otlp_config", ""}, {"node_id", ""}, {"allow_request_chat_template", ""}, {"gen_strip_message_history", ""},
    {"gen_tokids_ctxbytes", ""}, {"num_workers", ""}, {"disagg_coordinator_url", ""}, {"disagg_cluster", ""},
    {"schedule_style", "context_first"}, {"conditional_disagg_config", "0"}, {"num_instances", ""}, {"urls", ""},
    {"router", ""}};

struct PoolsForm {
  std::string_view program;                      ///< of engine_programs()
  std::string_view prompts, tokens;              ///< sections with their arguments
  std::string_view prompt_copies, token_copies;  ///< keys that say how many engines there are
  std::optional<std::int64_t> copies;            ///< where these say nothing
  std::string_view model, model_argument;
  std::span<const RouterKey> router;                  ///< not empty: all other keys outside the sections hold for both
  std::string_view whole = "", whole_copies = "";     ///< of engines that do both; "": there are none
  std::array<std::string_view, 3> environments = {};  ///< sections with variables, by PoolRole; "": there are none
  bool options = false;             ///< keys become options: false writes none, and "no-NAME: true" says no
  std::string_view precision = "";  ///< a key that tells the type of the checkpoint's weights; "": there is none
  bool drops_model = false;         ///< what a section says of the model never counts
};
constexpr std::array<std::string_view, 3> srt_environments = {
    "backend.aggregated_environment.", "backend.prefill_environment.", "backend.decode_environment."};
/// Where a recipe tells the GPUs of an engine, by PoolRole: themselves, or nodes and workers that share them
/// (NVIDIA/srt-slurm src/srtctl/core/schema.py, ResourceConfig).
struct WorkerGpus {
  std::string_view each, nodes, workers;
};
constexpr std::array<WorkerGpus, 3> srt_gpus = {
    {{"resources.gpus_per_agg", "resources.agg_nodes", "resources.agg_workers"},
        {"resources.gpus_per_prefill", "resources.prefill_nodes", "resources.prefill_workers"},
        {"resources.gpus_per_decode", "resources.decode_nodes", "resources.decode_workers"}}};
constexpr std::string_view prefill_workers = "resources.prefill_workers", decode_workers = "resources.decode_workers",
                           agg_workers = "resources.agg_workers", gpu_type = "resources.gpu_type";
/// GPUs of each node, in a recipe of srt-slurm and in the configuration of TensorRT-LLM's Slurm benchmark.
constexpr std::string_view node_gpus_keys[] = {"resources.gpus_per_node", "hardware.gpus_per_node"};
constexpr std::string_view srt_precision = "model.precision";
/// srt-slurm starts Dynamo's workers (src/srtctl/backends/vllm.py and sglang.py), which take the engine's options too.
constexpr PoolsForm forms[] = {
    {"trtllm-serve", "context_servers.", "generation_servers.", "context_servers.num_instances",
        "generation_servers.num_instances", 1, "model", "model", router_keys},
    // NVIDIA/TensorRT-LLM@03dd8e4d8c: examples/disaggregated/slurm/benchmark/config.yaml
    {"trtllm-serve", "worker_config.ctx.", "worker_config.gen.", "hardware.num_ctx_servers", "hardware.num_gen_servers",
        {}, "environment.model_path", "model", {}},
    // NVIDIA/srt-slurm: docs, "Configuration Reference"
    {"dynamo.sglang", "backend.sglang_config.prefill.", "backend.sglang_config.decode.", prefill_workers,
        decode_workers, {}, "model.path", "model_path", {}, "backend.sglang_config.aggregated.", agg_workers,
        srt_environments, true, srt_precision, true},
    {"trtllm-serve", "backend.trtllm_config.prefill.", "backend.trtllm_config.decode.", prefill_workers, decode_workers,
        {}, "model.path", "model", {}, "backend.trtllm_config.aggregated.", agg_workers, srt_environments, false,
        srt_precision},
    {"dynamo.vllm", "backend.vllm_config.prefill.", "backend.vllm_config.decode.", prefill_workers, decode_workers, {},
        "model.path", "model", {}, "backend.vllm_config.aggregated.", agg_workers, srt_environments, true,
        srt_precision}};

/// Where srt-slurm shows a container the folder of model.path (src/srtctl/core/runtime.py): it tells no other model.
bool is_mounted_model(std::string_view path) { return path == "/model" || path == "/model/"; }

bool has_section(const std::vector<GivenArgument>& all, std::string_view section) {
  return std::ranges::any_of(all, [&](const GivenArgument& one) { return one.name.starts_with(section); });
}

const GivenArgument* find(const std::vector<GivenArgument>& all, std::string_view name) {
  const auto found = std::ranges::find(all, name, &GivenArgument::name);
  return found == all.end() ? nullptr : &*found;
}

/// Of "router.type" the row of "router".
const RouterKey* router_key(const PoolsForm& form, std::string_view name) {
  const auto row = std::ranges::find(form.router, name.substr(0, name.find('.')), &RouterKey::name);
  return row == form.router.end() ? nullptr : &*row;
}

/// "[localhost:8001, localhost:8002]" or a list below each other.
std::vector<std::string> urls_of(const std::vector<GivenArgument>& all, std::string_view section) {
  std::vector<std::string> urls;
  const GivenArgument* told = find(all, std::string(section) + "urls");
  if (told == nullptr || told->value == "null") return urls;
  std::string word;
  for (const char c : told->value + ' ') {
    if (std::string_view("[], \"'\n").find(c) == std::string_view::npos) {
      word += c;
      continue;
    }
    if (!word.empty()) urls.push_back(std::move(word));
    word.clear();
  }
  return urls;
}

std::vector<std::string> ports_of(const std::vector<GivenArgument>& all, std::string_view section) {
  std::vector<std::string> ports;
  for (const std::string& url : urls_of(all, section))
    if (std::string port = port_of(url); !port.empty()) ports.push_back(std::move(port));
  return ports;
}

/// What a key and the keys below it are: "kv_cache_config" of a section "context_servers.", or of the top, "".
std::map<std::string, std::string> values_below(
    const std::vector<GivenArgument>& all, std::string_view section, std::string_view key) {
  std::map<std::string, std::string> values;
  for (const GivenArgument& one : all) {
    std::string_view name = one.name;
    if (!name.starts_with(section)) continue;
    name.remove_prefix(section.size());
    if (name == key || (name.starts_with(key) && name[key.size()] == '.')) values[std::string(name)] = one.value;
  }
  return values;
}

class PoolsReader {
 public:
  PoolsReader(const PoolsForm& form, const std::vector<GivenArgument>& all, const std::string& where)
      : form_(form), all_(all), where_(where) {}

  EngineLine line_of(PoolRole role) const {
    const bool reads = role == PoolRole::prompts, whole = role == PoolRole::whole;
    const std::string_view section = whole ? form_.whole : reads ? form_.prompts : form_.tokens;
    EngineLine line;
    line.program = &*std::ranges::find(engine_programs(), form_.program, &EngineProgram::words);
    line.where = where_, line.role = role;
    line.part = section.substr(0, section.size() - 1);
    for (const GivenArgument& one : all_) {
      if (one.name.starts_with(section) && line.line == 0) line.line = one.line;
      take(one, section, line);
      const std::string_view variables = form_.environments[static_cast<std::size_t>(role)];
      if (!variables.empty() && one.name.starts_with(variables))
        line.environment[one.name.substr(variables.size())] = one.value;
    }
    if (const GivenArgument* precision = form_.precision.empty() ? nullptr : find(all_, form_.precision))
      line.precision = lower_case(precision->value);
    if (const GivenArgument* kind = find(all_, gpu_type)) {  // srt-slurm alone has it
      line.host.kind = kind->value, line.host.count = gpus_of(srt_gpus[static_cast<std::size_t>(role)]);
      line.holds_all = line.host.count > 0;
    }
    for (const std::string_view key : node_gpus_keys)
      if (const GivenArgument* of_node = find(all_, key))
        line.host.node = std::max<std::int64_t>(0, parsed_number<std::int64_t>(of_node->value).value_or(0));
    count(whole ? form_.whole_copies : reads ? form_.prompt_copies : form_.token_copies, line);
    check_urls(section, line);
    return line;
  }

 private:
  [[nodiscard]] std::int64_t number(std::string_view name) const {
    const GivenArgument* told = find(all_, name);
    return told == nullptr ? 0 : std::max<std::int64_t>(0, parsed_number<std::int64_t>(told->value).value_or(0));
  }
  /// 0: the recipe does not tell it in numbers, or pools share nodes.
  [[nodiscard]] std::int64_t gpus_of(const WorkerGpus& keys) const {
    if (const std::int64_t each = number(keys.each); each > 0) return each;
    const std::int64_t nodes = number(keys.nodes), workers = number(keys.workers);
    return nodes > 0 && workers > 0 && nodes <= most_engines ? nodes * number("resources.gpus_per_node") / workers : 0;
  }

  /// As the command line has it that is written of such keys. Nothing: it writes none.
  static bool as_option(GivenArgument& given) {
    const std::string value = lower_case(given.value);
    if (value == "false") return false;
    if (value == "true" && given.name.starts_with("no_")) given.name.erase(0, 3), given.value = "false";
    return true;
  }

  void take(const GivenArgument& one, std::string_view section, EngineLine& line) const {
    GivenArgument given = one;
    given.spelled = one.name;
    const bool inside = one.name.starts_with(section);
    if (inside) given.name = one.name.substr(section.size());
    else if (one.name == form_.model) given.name = form_.model_argument;
    else if (form_.router.empty() || one.name.starts_with(form_.prompts) || one.name.starts_with(form_.tokens)) return;
    if (const RouterKey* key = router_key(form_, given.name)) {
      if (!key->plain.empty() && one.value != key->plain)
        line.unfollowed.push_back(
            fmt::format("{}:{} {} {:.40} is not followed", where_, one.line, one.name, one.value));
      return;
    }
    if (inside && argument_name(given.name) == form_.model_argument && !form_.precision.empty() &&
        (form_.drops_model || is_mounted_model(given.value)))
      return;
    // src/srtctl/core/runtime.py: a name on the hub
    if (one.name == form_.model && !form_.precision.empty() && given.value.starts_with("hf:")) given.value.erase(0, 3);
    if (!inside) check_top(one, section, line);
    given.name = argument_name(given.name);
    if (!form_.options || as_option(given)) line.given.push_back(std::move(given));
  }

  /// What the top and a section say must be the same, for TensorRT-LLM refuses the file otherwise.
  void check_top(const GivenArgument& one, std::string_view section, EngineLine& line) const {
    if (form_.router.empty()) return;
    const std::string_view key = std::string_view(one.name).substr(0, one.name.find('.'));
    const auto own = values_below(all_, section, key);
    if (own.empty() || own == values_below(all_, "", key)) return;
    std::string what =
        fmt::format("{}:{} {} and {}{} differ, which TensorRT-LLM refuses", where_, one.line, key, section, key);
    if (!contains(line.unfollowed, what)) line.unfollowed.push_back(std::move(what));
  }

  /// Each engine has its address, or the file is refused as well.
  void check_urls(std::string_view section, EngineLine& line) const {
    const auto urls = static_cast<std::int64_t>(urls_of(all_, section).size());
    if (form_.router.empty() || urls == 0 || urls == line.copies || !line.open_copies.empty()) return;
    line.unfollowed.push_back(
        fmt::format("{}:{} addresses in {}urls: {}, and engines: {}", where_, line.line, section, urls, line.copies));
  }

  void count(std::string_view key, EngineLine& line) const {
    const GivenArgument* told = find(all_, key);
    if (has_section(all_, "disagg_cluster.")) {
      line.open_copies = fmt::format("how many engines of {} join the cluster is not told", line.part);
    } else if (told == nullptr) {
      if (!form_.copies) line.open_copies = fmt::format("{} is not told", key);
      line.copies = form_.copies.value_or(1);
    } else {
      const auto number = number_of_engines(told->value);
      if (!number || *number < 1)
        line.open_copies =
            fmt::format("{}:{} {} '{:.40}' is no number of engines", where_, told->line, key, told->value);
      line.copies = number && *number > 0 ? *number : 1;
    }
  }

  const PoolsForm& form_;
  const std::vector<GivenArgument>& all_;
  const std::string& where_;
};

/// The last name of a section: where a line begins with it.
bool has_key(const std::string& text, std::string_view section) {
  section.remove_suffix(1);
  const std::string key = std::string(section.substr(section.rfind('.') + 1)) + ":";
  for (std::size_t at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    const std::size_t line = text.find_last_not_of(' ', at == 0 ? 0 : at - 1);
    if (at == 0 || line == text.npos || text[line] == '\n') return true;
  }
  return false;
}

bool has_whole(const std::vector<GivenArgument>& all, const PoolsForm& form) {
  return !form.whole.empty() && has_section(all, form.whole);
}

const PoolsForm* form_of(const std::vector<GivenArgument>& all) {
  const auto form = std::ranges::find_if(forms, [&](const PoolsForm& one) {
    return (has_section(all, one.prompts) && has_section(all, one.tokens)) || has_whole(all, one);
  });
  return form == std::end(forms) ? nullptr : &*form;
}

}  // namespace

bool looks_like_pools_file(const std::string& text) {
  const bool named = std::ranges::any_of(forms, [&](const PoolsForm& form) {
    return (has_key(text, form.prompts) && has_key(text, form.tokens)) ||
           (!form.whole.empty() && has_key(text, form.whole));
  });
  if (!named) return false;
  const auto all = calibrate::read_config_arguments(text, "");
  return all && form_of(without_variants(*all)) != nullptr;
}

const ShellWord* pools_file_word(const EngineLine& line) {
  constexpr std::string_view options[] = {"-c", "--config_file"};
  for (std::size_t at = 0; at + 1 < line.words.size(); ++at)
    if (contains(options, std::string_view(line.words[at].text))) return &line.words[at + 1];
  return nullptr;
}

Expected<PoolsFile> read_pools_file(const std::string& text, const std::string& where, std::string_view variant) {
  TRY(const auto all, recipe_arguments(text, where, variant));
  const PoolsForm* form = form_of(all);
  if (form == nullptr)
    return fail(where, "it has no sections for prompts and for tokens", "context_servers and generation_servers");
  PoolsFile out;
  const PoolsReader reader(*form, all, where);
  if (has_whole(all, *form)) out.lines.push_back(reader.line_of(PoolRole::whole));
  else
    for (const PoolRole role : {PoolRole::prompts, PoolRole::tokens}) out.lines.push_back(reader.line_of(role));
  out.ports = {ports_of(all, form->prompts), ports_of(all, form->tokens)};
  return out;
}

}  // namespace stepcast::engines
