#!/bin/bash
len=32768
sp=4
pp=1
no_pp="true"
stage=3
again="true"
gpus=$(($(ds_ssh nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)-2))
name="gpt_30B_sp${sp}_g${gpus}"
opts=" --num-layers 64 --hidden-size 6144 --num-attention-heads 64 --seq-length ${len} --max-position-embeddings ${len} \
  --tensor-model-parallel-size 1 --ds-sequence-parallel-size ${sp} --micro-batch-size 1 --global-batch-size 2 \
  --fp16 --hysteresis 2 --use-flash-attn-triton --no-async-tensor-model-parallel-allreduce \
  --train-tokens $((300 * 1000000000)) --train-samples $(( 300 * 1000000000 * 2 / ${len} )) \
  --lr 1.0e-4 --min-lr 1.0e-6 --lr-decay-style cosine --lr-warmup-tokens $((3000 * 1000000)) --lr-decay-tokens $((300 * 1000000000)) \
  --override-opt_param-scheduler --adam-beta1 0.9 --adam-beta2 0.95 --weight-decay 0.1 --clip-grad 1.0 --init-method-std 0.008 \
  --seed 1234 --num-workers 0 --exit-duration-in-mins 30000000 --split 949,50,1 \
  --log-interval 10 --eval-interval 100 --eval-iters 10 --save-interval 100 --load ckpt/${name} --save ckpt/${name} \
  --tensorboard-queue-size 1 --log-timers-to-tensorboard --log-batch-size-to-tensorboard \
  --log-validation-ppl-to-tensorboard --tensorboard-dir board/${name}"
if [ "${again}" = "true" ]; then
  opts="${opts} --checkpoint-activations"
fi
opts="${opts} --log-optimizer-states-to-tensorboard"
ds=" --deepspeed --deepspeed_config ds_config_zero3.json --zero-stage ${stage} --pipeline-model-parallel-size ${pp}"
if [[ "${no_pp}" = "true" ]]; then
  ds="${ds} --no-pipeline-parallel"
fi
if [ "${again}" = "true" ]; then
  ds="${ds} --deepspeed-activation-checkpointing"
fi
deepspeed pretrain_gpt.py ${opts} --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt \
  --data-path BookCorpusDataset_text_document --data-impl mmap ${ds} 2>&1 | tee log/${name}.log
