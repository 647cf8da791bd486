// Rows in our own words: what somebody writes by hand, what a column map turns a table into, and what the names of
// benchmark arguments spell. Words are compared without regard to case; each has a few common spellings.
//
//   gemm        m n k [batch dtype layout casts_x]
//   attention   heads head_dim seqlen | queries keys [batch kv_heads pass causal dtype]
//   moe         tokens hidden inter topk experts [tensor_ways expert_ways skew dtype]
//   memory      op rows columns | elements [dtype | element_bytes]
//   collective  kind bytes gpus [nodes]
//   and         time_s | time_ms | time_us | time_ns [gpu device software power_w repeats regime launch_mode ...]
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "calibrate/import/importer.h"
#include "calibrate/rows/measurement.h"
#include "model/base/error.h"

namespace stepcast::calibrate {

/// Column names in lower case with what the row says there; empty fields are absent.
struct PlainFields : std::map<std::string, std::string, std::less<>> {
  using map::map;
  mutable std::set<std::string, std::less<>> read;  ///< columns that somebody asked for
};

/// What the row says by the word or one of its spellings.
std::optional<std::string_view> find_field(const PlainFields& fields, std::string_view word);

/// Whether the columns with these names make a query, so that a table can be told before its rows are read.
bool makes_query(const PlainFields& fields, const ImportOptions& options);

/// The query of the row; by options.kind, or by the kind, op or columns that it has.
Expected<Query> plain_query(const PlainFields& fields, const std::string& where, const ImportOptions& options);

/// What the row says of its context. An unknown GPU is an error; one that is not said stays open.
Expected<MeasurementContext> plain_context(const PlainFields& fields, const std::string& where);

/// Power, repeats and spread that a row may give beside its time.
Expected<void> read_plain_extras(const PlainFields& fields, const std::string& where, Measurement& into);

}  // namespace stepcast::calibrate
