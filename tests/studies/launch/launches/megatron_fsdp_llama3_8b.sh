#!/bin/bash
SAVE_TO=${1:-"checkpoints/llama3_8b_fsdp_fp8"}
BOARD=${2:-"tensorboard_logs/llama3_8b_fsdp_fp8"}
FSDP=${USE_MEGATRON_FSDP:-1}
SHARDS=${SHARDING_STRATEGY:-"optim_grads_params"}
TRAIN=(--micro-batch-size 1 --global-batch-size 128 --bf16 --cross-entropy-loss-fusion
  --train-samples 1953125000 --lr-decay-samples 1949218748 --lr-warmup-samples 3906252
  --lr-decay-style cosine --lr 0.00015 --min-lr 0.00001 --decoupled-lr 5.0e-4 --decoupled-min-lr 4.5e-5
  --weight-decay 0.1 --clip-grad 1.0 --adam-beta1 0.9 --adam-beta2 0.95
  --no-check-for-nan-in-loss-and-grad --manual-gc --empty-unused-memory-level 1 --exit-duration-in-mins 235)
if [ "${FSDP}" = 1 ]; then
  unset CUDA_DEVICE_MAX_CONNECTIONS
  TRAIN=("${TRAIN[@]}" --use-megatron-fsdp --data-parallel-sharding-strategy ${SHARDS}
         --fsdp-double-buffer --use-nccl-ub --fsdp-manual-registration
         --calculate-per-token-loss --no-gradient-accumulation-fusion
         --init-model-with-meta-device --ckpt-format fsdp_dtensor)
fi
TRAIN+=(--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather)
SHAPE="--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 \
  --group-query-attention --num-query-groups 8 --kv-channels 128 --swiglu --normalization RMSNorm \
  --apply-layernorm-1p --untie-embeddings-and-output-weights --disable-bias-linear \
  --seq-length 8192 --max-position-embeddings 8192 \
  --position-embedding-type rope --rotary-base 1000000 --rotary-percent 1.0 \
  --attention-dropout 0.0 --hidden-dropout 0.0 --init-method-std 0.0134 \
  --use-mcore-models --attention-backend fused"
uv run python -m torch.distributed.run --nproc_per_node 8 --nnodes 1 --node_rank ${NODE_RANK:-0} \
  --master_addr ${MASTER_ADDR:-localhost} --master_port ${MASTER_PORT:-29500} \
  pretrain_gpt.py $SHAPE ${TRAIN[@]} \
  --fp8-format hybrid --fp8-amax-history-len 1024 --fp8-amax-compute-algo max --fp8-param-gather \
  --tensor-model-parallel-size 1 --context-parallel-size 1 --sequence-parallel \
  --mock-data --tokenizer-type NullTokenizer --vocab-size 128256 --tiktoken-pattern v2 \
  --data-cache-path "${PWD}/cache" --split '99,1,0' --num-workers 1 \
  --no-create-attention-mask-in-dataloader --no-mmap-bin-files \
  --log-interval 1 --log-throughput --logging-level 20 --eval-iters 32 --eval-interval 100 \
  --save-interval 1000 --distributed-timeout-minutes 60 \
  --save "$SAVE_TO" --load "$SAVE_TO" --tensorboard-dir "$BOARD"
