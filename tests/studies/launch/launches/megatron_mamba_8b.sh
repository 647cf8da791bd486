#!/bin/bash
SCALE=${MODEL_SCALE:-800M}
case "${SCALE}" in
  "800M") TP=1; WIDTH=1024; HEADS=16; BATCH=32; PATTERN="M-M-M--M-*M-M-M-M--*M-M-M-M-*M--M-M-M-*M-M--M-M-" ;;
  "8B") TP=4; WIDTH=4096; HEADS=32; BATCH=8; PATTERN="M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-" ;;
esac
export CUDA_DEVICE_MAX_CONNECTIONS=1
export TRITON_CACHE_DIR="./triton-cache/"
LENGTH=4096
args=" --hybrid-layer-pattern ${PATTERN} --spec megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec \
  --hidden-size ${WIDTH} --num-attention-heads ${HEADS} --group-query-attention --num-query-groups 8 \
  --seq-length ${LENGTH} --max-position-embeddings ${LENGTH} --position-embedding-type none \
  --normalization RMSNorm --disable-bias-linear --untie-embeddings-and-output-weights \
  --attention-dropout 0.0 --hidden-dropout 0.0 --init-method-std 0.02 \
  --tensor-model-parallel-size ${TP} --pipeline-model-parallel-size 1 --sequence-parallel \
  --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather \
  --micro-batch-size 4 --global-batch-size ${BATCH} --bf16 --use-mcore-models \
  --train-samples 73242188 --lr-warmup-samples 50000 --lr-decay-samples 73192188 \
  --lr 2.5e-4 --min-lr 2.5e-5 --lr-decay-style cosine --weight-decay 0.1 --clip-grad 1.0 \
  --adam-beta1 0.9 --adam-beta2 0.95 --distributed-backend nccl \
  --data-path $1 --tokenizer-model $2 --tokenizer-type GPTSentencePieceTokenizer --split 99,1,0 \
  --data-cache-path ./data-cache --no-create-attention-mask-in-dataloader \
  --save ./checkpoints --load ./checkpoints --save-interval 2000 \
  --log-interval 10 --eval-interval 2000 --eval-iters 32 --tensorboard-dir ./tensorboard"
torchrun --nproc_per_node 8 ../../pretrain_hybrid.py ${args}
