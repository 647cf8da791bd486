NPROC_PER_NODE=8 megatron sft --model moonshotai/Moonlight-16B-A3B-Instruct --dataset distilled --packing true \
  --max_length 8192 --pipeline_model_parallel_size 2 --decoder_last_pipeline_num_layers 13 \
  --expert_model_parallel_size 4 --moe_grouped_gemm true --moe_permute_fusion true --moe_shared_expert_overlap true \
  --micro_batch_size 1 --global_batch_size 16 --sequence_parallel true --attention_backend flash \
  --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 --lr 1e-5 --output_dir out
