#!/bin/bash
NUM_NODES=$(sort -u $PBS_NODEFILE | wc -l)
NUM_GPUS_PER_NODE=8
NUM_GPUS=$((${NUM_NODES} * ${NUM_GPUS_PER_NODE}))
HIDDEN_SIZE=2304
MODEL_ARGS=(
    --attention-dropout 0.0 --disable-bias-linear --ffn-hidden-size 1152 --group-query-attention
    --hidden-dropout 0.0 --hidden-size ${HIDDEN_SIZE} --kv-channels 128 --max-position-embeddings 4096
    --moe-ffn-hidden-size 1152 --normalization RMSNorm --num-attention-heads 36 --num-layers 32
    --num-query-groups 4 --position-embedding-type rope --qk-layernorm --rotary-base 500000
    --seq-length 4096 --swiglu --untie-embeddings-and-output-weights
)
MOE_ARGS=(
    --moe-grouped-gemm --moe-router-topk 8 --moe-token-dispatcher-type alltoall --num-experts 128
    --overlap-grad-reduce --overlap-param-gather
)
TRAINING_ARGS=(
    --bf16 --global-batch-size 1024 --micro-batch-size 2 --optimizer adam --tokenizer-type Llama2Tokenizer
    --tokenizer-model v4_alpha_1.0.model
)
MODEL_PARALLEL_ARGS=(
    --expert-model-parallel-size 4 --pipeline-model-parallel-size 1 --sequence-parallel
    --tensor-model-parallel-size 1 --use-distributed-optimizer
)
mpirun -np $NUM_GPUS --hostfile $PBS_NODEFILE --npernode $NUM_GPUS_PER_NODE \
    python src/Megatron-LM/pretrain_gpt.py "${MODEL_ARGS[@]}" "${MOE_ARGS[@]}" "${TRAINING_ARGS[@]}" \
    "${MODEL_PARALLEL_ARGS[@]}"
