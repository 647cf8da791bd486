#!/bin/bash
BASE=./llama2
CONFIG=${BASE}/deepspeed.json
TP=2
PP=2
STAGE=0
MB=4
GB=32
LEN=2048
RECOMPUTE="false"
WANDB=0
WANDB_ARGS=
if [ $WANDB -eq 1 ]
then
  WANDB_ARGS="--wandb-project llama2 --wandb-exp-name first --wandb-save-dir ${BASE}/wandb"
fi
cat <<EOT > $CONFIG
{ "train_micro_batch_size_per_gpu": $MB, "train_batch_size" : $GB, "steps_per_print": 1,
  "bf16": { "enabled": true }, "zero_optimization": { "stage": $STAGE } }
EOT
ds=""
ds=" --deepspeed ${ds}"
ds=" --deepspeed_config=$CONFIG ${ds}"
ds=" --zero-stage=$STAGE ${ds}"
if [ "${RECOMPUTE}" = "true" ]; then
  ds="--deepspeed-activation-checkpointing ${ds}"
  ds="--recompute-granularity full --recompute-method uniform ${ds}"
fi
torchrun --nnodes 1 --nproc_per_node 8 --node_rank 0 --master_addr localhost --master_port 6000 \
  pretrain_gpt.py \
  --num-layers 24 --hidden-size 2048 --ffn-hidden-size 5504 --num-attention-heads 16 --num-key-value-heads 4 \
  --swiglu --normalization rmsnorm --use-rotary-position-embeddings --disable-bias-linear \
  --untie-embeddings-and-output-weights --no-query-key-layer-scaling --attention-dropout 0 --hidden-dropout 0 \
  --tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP \
  --micro-batch-size $MB --global-batch-size $GB --seq-length $LEN --max-position-embeddings $LEN --bf16 \
  --train-iters 250000 --lr 3e-4 --min-lr 3e-5 --lr-decay-style cosine --lr-warmup-iters 2000 \
  --optimizer adam --adam-beta1 0.9 --adam-beta2 0.95 --weight-decay 0.1 --clip-grad 1 \
  --data-path 1 ${BASE}/text_sentence --data-impl mmap --split 949,50,1 --distributed-backend nccl \
  --tokenizer-type GPTSentencePieceTokenizer --tokenizer-model ${BASE}/tokenizer.model \
  --save ${BASE} --load ${BASE} --save-interval 10000 --log-interval 1 --eval-interval 1000 --eval-iters 10 \
  $WANDB_ARGS $ds
