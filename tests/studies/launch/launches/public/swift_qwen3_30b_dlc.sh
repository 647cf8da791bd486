NNODES=$WORLD_SIZE NODE_RANK=$RANK megatron sft --model Qwen/Qwen3-30B-A3B-Base --dataset distilled --packing true \
  --max_length 8192 --pipeline_model_parallel_size 2 --expert_model_parallel_size 8 --micro_batch_size 1 \
  --global_batch_size 16 --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --lr 1e-5
