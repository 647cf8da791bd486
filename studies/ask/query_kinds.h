// What `stepcast kernel` and `stepcast collective` can be asked: a kind is a row with its fields; a field is a flag on
// the command line and a column of a table, read by the same rules.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "model/base/error.h"
#include "model/profile/query.h"

namespace stepcast::ask {

/// What can be asked here.
using Asked = std::variant<GemmQuery, AttentionQuery, MoeQuery, MemoryQuery, CollectiveQuery, ExchangeQuery>;

struct QueryField {
  std::string_view name;       ///< "kv-heads": --kv-heads on the command line
  std::string_view columns;    ///< what else a table may call it, separated by blanks
  std::string_view otherwise;  ///< value where it is not said; "" = needed
  std::string_view doc;
};

/// Field -> what was said, and where.
struct FieldValue {
  std::string text, where;
};
using FieldValues = std::map<std::string, FieldValue, std::less<>>;

struct QueryKind {
  std::string_view id, about;
  std::span<const QueryField> fields;
  /// `id` of the kind that was asked for: memory operators and collectives share one row each.
  Expected<Asked> (*make)(const FieldValues& values, const std::string& id);
};

/// gemm, attention, moe, and one for each operator that memory bounds; by id, or another name of an operator.
Expected<const QueryKind*> find_kernel_kind(const std::string& name);
std::vector<std::string> kernel_kinds();
const QueryKind& collective_kind();
/// Exchanges of experts' rows by kernels of engines: dispatch, combine, prepare.
const QueryKind& exchange_kind();
/// Nothing where the name is no direction of an exchange.
std::optional<ExchangeDirection> exchange_direction_of(std::string_view name);
/// Nothing for "any".
Expected<std::optional<ExchangeKernel>> exchange_kernel_of(const FieldValues& values);
/// all_reduce, all_gather, ... also with hyphens or without underscores.
Expected<CollectiveKind> parse_collective_kind(const std::string& name, const std::string& where);

/// Fills what was not said; fails on what is missing, naming the field, its column names and `where` it was looked for.
Expected<FieldValues> completed(const QueryKind& kind, FieldValues values, const std::string& where);

/// The column of a table for each field; fails where a needed one is missing, and at a column that is nearly
/// the name of a field without one. Other columns that no field knows are ignored.
Expected<std::map<std::string, std::size_t, std::less<>>> columns_of(
    const QueryKind& kind, const std::vector<std::string>& header, const std::string& where);

}  // namespace stepcast::ask
