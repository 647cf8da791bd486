#!/usr/bin/env bash
# A launch as it may have been handed down: Llama 3 70B on 64 nodes, Megatron-LM.
#SBATCH --nodes=64
#SBATCH --gpus-per-node=8

export NCCL_IB_TIMEOUT=22
GPUS_PER_NODE=8
TP=${TP:-8}
PP=8

MODEL_ARGS=(
    --num-layers 80
    --hidden-size 8192
    --ffn-hidden-size 28672
    --num-attention-heads 64
    --num-query-groups 8
    --group-query-attention
    --seq-length 8192
    --max-position-embeddings 8192
    --swiglu
    --normalization RMSNorm
    --position-embedding-type rope
    --disable-bias-linear
    --untie-embeddings-and-output-weights
    --attention-dropout 0.0
    --hidden-dropout 0.0
    --vocab-size 128256
)

TRAINING_ARGS=(
    --micro-batch-size 1
    --global-batch-size 1024
    --bf16
    --lr 1.5e-4
    --train-iters 100000
    --recompute-granularity full        # "it ran out of memory once"
    --recompute-method uniform
    --recompute-num-layers 1
    --use-flash-attn
)

PARALLEL_ARGS=(
    --tensor-model-parallel-size $TP
    --pipeline-model-parallel-size $PP
    --use-distributed-optimizer
    --overlap-grad-reduce
)

srun torchrun --nnodes 64 --nproc_per_node $GPUS_PER_NODE pretrain_gpt.py \
    "${MODEL_ARGS[@]}" \
    "${TRAINING_ARGS[@]}" \
    "${PARALLEL_ARGS[@]}" \
    --data-path $DATA_PATH \
    --save-interval 500
