// Internal to hf: classes that have the layers of another class and a head of another kind, or none.
#pragma once

#include <string>

#include "model/network/hf/reader.h"

namespace stepcast::detail {

/// The class with the same layers and a loss over tokens: "BertModel" gives BertForMaskedLM. The name itself where it
/// is none of those.
std::string class_with_loss(const std::string& architecture);

/// The family whose table names the class; nullptr: none.
const HfFamily* family_of_architecture(const std::string& architecture);

/// Counts what such a class has in place of the loss that `family` describes; it is not forecast, for its file tells of
/// no loss.
void count_other_head(HfReader& reader, const std::string& architecture, const HfFamily& family);

}  // namespace stepcast::detail
