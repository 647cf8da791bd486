#!/bin/bash
LEN=2048
B=512
TOKENS=300000000000
ITERS=$(( ${TOKENS} * 3 / ${B} / ${LEN} ))
GPUS=64
EXPERTS=128
if [[ $EXPERTS -gt $GPUS ]]; then
    EP=$GPUS
else
    EP=$EXPERTS
fi
DROP="true"
AGAIN="true"
megatron=" --num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length ${LEN} --max-position-embeddings ${LEN} \
        --num-experts ${EXPERTS} --moe-expert-parallel-size ${EP} --moe-loss-coeff 0.01 --moe-min-capacity 4 \
        --moe-train-capacity-factor 1.0 --moe-eval-capacity-factor 1.0 \
        --tensor-model-parallel-size 1 --micro-batch-size 8 --global-batch-size ${B} --fp16 --hysteresis 2 \
        --train-tokens ${TOKENS} --train-iters ${ITERS} --lr 1.2e-4 --min-lr 1.0e-6 --lr-decay-style cosine \
        --lr-decay-tokens 300000000000 --lr-warmup-tokens 375000000 --override-opt_param-scheduler \
        --adam-beta1 0.9 --adam-beta2 0.95 --weight-decay 0.1 --clip-grad 1.0 --init-method-std 0.014 \
        --exit-duration-in-mins 30000000 --num-workers 0 --split 98,2,0 \
        --log-interval 10 --eval-interval 100 --eval-iters 10 --save-interval 10000 --load ckpt --save ckpt \
        --tensorboard-queue-size 1 --log-timers-to-tensorboard --log-batch-size-to-tensorboard \
        --log-validation-ppl-to-tensorboard --tensorboard-dir board"
if [ "${AGAIN}" = "true" ]; then
megatron="${megatron} --checkpoint-activations"
fi
if [[ $EXPERTS -gt 1 ]]; then
megatron="${megatron} \
        --create-moe-param-group"
fi
if [ "${DROP}" = "false" ]; then
megatron="${megatron} --disable-moe-token-dropping"
fi
ds=" --deepspeed --deepspeed_config ds_config_moe.json --pipeline-model-parallel-size 1"
if [[ $EXPERTS -gt 1 ]]; then
ds="${ds} --no-pipeline-parallel"
fi
ds="${ds} --deepspeed-activation-checkpointing"
command="deepspeed pretrain_gpt.py ${megatron} --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --data-path pile_text_document --data-impl mmap ${ds} &> log.txt"
echo ${command}
eval ${command}
