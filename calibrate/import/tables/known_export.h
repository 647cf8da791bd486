// Knows tables that other projects publish or write, by their columns. A layout is a row: what its header holds and
// what one of its rows makes.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "calibrate/import/tables/table_import.h"

namespace stepcast::calibrate {

struct KnownExport {
  std::string_view id;
  std::vector<std::string_view> columns;  ///< all of them are in the header
  std::vector<std::string_view> one_of;   ///< and one of these, where the list is not empty
  void (*read_row)(TableImport& rows);
};
std::span<const KnownExport> known_exports();

/// m,n,k and a column of microseconds per collection ("h100_sxm_trt130rc20_us"), which therefore has no fixed header.
bool is_wide_gemm(const DelimitedTable& table);
void read_wide_gemm_rows(TableImport& rows);

// --- rows of the table ---

void read_aic_gemm(TableImport& rows);  ///< export_aiconfigurator.cpp
void read_aic_attention(TableImport& rows);
void read_aic_latent(TableImport& rows);
void read_aic_moe(TableImport& rows);
void read_aic_nccl(TableImport& rows);  ///< nccl/export_collective.cpp
void read_nccl_perf(TableImport& rows);
void read_vidur_network(TableImport& rows);
void read_vidur_collective(TableImport& rows);
void read_vidur_layer(TableImport& rows);  ///< export_vidur.cpp
void read_neusight(TableImport& rows);     ///< export_published.cpp
void read_flash_attention(TableImport& rows);
void read_deepgemm(TableImport& rows);

}  // namespace stepcast::calibrate
