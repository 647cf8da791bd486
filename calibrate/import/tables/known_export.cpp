#include "calibrate/import/tables/known_export.h"

namespace stepcast::calibrate {

std::span<const KnownExport> known_exports() {
  static const std::vector<KnownExport> rows = {
      {"aiconfigurator gemm_perf", {"m", "n", "k", "gemm_dtype", "latency"}, {}, read_aic_gemm},
      {"aiconfigurator attention", {"batch_size", "isl", "step", "num_heads", "num_key_value_heads", "head_dim"},
          {"time_us", "latency"}, read_aic_attention},
      {"aiconfigurator generation_mla",
          {"batch_size", "isl", "step", "num_heads", "mla_dtype", "kv_cache_dtype", "latency"}, {}, read_aic_latent},
      {"aiconfigurator moe_perf",
          {"moe_dtype", "num_tokens", "hidden_size", "inter_size", "topk", "num_experts", "moe_tp_size", "moe_ep_size",
              "distribution"},
          {"time_us", "latency"}, read_aic_moe},
      {"aiconfigurator nccl_perf", {"nccl_dtype", "num_gpus", "message_size", "op_name", "latency"}, {}, read_aic_nccl},
      {"aiconfigurator nccl_perf, joined", {"system", "op", "num_gpus", "bytes", "latency_ms"}, {}, read_nccl_perf},
      {"vidur network, joined", {"sku", "collective", "num_workers", "devices_per_node", "bytes", "median_ms"}, {},
          read_vidur_network},
      {"vidur network", {"collective", "num_workers", "devices_per_node", "size"},
          {"time_stats.all_reduce.median", "time_stats.send_recv.median", "time_stats.all_gather.median"},
          read_vidur_collective},
      {"vidur mlp",
          {"n_head", "n_kv_head", "n_embd", "n_expanded_embd", "use_gated_mlp", "num_tokens",
              "num_tensor_parallel_workers"},
          {"mlp_up_proj_us", "time_stats.mlp_up_proj.median"}, read_vidur_layer},
      {"NeuSight operators", {"op", "B", "M", "N", "K", "H", "device", "time_us", "dtype"}, {}, read_neusight},
      {"flash-attention rates", {"gpu", "impl", "pass", "head_dim", "causal", "seqlen", "tflops"}, {},
          read_flash_attention},
      {"DeepGEMM rates", {"kind", "groups", "m_per_group", "n", "k", "tflops"}, {}, read_deepgemm},
  };
  return rows;
}

}  // namespace stepcast::calibrate
