// Heads from src/transformers/models/<family>/modeling_<family>.py and modeling_layers.py of transformers.
#include "model/network/hf/other_heads.h"

#include <algorithm>
#include <string_view>

#include "model/network/hf/counting.h"
#include "model/network/hf/families/families.h"

namespace stepcast::detail {
namespace {

/// What the name of such a class ends in, and how many scores it has where the file does not say it; 0: none.
struct OtherHead {
  std::string_view end;
  Count labels;
};
constexpr OtherHead heads[] = {
    {"ForSequenceClassification", 2}, {"ForTokenClassification", 2}, {"ForQuestionAnswering", 2}, {"Model", 0}};

/// Which of them go through a matrix as wide as the stream first, by family of the class with a loss.
struct HeadMatrix {
  std::string_view family;
  bool sequence, token, model;
  bool normed = false;  ///< a norm in place of the matrix's bias
};
constexpr HeadMatrix matrices[] = {{"bert-masked", true, false, true}, {"roberta-masked", true, false, true},
    {"distilbert-masked", true, false, false}, {"deberta-model", true, false, false},
    {"modernbert", true, true, false, true}, {"esm", true, false, true}};

const OtherHead* head_of(const std::string& architecture) {
  const auto row = std::ranges::find_if(heads, [&](const OtherHead& head) { return architecture.ends_with(head.end); });
  return row == std::end(heads) ? nullptr : &*row;
}

const HeadMatrix* matrix_of(const HfFamily* family) {
  if (family == nullptr) return nullptr;
  const auto row = std::ranges::find(matrices, family->id, &HeadMatrix::family);
  return row == std::end(matrices) ? nullptr : &*row;
}

}  // namespace

const HfFamily* family_of_architecture(const std::string& architecture) {
  for (const HfFamily& family : hf_family_table())
    for (const char* name : family.architectures)
      if (architecture == name) return &family;
  return nullptr;
}

std::string class_with_loss(const std::string& architecture) {
  const OtherHead* head = head_of(architecture);
  if (head == nullptr || family_of_architecture(architecture) != nullptr) return architecture;
  const std::string base = architecture.substr(0, architecture.size() - head->end.size());
  for (const char* known : {"ForMaskedLM", "Model"})
    if (matrix_of(family_of_architecture(base + known)) != nullptr) return base + known;
  // encoders and decoders of words: the class without logits is that of all their layers
  const std::string translates = base + "ForConditionalGeneration";
  if (head->labels == 0 && family_of_architecture(base + "ForCausalLM") == nullptr &&
      family_of_architecture(translates) != nullptr)
    return translates;
  return base + "ForCausalLM";
}

void count_other_head(HfReader& reader, const std::string& architecture, const HfFamily& family) {
  const NetworkSpec& n = reader.spec;
  const OtherHead& head = *head_of(architecture);
  const bool sequence = &head == &heads[0], model = head.labels == 0;
  const Count labels = model ? 0 : reader.labels(head.labels);
  const HeadMatrix* row = matrix_of(&family);
  Count extra = 0;
  if (row == nullptr || n.masked_loss)
    extra -= (n.tied_embeddings ? 0 : n.vocab * n.hidden) + (n.head_bias ? n.vocab : 0);
  if (row != nullptr) {
    const Count matrix = row->normed ? n.hidden * n.hidden + n.hidden : linear(n.hidden, n.hidden);
    if (n.masked_loss) extra -= row->normed ? matrix : matrix + layernorm(n.hidden);
    if (sequence ? row->sequence : model ? row->model : row->token) extra += matrix;
  }
  // decoders score sequences without a bias
  if (!model) extra += linear(n.hidden, labels, row != nullptr || !sequence);
  if (!reader.missing.empty()) {
    if (!reader.counted.empty()) reader.counted.front().parameters += extra;
    return;
  }
  count_beside(reader, extra,
      n.masked_loss ? "a loss over words (architectures: a class that ends in ForMaskedLM has one)"
                    : "a loss over tokens (architectures: a class that ends in ForCausalLM has one)",
      n.masked_loss ? "two-sided attention, MLP" : "layers of its class");
}

}  // namespace stepcast::detail
