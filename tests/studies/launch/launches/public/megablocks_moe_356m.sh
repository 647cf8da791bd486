NUM_EXPERTS=64
CAPACITY_FACTOR=1
TOP_K=1
torchrun --nproc_per_node 8 --nnodes 1 third_party/Megatron-LM/pretrain_gpt.py \
--moe-num-experts=${NUM_EXPERTS} \
--moe-capacity-factor=${CAPACITY_FACTOR} \
--moe-loss-weight=0.1 \
--moe-top-k=${TOP_K} \
--num-layers 24 \
--hidden-size 1024 \
--num-attention-heads 16 \
--seq-length 1024 \
--max-position-embeddings 1024 \
--micro-batch-size 8 \
--global-batch-size 512 \
--vocab-file ../gpt2-vocab.json \
--make-vocab-size-divisible-by 1024 \
--fp16 \
--DDP-impl local \
--moe-expert-model-parallelism \
--no-async-tensor-model-parallel-allreduce
