#!/bin/bash
export NCCL_IB_SL=1 NCCL_IB_TIMEOUT=19
export NVTE_FWD_LAYERNORM_SM_MARGIN=16
export NVTE_BWD_LAYERNORM_SM_MARGIN=16
export TORCH_NCCL_AVOID_RECORD_STREAMS=1
OUT=${OUTPUT_PATH:-"runs/deepseek"}
FSDP=${USE_MEGATRON_FSDP:-1}
SHARDS=${SHARDING_STRATEGY:-"optim_grads_params"}
TP=${TP:-1} EP=${EP:-8} MBS=${MBS:-4} GBS=${GBS:-2048}
ARGS=(
  --use-mcore-models --transformer-impl transformer_engine --use-flash-attn --bf16 --enable-experimental
  --tensor-model-parallel-size ${TP} --context-parallel-size 1 --sequence-parallel
  --expert-model-parallel-size ${EP} --expert-tensor-parallel-size 1
  --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
  --recompute-granularity selective --recompute-modules mlp moe mla_up_proj layernorm
  --micro-batch-size ${MBS} --global-batch-size ${GBS} --seq-length 4096 --max-position-embeddings 4096
  --num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 --kv-channels 128
  --multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512
  --qk-head-dim 128 --qk-pos-emb-head-dim 64 --v-head-dim 128 --qk-layernorm
  --position-embedding-type rope --rotary-base 10000 --rotary-scaling-factor 40 --mscale 1.0 --mscale-all-dim 1.0
  --normalization RMSNorm --norm-epsilon 1e-6 --swiglu --disable-bias-linear
  --untie-embeddings-and-output-weights --make-vocab-size-divisible-by 3232
  --num-experts 256 --moe-router-topk 8 --moe-layer-freq [0]*3+[1]*58
  --moe-ffn-hidden-size 2048 --moe-shared-expert-intermediate-size 2048
  --moe-router-score-function sigmoid --moe-router-enable-expert-bias --moe-router-bias-update-rate 1e-3
  --moe-router-num-groups 8 --moe-router-group-topk 4 --moe-router-topk-scaling-factor 2.5
  --moe-router-pre-softmax --moe-router-dtype fp32 --moe-router-force-load-balancing
  --moe-router-load-balancing-type seq_aux_loss --moe-aux-loss-coeff 1e-4
  --moe-grouped-gemm --moe-permute-fusion --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep
  --mtp-num-layers 1 --mtp-loss-scaling-factor 0.1
  --attention-dropout 0.0 --hidden-dropout 0.0 --init-method-std 0.02
  --lr 3.9e-6 --min-lr 3.9e-7 --lr-decay-style cosine --lr-warmup-init 3.9e-7
  --train-samples 585937500 --lr-decay-samples 584765624 --lr-warmup-samples 1536000
  --clip-grad 1.0 --weight-decay 0.1 --adam-beta1 0.9 --adam-beta2 0.95
  --no-check-for-nan-in-loss-and-grad --manual-gc --manual-gc-interval 10
  --exit-duration-in-mins 220 --distributed-timeout-minutes 60
  --tokenizer-type HuggingFaceTokenizer --tokenizer-model deepseek-ai/DeepSeek-V3
  --data-path ${DATA_PATH:-"corpus"} --data-cache-path ${OUT}/cache --split 99,1,0
  --no-mmap-bin-files --no-create-attention-mask-in-dataloader --num-workers 6
  --eval-iters 32 --eval-interval 100 --save-interval 100 --auto-detect-ckpt-format
  --load ${OUT}/checkpoints --save ${OUT}/checkpoints --dist-ckpt-strictness log_all
  --log-interval 1 --logging-level 40 --log-throughput --log-params-norm --log-num-zeros-in-grad
  --log-timers-to-tensorboard --log-memory-to-tensorboard --log-validation-ppl-to-tensorboard
  --tensorboard-dir ${OUT}/tensorboard
)
if [ "${FSDP}" = 1 ]; then
  unset CUDA_DEVICE_MAX_CONNECTIONS
  ARGS=("${ARGS[@]}" --use-megatron-fsdp --data-parallel-sharding-strategy ${SHARDS}
    --fsdp-double-buffer --use-nccl-ub --no-gradient-accumulation-fusion --calculate-per-token-loss
    --init-model-with-meta-device --ckpt-format fsdp_dtensor
    --megatron-fsdp-main-grads-dtype bf16 --megatron-fsdp-grad-comm-dtype bf16)
fi
CMD="
cd ${MEGATRON_PATH};
python ${MEGATRON_PATH}/pretrain_gpt.py ${ARGS[@]}"
sbatch <<EOF
#!/bin/bash
srun --mpi=pmix -l --container-image=${CONTAINER_IMAGE} \
  bash -x -c "${CMD}" 2>&1 | tee ${OUT}/\${SLURM_JOB_ID}.log
EOF
