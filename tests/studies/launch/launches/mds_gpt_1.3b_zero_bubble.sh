#!/bin/bash
n=8
m="--num-layers 24 --hidden-size 2048 --num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 \
 --tensor-model-parallel-size 1 --micro-batch-size 1 --global-batch-size 16 --fp16 --hysteresis 2 \
 --train-tokens $((300 * 1000000000)) --train-samples $((300 * 1000000000 * 2 / 2048)) \
 --lr 2.0e-4 --min-lr 1.0e-6 --lr-decay-style cosine --lr-warmup-tokens $((3000 * 1000000)) --lr-decay-tokens $((300 * 1000000000)) \
 --override-opt_param-scheduler --adam-beta1 0.9 --adam-beta2 0.95 --weight-decay 0.1 --clip-grad 1.0 --init-method-std 0.013 \
 --seed 1234 --num-workers 0 --exit-duration-in-mins 30000000 --split 949,50,1 --log-interval 1 --eval-interval 10100 \
 --eval-iters 10100 --save-interval 10100 --load ckpt --save ckpt --no-async-tensor-model-parallel-allreduce \
 --tensorboard-queue-size 1 --log-timers-to-tensorboard --log-batch-size-to-tensorboard \
 --log-validation-ppl-to-tensorboard --log-optimizer-states-to-tensorboard --tensorboard-dir board"
deepspeed pretrain_gpt.py $m --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --data-path pile --data-impl mmap \
 --deepspeed --deepspeed_config made.json --zero-stage 0 --pipeline-model-parallel-size $n \
 --enable-zbh1-pipeline --enable-zbh1-exact-semantics
