import torch

from megatron.bridge import AutoBridge
from megatron.bridge.recipes.common import _pretrain_common
from megatron.bridge.training.comm_overlap import CommOverlapConfig
from megatron.bridge.training.config import ConfigContainer
from megatron.bridge.training.mixed_precision import MixedPrecisionConfig


def kimi_k2_pretrain_512gpu_h100_bf16_config() -> ConfigContainer:
    """TP=2, PP=16, EP=32."""
    cfg = _pretrain_common()
    cfg.model = AutoBridge.from_hf_pretrained("moonshotai/Kimi-K2-Instruct").to_megatron_provider(load_weights=False)
    cfg.model.tensor_model_parallel_size = 2
    cfg.model.pipeline_model_parallel_size = 16
    cfg.model.virtual_pipeline_model_parallel_size = None
    cfg.model.context_parallel_size = 1
    cfg.model.expert_model_parallel_size = 32
    cfg.model.expert_tensor_parallel_size = 1
    cfg.model.sequence_parallel = True
    cfg.model.recompute_granularity = "selective"
    cfg.model._pipeline_model_parallel_layout_builder = _get_kimi_k2_pipeline_layout
    cfg.model.pipeline_model_parallel_layout = _get_kimi_k2_pipeline_layout(16, 1)
    cfg.dataset.seq_length = 4096
    cfg.train.global_batch_size = 4096
    cfg.train.micro_batch_size = 1
    cfg.model.moe_token_dispatcher_type = "alltoall"
    cfg.mixed_precision = MixedPrecisionConfig(bf16=True, grad_reduce_in_fp32=True)
    cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=False)
    _apply_kimi_k2_optimizer(cfg, "muon")
    cfg.ddp.overlap_grad_reduce = True
    cfg.ddp.use_megatron_fsdp = False
    return cfg
