#!/bin/bash
set -ex
DATA=$PWD/dataset
JSON=ds_config.json
LAYERS=96; WIDTH=12288; HEADS=96; LENGTH=1024
M=4
NODES=${NODES:-1}; PER=8
B=$(( ${PER} * ${M} * ${NODES} ))
POWER=15
HOST_MEMORY="none"
cat <<EOT > $JSON
{
  "train_batch_size" : $B, "train_micro_batch_size_per_gpu": $M, "gradient_accumulation_steps": 1,
  "zero_optimization": {
    "stage": 3, "overlap_comm": true, "contiguous_gradients": true,
    "reduce_bucket_size": 90000000, "sub_group_size": 1e9,
    "stage3_prefetch_bucket_size": 5e7, "stage3_param_persistence_threshold": 1e5,
    "stage3_max_live_parameters": 3e9, "stage3_max_reuse_distance": 3e9,
    "offload_optimizer": { "device": "$HOST_MEMORY", "buffer_count": 4, "pin_memory": true,
                           "pipeline_read": false, "pipeline_write": false }
  },
  "gradient_clipping": 1.0,
  "fp16": { "enabled": true, "initial_scale_power" : $POWER, "loss_scale_window": 1000, "hysteresis": 2, "min_loss_scale": 1 },
  "aio": { "block_size": 1048576, "queue_depth": 16, "single_submit": false, "overlap_events": true, "thread_count": 2 },
  "zero_allow_untested_optimizer": false, "wall_clock_breakdown": true, "steps_per_print": 1
}
EOT
more=" "
more=" --deepspeed ${more}"
more=" --no-pipeline-parallel ${more}"
more=" --deepspeed_config=$JSON ${more}"
more=" --zero-stage=3 ${more}"
more=" --deepspeed-activation-checkpointing ${more}"
deepspeed --force_multi --num_nodes=$NODES --hostfile /job/hostfile pretrain_gpt.py \
  --num-layers $LAYERS --hidden-size $WIDTH --num-attention-heads $HEADS \
  --seq-length $LENGTH --max-position-embeddings $LENGTH \
  --tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 \
  --micro-batch-size $M --global-batch-size $B --fp16 --loss-scale $POWER --checkpoint-activations \
  --train-iters 1000 --lr 6.0e-5 --min-lr 6.0e-6 --lr-decay-style cosine \
  --clip-grad 1.0 --weight-decay 0.1 --adam-beta1 0.9 --adam-beta2 0.95 --init-method-std 0.006 \
  --data-path $DATA/books_text_document --vocab-file $DATA/gpt2-vocab.json --merge-file $DATA/gpt2-merges.txt \
  --split 98,2,0 --log-interval 1 --eval-iters 40 --eval-interval 1000 --save-interval 1000 \
  --tensorboard-dir out $more --exit-interval 5000 | tee out/output.log
