#!/bin/bash
#SBATCH --exclusive
#SBATCH --ntasks-per-node=8
#SBATCH --nodes=128
#SBATCH --job-name=gpt3_175b

HERE=`pwd`
WHEN=`date +'%y-%m-%d_%H-%M'`
mkdir -p $HERE/logs
BLEND="0.2 ${FIRST} 0.3 ${SECOND} 0.5 ${THIRD}"

args="--fp16 \
  --activations-checkpoint-method uniform \
  --pipeline-model-parallel-size 16 --tensor-model-parallel-size 8 \
  --hidden-size 12288 --num-layers 96 --num-attention-heads 96 \
  --max-position-embeddings 2048 --seq-length 2048 \
  --global-batch-size 1536 --micro-batch-size 1 \
  --rampup-batch-size 16 16 5859375 \
  --train-samples 146484375 --lr-warmup-samples 183105 --lr-decay-samples 126953125 \
  --lr-decay-style cosine --min-lr 6.0e-6 --lr 6.0e-5 \
  --init-method-std 0.006 --adam-beta1 0.9 --adam-beta2 0.95 --weight-decay 0.1 --clip-grad 1.0 "
args+=" --data-path ${BLEND} --vocab-file ${VOCAB} --merge-file ${MERGES} --split 98,2,0 \
  --save ${CHECKPOINTS} --load ${CHECKPOINTS} --save-interval 1000 \
  --eval-interval 1000 --eval-iters 40 --log-interval 10 --tensorboard-dir ${BOARD}"

srun -l --container-image "nvcr.io/nvidia/pytorch:20.12-py3" --output=$HERE/logs/%x_%j_$WHEN.log \
  sh -c "python -u ${HERE}/pretrain_gpt.py $@ ${args}"
