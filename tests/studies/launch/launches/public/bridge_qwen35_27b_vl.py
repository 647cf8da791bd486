import torch

from megatron.bridge import AutoBridge
from megatron.bridge.recipes.common import _sft_common_vlm
from megatron.bridge.training.config import ConfigContainer


def qwen35_vl_27b_sft_16gpu_h100_bf16_config() -> ConfigContainer:
    """TP=4, PP=4."""
    cfg = _sft_common_vlm()
    cfg.model = AutoBridge.from_hf_pretrained("Qwen/Qwen3.5-27B").to_megatron_provider(load_weights=False)
    cfg.model.tensor_model_parallel_size = 4
    cfg.model.pipeline_model_parallel_size = 4
    cfg.model.pipeline_dtype = torch.bfloat16
    cfg.model.virtual_pipeline_model_parallel_size = None
    cfg.model.context_parallel_size = 1
    cfg.model.sequence_parallel = False
    cfg.model.seq_length = 4096
    cfg.model.mtp_num_layers = 1
    cfg.model.recompute_granularity = None
    cfg.train.global_batch_size = 32
    cfg.train.micro_batch_size = 4
    cfg.dataset.prompt = "Describe the picture."
    cfg.dataset.pad_to_max_length = True
    cfg.comm_overlap = None
    return cfg
