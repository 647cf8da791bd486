NPROC_PER_NODE=4 megatron sft --model ZhipuAI/GLM-4.5-Air --mtp_num_layers 1 --dataset distilled --packing true \
  --max_length 8192 --tuner_type lora --lora_rank 32 --lora_alpha 64 --target_modules linear_qkv linear_proj \
  --tensor_model_parallel_size 4 --expert_tensor_parallel_size 1 --expert_model_parallel_size 4 \
  --sequence_parallel true --micro_batch_size 1 --global_batch_size 16 --recompute_granularity full \
  --recompute_method uniform --recompute_num_layers 1 --lr 1e-4
