#!/bin/bash
here=`pwd`
len=2048
tokens_b=300
tokens=$((${tokens_b} * 1000000000))
samples=$(( 300 * 1000000000 * 2 / ${len} ))
tp=4
pp=8
no_pp="false"
zero=1
gpus=$(($(ds_ssh nvidia-smi --query-gpu=name --format=csv,noheader | wc -l)-2))
dp=$(( ${gpus} / ${pp} / ${tp} ))
micro=2
global=1024
again="true"
states="true"
prescale="true"
if [[ $zero -gt 0 ]]; then
  prescale="false"
fi
name="gpt_13B_gbs${global}_mbs${micro}_g${gpus}"
opts=" --num-layers 40 --hidden-size 5120 --num-attention-heads 40 --seq-length ${len} --max-position-embeddings ${len} \
  --tensor-model-parallel-size ${tp} --micro-batch-size ${micro} --global-batch-size ${global} --fp16 --hysteresis 2 \
  --train-tokens ${tokens} --train-samples ${samples} --lr 1.0e-4 --min-lr 1.0e-6 --lr-decay-style cosine \
  --lr-warmup-tokens $((3000 * 1000000)) --lr-decay-tokens $((${tokens_b} * 1000000000)) \
  --override-opt_param-scheduler --adam-beta1 0.9 --adam-beta2 0.95 --weight-decay 0.1 --clip-grad 1.0 \
  --init-method-std 0.008 --seed 1234 --exit-duration-in-mins 30000000 --num-workers 0 --split 949,50,1 \
  --log-interval 10 --eval-interval 100 --eval-iters 10 --save-interval 100 \
  --load ckpt/${name} --save ckpt/${name} --no-async-tensor-model-parallel-allreduce \
  --tensorboard-queue-size 1 --log-timers-to-tensorboard --log-batch-size-to-tensorboard \
  --log-validation-ppl-to-tensorboard --tensorboard-dir board/${name}_${HOSTNAME}"
if [ "${again}" = "true" ]; then
opts="${opts} \
  --checkpoint-activations"
fi
if [ "${states}" = "true" ]; then
opts="${opts} --log-optimizer-states-to-tensorboard"
fi
made="ds_config_gbs${global}_mbs${micro}_zero${zero}.json"
sed "s/GBSIZE/${global}/" ds_config_TEMPLATE.json | sed "s/MBSIZE/${micro}/" | sed "s/ZERO_STAGE/${zero}/" > ${made}
ds_opts=" --deepspeed --deepspeed_config ${made} --zero-stage ${zero} --pipeline-model-parallel-size ${pp}"
if [[ "${no_pp}" = "true" ]]; then
  ds_opts="${ds_opts} --no-pipeline-parallel"
fi
if [ "${again}" = "true" ]; then
  ds_opts="${ds_opts} --deepspeed-activation-checkpointing"
fi
deepspeed ${here}/../pretrain_gpt.py ${opts} --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt \
  --data-path pile_text_document --data-impl mmap ${ds_opts} &>> log/${name}.log
