#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
HERE=$1; SPM=$2; TEXT=$3
N=${SLURM_NNODES:-"1"}
launch_args=(--nnodes $N --nproc_per_node 8 --node_rank ${RANK:-"0"}
             --master_port ${MASTER_PORT:-"6000"} --master_addr ${MASTER_ADDR:-"localhost"})
experts=(--num-experts 8 --moe-router-topk 2 --moe-router-load-balancing-type aux_loss
         --moe-aux-loss-coeff 1e-2 --moe-token-dispatcher-type alltoall --moe-grouped-gemm
         --overlap-grad-reduce --overlap-param-gather)
network=(--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32
         --group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm
         --position-embedding-type rope --rotary-base 1000000 --no-position-embedding
         --disable-bias-linear --untie-embeddings-and-output-weights
         --attention-dropout 0.0 --hidden-dropout 0.0 --init-method-std 0.01
         --seq-length 4096 --max-position-embeddings 32768
         --use-mcore-models --no-masked-softmax-fusion)
split=(--sequence-parallel --use-distributed-optimizer
       --expert-model-parallel-size 8 --pipeline-model-parallel-size 4 --tensor-model-parallel-size 1)
train=(--bf16 --micro-batch-size 1 --global-batch-size 256 --train-iters 500000
       --lr 1e-4 --min-lr 1.0e-5 --lr-decay-style cosine --lr-decay-iters 320000 --lr-warmup-iters 500
       --clip-grad 1.0 --weight-decay 0.1)
logging=(--log-interval 1 --eval-iters 10 --eval-interval 1000 --save-interval 10000
         --save $HERE --load $HERE --no-load-optim --no-load-rng --tensorboard-dir "${HERE}/tensorboard")
if [ -n "${WANDB_API_KEY}" ]; then
  logging+=(--wandb-exp-name ${WANDB_NAME:-"Mixtral_8x7B"} --wandb-project ${WANDB_PROJECT:-"Mixtral"})
fi
torchrun ${launch_args[@]} pretrain_gpt.py ${network[@]} ${experts[@]} ${split[@]} ${train[@]} ${logging[@]} \
  --data-path $TEXT --split 99990,8,2 --tokenizer-type Llama2Tokenizer --tokenizer-model ${SPM}
