torchrun --nproc-per-node=8 --nnodes=32 scripts/performance/custom_setup_experiment.py --gpu b200 \
  --model_family_name deepseek --model_recipe_name deepseek_v3 --num_gpus 256 --seq_length 4096 \
  --compute_dtype fp8_mx --global_batch_size 4096 --micro_batch_size 1 --pipeline_model_parallel_size 16
