#!/bin/bash
# --define MODEL=22B|175B|530B|1T --define RECOMPUTE=full|selective
#SBATCH --ntasks-per-node=8
case $MODEL in
  22B)  LAYERS=48  HIDDEN=6144  HEADS=64  PP=1  NODES=1  MICRO=4 BATCH=4 ;;
  175B) LAYERS=96  HIDDEN=12288 HEADS=96  PP=8  NODES=8  MICRO=1 BATCH=64;  STAGE="--num-layers-per-virtual-pipeline-stage 4" ;;
  530B) LAYERS=105 HIDDEN=20480 HEADS=128 PP=35 NODES=35 MICRO=1 BATCH=280; STAGE="--num-layers-per-virtual-pipeline-stage 1" ;;
  1T)   LAYERS=128 HIDDEN=25600 HEADS=160 PP=64 NODES=64 MICRO=1 BATCH=512 ;;
esac
if [ "$RECOMPUTE" = selective ]; then
  KEEP=(--recompute-activations --sequence-parallel)
else
  KEEP=(--recompute-granularity full --recompute-method uniform)
fi
ARGS="--num-layers $LAYERS --hidden-size $HIDDEN --num-attention-heads $HEADS \
      --seq-length 2048 --max-position-embeddings 2048 --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --fp16 \
      --accumulate-allreduce-grads-in-fp32 \
      --tensor-model-parallel-size 8 --pipeline-model-parallel-size $PP $STAGE \
      --micro-batch-size $MICRO --global-batch-size $BATCH --train-iters 100 --lr 1.0e-4 ${KEEP[@]}"
srun --nodes=$NODES python -u pretrain_gpt.py $ARGS
