#! /bin/bash
NNODES=1
GPUS_PER_NODE=8
HOST="--master_addr localhost --master_port 6000"
WHERE="--nnodes $NNODES --node_rank 0 --nproc_per_node $GPUS_PER_NODE $HOST"
CKPT=${CKPT:-checkpoints/gpt}
python -m torch.distributed.launch $WHERE pretrain_gpt.py \
   --fp16 --checkpoint-activations \
   --num-layers 24 --num-attention-heads 16 --hidden-size 1024 \
   --seq-length 1024 --max-position-embeddings 1024 \
   --pipeline-model-parallel-size 2 --tensor-model-parallel-size 2 \
   --global-batch-size 16 --micro-batch-size 4 \
   --lr-decay-style cosine --lr 0.00015 --min-lr 1.0e-5 --lr-warmup-fraction .01 \
   --lr-decay-iters 320000 --train-iters 500000 \
   --clip-grad 1.0 --weight-decay 1e-2 \
   --data-impl mmap --data-path $DATA --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt \
   --split 949,50,1 --distributed-backend nccl \
   --load $CKPT --save $CKPT --save-interval 10000 \
   --eval-iters 10 --eval-interval 1000 --log-interval 100
