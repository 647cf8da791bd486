NPROC_PER_NODE=8 swift sft --model Qwen/Qwen2.5-32B --tuner_type full --dataset distilled --torch_dtype bfloat16 \
  --packing true --max_length 8192 --per_device_train_batch_size 1 --gradient_accumulation_steps 2 \
  --deepspeed zero3 --use_liger_kernel true --attn_impl flash_attn --learning_rate 1e-5
