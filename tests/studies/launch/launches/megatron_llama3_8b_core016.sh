#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=${CUDA_DEVICE_MAX_CONNECTIONS:-1}
CHECKPOINTS=${1:-"checkpoints/llama3_8b_fp8"}
BOARD=${2:-"tensorboard_logs/llama3_8b_fp8"}
TOKENIZER=${3:-"MOCK"}
DATA=${4:-"MOCK"}
mkdir -p "$(dirname "$CHECKPOINTS")"
CACHE="${PWD}/benchmark_cache_llama3_8b_fp8"
PROGRAM="pretrain_gpt.py"
TP=1 CP=1 MBS=1 GBS=128 LENGTH=8192 LAYERS=32
NUMBERS="fp8"

RANKS=(--nnodes 1 --node_rank ${NODE_RANK:-0} --nproc_per_node 8
       --master_addr ${MASTER_ADDR:-localhost} --master_port ${MASTER_PORT:-6000})
NETWORK=(
  --use-mcore-models --num-layers $LAYERS --hidden-size 4096 --ffn-hidden-size 14336 --swiglu
  --num-attention-heads 32 --group-query-attention --num-query-groups 8 --kv-channels 128
  --seq-length $LENGTH --max-position-embeddings $LENGTH
  --position-embedding-type rope --rotary-base 1000000 --rotary-percent 1.0
  --attention-dropout 0.0 --hidden-dropout 0.0 --attention-backend fused
  --disable-bias-linear --untie-embeddings-and-output-weights --apply-layernorm-1p
  --init-method-std 0.0134
)
TRAIN=(
  --micro-batch-size $MBS --global-batch-size $GBS
  --train-samples 1953125000 --lr-warmup-samples 3906252 --lr-decay-samples 1949218748
  --lr 0.00015 --min-lr 0.00001 --decoupled-lr 5.0e-4 --decoupled-min-lr 4.5e-5 --lr-decay-style cosine
  --bf16 --grad-reduce-in-bf16 --cross-entropy-loss-fusion --calculate-per-token-loss
  --clip-grad 1.0 --weight-decay 0.1 --adam-beta1 0.9 --adam-beta2 0.95
  --manual-gc --empty-unused-memory-level 1 --exit-duration-in-mins 235
)
EIGHT=()
if [[ "$NUMBERS" == "fp8" ]]; then
  EIGHT+=("--fp8-param-gather" "--fp8-format hybrid" "--fp8-amax-compute-algo max" "--fp8-amax-history-len 1024")
fi
SPLIT=(--sequence-parallel --tensor-model-parallel-size $TP --context-parallel-size $CP)
OVERLAP=(--overlap-param-gather --overlap-grad-reduce --use-distributed-optimizer)
TRAIN+=("${OVERLAP[@]}")
INPUT=()
if [[ "$TOKENIZER" == "MOCK" ]] || [[ "$DATA" == "MOCK" ]] || [[ -z "$TOKENIZER" ]]; then
  INPUT+=("--mock-data" "--tokenizer-type NullTokenizer" "--tiktoken-pattern v2")
else
  INPUT+=("--data-path $DATA" "--tokenizer-type HuggingFaceTokenizer" "--tokenizer-model $TOKENIZER")
fi
INPUT+=("--vocab-size 128256" "--data-cache-path ${CACHE}" "--split '99,1,0'" "--num-workers 1"
        "--no-create-attention-mask-in-dataloader" "--no-mmap-bin-files")
REPORT=(
  --log-interval 1 --log-throughput --eval-iters 32 --eval-interval 100 --save-interval 1000
  --profile --profile-step-start 4 --profile-step-end 6
  --ckpt-format torch_dist --distributed-timeout-minutes 60
  --save "$CHECKPOINTS" --load "$CHECKPOINTS" --tensorboard-dir "$BOARD"
)
if [ ! -f "$PROGRAM" ]; then
  echo "start it where $PROGRAM is"
  exit 1
fi
torchrun ${RANKS[@]} "$PROGRAM" \
  ${NETWORK[@]} ${TRAIN[@]} ${EIGHT[@]} \
  ${SPLIT[@]} ${INPUT[@]} ${REPORT[@]}
