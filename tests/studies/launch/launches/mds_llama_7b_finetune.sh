#!/bin/bash
JSON=./ds_config.json
TP=2
PP=2
cat <<EOT > $JSON
{ "train_batch_size" : 256, "train_micro_batch_size_per_gpu": 16, "steps_per_print": 100,
  "zero_optimization": { "stage": 0 }, "bf16": { "enabled": true } }
EOT
if [ "$1" = "convert" ]; then
  USED="./ds_config_empty.json"
else
  USED="./ds_config.json"
fi
all="--num-layers 32 --hidden-size 4096 --ffn-hidden-size 11008 --num-attention-heads 32 \
--swiglu --normalization rmsnorm --use-rotary-position-embeddings --disable-bias-linear \
--untie-embeddings-and-output-weights --no-query-key-layer-scaling --attention-dropout 0 --hidden-dropout 0 \
--seq-length 512 --max-position-embeddings 512 --micro-batch-size 16 --global-batch-size 256 --bf16 --zero-stage 0 \
--tensor-model-parallel-size $TP --pipeline-model-parallel-size $PP \
--train-iters 3500 --lr 2e-5 --lr-warmup-iters 2000 --lr-decay-iters 320000 --lr-decay-style cosine \
--weight-decay 0.1 --clip-grad 1 --finetune --repeated-dataloader --data-path alpaca_data.json --split 100,0,0 \
--tokenizer-type HFTokenizer --tokenizer-model $LLAMA \
--no-masked-softmax-fusion --no-bias-gelu-fusion --no-bias-dropout-fusion --no-gradient-accumulation-fusion \
--log-interval 1 --eval-iters 100 --eval-interval 100 --save-interval 1500 --tensorboard-dir board --num-workers 0 \
--distributed-backend nccl --deepspeed_config $USED --deepspeed"
run="deepspeed finetune_llama.py --load ./llama-7b-T${TP}P${PP} $all"
eval "$run"
