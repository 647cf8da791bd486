#!/bin/bash
# Llama 3.1 70B on four H100 with vLLM, and the benchmark that loads it.
MODEL=meta-llama/Llama-3.1-70B-Instruct

vllm serve $MODEL \
  --tensor-parallel-size 4 \
  --quantization fp8 \
  --kv-cache-dtype fp8 \
  --max-num-batched-tokens 8192 \
  --gpu-memory-utilization 0.92 \
  --no-enable-prefix-caching \
  --async-scheduling \
  --port 8000 &

vllm bench serve --model $MODEL --dataset-name random \
  --random-input-len 1024 --random-output-len 256 \
  --num-prompts 320 --max-concurrency 32
