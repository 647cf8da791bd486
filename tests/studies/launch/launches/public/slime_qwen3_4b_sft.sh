SFT_ARGS=(--rollout-function-path slime.rollout.sft_rollout.generate_rollout --prompt-data /data/openhermes.parquet
  --rollout-batch-size 128 --global-batch-size 128 --loss-type sft_loss --debug-train-only)
PERF_ARGS=(--tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 --recompute-granularity full
  --recompute-method uniform --recompute-num-layers 1 --use-dynamic-batch-size --max-tokens-per-gpu 9216)
ray job submit --address="http://127.0.0.1:8265" -- python3 train_async.py --actor-num-nodes 1 \
  --actor-num-gpus-per-node 8 ${SFT_ARGS[@]} ${PERF_ARGS[@]}
