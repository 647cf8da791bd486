#! /bin/bash
PER_NODE=8
python -m torch.distributed.launch --nproc_per_node ${PER_NODE} --nnodes 1 --node_rank 0 \
       --master_addr localhost --master_port 6000 \
       pretrain_gpt2.py --model-parallel-size 1 --fp16 --checkpoint-activations \
       --batch-size 8 --seq-length 1024 --max-position-embeddings 1024 \
       --hidden-size 1024 --num-layers 24 --num-attention-heads 16 \
       --lr 0.00015 --min-lr 1.0e-5 --lr-decay-style cosine --lr-decay-iters 320000 --warmup .01 \
       --train-iters 500000 --weight-decay 1e-2 --clip-grad 1.0 \
       --vocab-file gpt2-vocab.json --merge-file gpt2-merges.txt --data-impl mmap \
       --data-path $DATA_PATH --split 949,50,1 --distributed-backend nccl \
       --save $CHECKPOINT_PATH --load $CHECKPOINT_PATH --save-interval 10000 \
       --log-interval 100 --eval-interval 1000 --eval-iters 10
