#!/bin/bash
#SBATCH --ntasks-per-node=8
#SBATCH --exclusive --mem=0 --overcommit
# --define MODEL_SIZE=530B
SIZE=${MODEL_SIZE:-1.7B}
CHECKPOINTING="--activations-checkpoint-method uniform"
case $SIZE in
  1.7B) NODES=4   TP=1 PP=1  MICRO=16 BATCH=512  LAYERS=24  HIDDEN=2304  HEADS=24  IMPL=torch ;;
  3.6B) NODES=8   TP=2 PP=1  MICRO=16 BATCH=512  LAYERS=30  HIDDEN=3072  HEADS=32  IMPL=torch ;;
  7.5B) NODES=16  TP=4 PP=1  MICRO=16 BATCH=512  LAYERS=36  HIDDEN=4096  HEADS=32  IMPL=torch ;;
  18B)  NODES=32  TP=8 PP=1  MICRO=8  BATCH=1024 LAYERS=40  HIDDEN=6144  HEADS=48  IMPL=torch ;;
  39B)  NODES=64  TP=8 PP=2  MICRO=4  BATCH=1536 LAYERS=48  HIDDEN=8192  HEADS=64  IMPL=local ;;
  76B)  NODES=128 TP=8 PP=4  MICRO=2  BATCH=1792 LAYERS=60  HIDDEN=10240 HEADS=80  IMPL=local; CHUNK=5 ;;
  145B) NODES=192 TP=8 PP=8  MICRO=2  BATCH=2304 LAYERS=80  HIDDEN=12288 HEADS=96  IMPL=local; CHUNK=5 ;;
  310B) NODES=240 TP=8 PP=16 MICRO=1  BATCH=2160 LAYERS=96  HIDDEN=16384 HEADS=128 IMPL=local; CHUNK=3 ;;
  530B) NODES=315 TP=8 PP=35 MICRO=1  BATCH=2520 LAYERS=105 HIDDEN=20480 HEADS=128 IMPL=local; CHUNK=1 ;;
  1T)   NODES=384 TP=8 PP=64 MICRO=1  BATCH=3072 LAYERS=128 HIDDEN=25600 HEADS=160 IMPL=local ;;
  *) echo "no such size"; exit 1 ;;
esac
if [ -n "$CHUNK" ]; then
  CHECKPOINTING="$CHECKPOINTING --num-layers-per-virtual-pipeline-stage $CHUNK"
fi
PARAMS="${CHECKPOINTING} --num-layers ${LAYERS} --hidden-size ${HIDDEN} --num-attention-heads ${HEADS} \
  --seq-length 2048 --max-position-embeddings 2048 --fp16 --loss-scale 8192 \
  --micro-batch-size ${MICRO} --global-batch-size ${BATCH} --DDP-impl ${IMPL} \
  --pipeline-model-parallel-size ${PP} --tensor-model-parallel-size ${TP} \
  --lr 0.0001 --min-lr 0.00001 --lr-decay-style cosine --lr-decay-iters 320 --lr-warmup-fraction 0.01 \
  --train-iters 500 --clip-grad 1.0 --split 969,30,1 --log-interval 5 --eval-iters 100 --eval-interval 1000 \
  --data-path ${CORPUS} --vocab-file ${BPE_VOCAB} --merge-file ${BPE_MERGES}"
srun -l --nodes=${NODES} --container-image "nvcr.io#nvidia/pytorch:20.12-py3" \
  sh -c "python -u ${CODE}/pretrain_gpt.py ${PARAMS}"
