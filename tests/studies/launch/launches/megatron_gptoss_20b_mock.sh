#!/bin/bash
PER_NODE=${GPUS_PER_NODE:-8}
NODES=${NUM_NODES:-1}
STAGES=$(($PER_NODE*$NODES))
SHAPE=(--num-layers 12 --hidden-size 512 --ffn-hidden-size 2048 --num-attention-heads 64
  --group-query-attention --num-query-groups 8 --normalization RMSNorm --quick-geglu
  --glu-linear-offset 1.0 --activation-func-clamp-value 7.0 --softmax-type learnable
  --window-size 127,0 --window-attn-skip-freq 2 --enable-gpt-oss
  --position-embedding-type rope --rope-type rope --rotary-base 10000 --rotary-percent 1.0
  --seq-length 8192 --max-position-embeddings 8192
  --disable-bias-linear --untie-embeddings-and-output-weights)
KERNELS=(--use-mcore-models --transformer-impl transformer_engine --use-flash-attn --attention-softmax-in-fp32
  --no-masked-softmax-fusion --no-rope-fusion --no-bias-gelu-fusion --no-bias-dropout-fusion
  --export-force-local-attention --disable-bf16-reduced-precision-matmul)
EXPERTS=(--num-experts 4 --moe-router-topk 2 --moe-ffn-hidden-size 2048 --moe-grouped-gemm --moe-permute-fusion
  --moe-router-load-balancing-type aux_loss --moe-aux-loss-coeff 1e-3 --moe-z-loss-coeff 1e-3
  --moe-router-dtype fp32 --moe-token-dispatcher-type alltoall --overlap-param-gather --overlap-grad-reduce)
python -m torch.distributed.run --nproc_per_node $PER_NODE --nnodes $NODES --node_rank ${NODE_RANK:-0} \
  --master_addr ${MASTER_ADDR:-localhost} --master_port ${MASTER_PORT:-29500} pretrain_gpt.py \
  ${SHAPE[@]} ${KERNELS[@]} ${EXPERTS[@]} \
  --pipeline-model-parallel-size ${STAGES} --tensor-model-parallel-size 1 --expert-model-parallel-size 1 \
  --context-parallel-size 1 --sequence-parallel --use-distributed-optimizer \
  --micro-batch-size 1 --global-batch-size 128 --bf16 --recompute-activations \
  --fp8-format hybrid --fp8-param-gather --fp8-amax-compute-algo max --fp8-amax-history-len 1024 \
  --accumulate-allreduce-grads-in-fp32 \
  --lr 1.0e-5 --min-lr 1.0e-6 --lr-decay-style cosine --lr-warmup-fraction 0.05 \
  --train-samples 1953125000 --lr-decay-samples 1949218748 --weight-decay 0.1 --clip-grad 1.0 \
  --mock-data --tokenizer-type NullTokenizer --vocab-size 128256 --tiktoken-pattern v2 \
  --data-cache-path "${PWD}/cache" --split '99,1,0' --num-workers 1 \
  --no-create-attention-mask-in-dataloader --no-mmap-bin-files \
  --log-interval 1 --log-throughput --moe-per-layer-logging --eval-interval 50000000 --eval-iters 0 \
  --save-interval 10000 --save $SAVED --no-load-optim --no-load-rng --tensorboard-dir "${SAVED}/tensorboard"
