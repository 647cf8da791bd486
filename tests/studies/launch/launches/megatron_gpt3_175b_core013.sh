#!/bin/bash
set -e
export CUDA_DEVICE_MAX_CONNECTIONS=1
NODES=1 PER_NODE=8
OUT=$1; BOARD=$2; WORDS=$3; MERGES=$4; TEXT=$5

PARALLEL="--tensor-model-parallel-size 8 --pipeline-model-parallel-size 16"
SHAPE=(--num-layers 96 --num-attention-heads 96 --hidden-size 12288
       --max-position-embeddings 2048 --seq-length 2048 --attention-backend auto)
BATCH=(--micro-batch-size 1 --rampup-batch-size 16 16 5859375 --global-batch-size 1536)
SCHEDULE=(--lr 6.0e-5 --min-lr 6.0e-6 --lr-decay-style cosine --lr-decay-iters 430000
          --lr-warmup-fraction .001 --train-iters 500000)
OPTIMIZER=(--fp16 --clip-grad 1.0 --weight-decay 0.1 --adam-beta1 0.9 --adam-beta2 0.95 --init-method-std 0.006)

torchrun --nnodes $NODES --nproc_per_node $PER_NODE --master_addr localhost --master_port 6000 \
  pretrain_gpt.py $PARALLEL "${SHAPE[@]}" "${BATCH[@]}" \
  ${SCHEDULE[@]} ${OPTIMIZER[@]} \
  --data-path $TEXT --vocab-file $WORDS --merge-file $MERGES --split 949,50,1 \
  --save $OUT --load $OUT --save-interval 10000 \
  --log-interval 100 --eval-interval 1000 --eval-iters 10 --tensorboard-dir $BOARD
