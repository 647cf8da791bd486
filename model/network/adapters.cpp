#include "model/network/adapters.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/base/comma_list.h"

namespace stepcast {
namespace {

constexpr std::string_view projections[] = {"q", "k", "v", "out", "gate", "up", "down"};

/// What the builder calls the products of a projection, the first that is in the name: latents of attention belong to
/// what is made of them, and the gate of attention to its queries.
struct NamedProduct {
  std::string_view tag, part;
  std::uint8_t bits;
};
constexpr NamedProduct products[] = {{"attn.qkv", "ckv", 6}, {"attn.qkv", "kr", 6}, {"attn.qkv", "cq", 1},
    {"attn.qkv", "Q", 1}, {"attn.qkv", "G", 1}, {"attn.qkv", "K", 2}, {"attn.qkv", "V", 4}, {"attn.out", "", 8},
    {"mlp", ".gate", 16}, {"mlp", ".up", 32}, {"mlp", ".down", 64}};
constexpr std::uint8_t mlp_bits = 16 | 32 | 64;

}  // namespace

bool AdaptedProjections::has(std::string_view product, std::string_view tag) const {
  if (tag == "projector") return all();  // matrices in front of the network, which no name of a projection means
  if (tag != "attn.qkv" && tag != "attn.out" && tag != "mlp") return false;
  const auto row = std::ranges::find_if(products,
      [&](const NamedProduct& named) { return named.tag == tag && product.find(named.part) != product.npos; });
  return row == std::end(products) ? all() : (bits_ & row->bits) != 0;
}

std::string AdaptedProjections::text() const {
  if (all()) return "all";
  std::string words;
  for (std::size_t i = 0; i < std::size(projections); ++i)
    if ((bits_ >> i & 1U) != 0) words += (words.empty() ? "" : ",") + std::string(projections[i]);
  return words;
}

Expected<AdaptedProjections> AdaptedProjections::parse(const std::string& text, const std::string& where) {
  AdaptedProjections out;
  if (text == "all") return out;
  out.bits_ = 0;
  std::vector<std::string> words = split_at_commas(text);
  if (std::erase(words, "all") > 0)
    return fail(where, "all is every projection, and others stand beside it",
        words.empty() ? "all, once" : fmt::format("all alone, or without it: {}", fmt::join(words, ",")));
  for (const std::string& word : words) {
    const auto found = std::ranges::find(projections, std::string_view(word));
    if (found == std::end(projections))
      return fail(where, fmt::format("unknown value '{}'", word.substr(0, 60)),
          "one or more of: q,k,v,out,gate,up,down; or all");
    out.bits_ = static_cast<std::uint8_t>(out.bits_ | 1U << (found - std::begin(projections)));
  }
  if (out.bits_ == 0) return fail(where, "no projection", "one or more of: q,k,v,out,gate,up,down; or all");
  return out;
}

}  // namespace stepcast
