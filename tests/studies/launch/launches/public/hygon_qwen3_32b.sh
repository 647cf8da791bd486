#!/bin/bash
for para in $*
do
    if [[ $para == --data_path* ]];then
        data_path=${para#*=}
    elif [[ $para == --launch_with_binding* ]];then
        launch_with_binding=${para#*=}
    elif [[ $para == --launch_backend* ]];then
        launch_backend=${para#*=}
    fi
done
LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK
export LAUNCH_BACKEND=${launch_backend:-"mpirun"}
GPUS_PER_NODE=${GPUS_PER_NODE:-8}
GPT_MODEL_ARGS=(--num-layers 64 --hidden-size 5120 --ffn-hidden-size 25600 --num-attention-heads 64
    --max-position-embeddings 40960 --normalization RMSNorm --position-embedding-type rope --swiglu
    --untie-embeddings-and-output-weights --group-query-attention --num-query-groups 8 --qk-layernorm
    --kv-channels 128 --disable-bias-linear --attention-dropout 0 --hidden-dropout 0)
TRAINING_ARGS=(--micro-batch-size 1 --global-batch-size 64 --bf16 --use-distributed-optimizer --sequence-parallel)
MODEL_PARALLEL_ARGS=(--tensor-model-parallel-size 4 --pipeline-model-parallel-size 4)
DATA_ARGS=(--data-path ${data_path} --seq-length 8192 --vocab-size 151936 --make-vocab-size-divisible-by 1)
if [[ "$LAUNCH_BACKEND" == "mpirun" ]]; then
    APP="python -u pretrain_gpt.py ${GPT_MODEL_ARGS[@]} ${TRAINING_ARGS[@]} ${MODEL_PARALLEL_ARGS[@]} ${DATA_ARGS[@]}"
else
    APP="torchrun --nproc_per_node $GPUS_PER_NODE pretrain_gpt.py ${GPT_MODEL_ARGS[@]} ${TRAINING_ARGS[@]} \
        ${MODEL_PARALLEL_ARGS[@]} ${DATA_ARGS[@]}"
fi
if [[ "$LAUNCH_BACKEND" == "mpirun" ]]; then
    ${launch_with_binding} ${LOCAL_RANK} ${APP}
else
    ${APP}
fi
