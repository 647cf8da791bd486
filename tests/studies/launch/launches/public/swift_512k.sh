NPROC_PER_NODE=8 swift sft --model Qwen/QwQ-32B --tuner_type lora --dataset long --torch_dtype bfloat16 \
  --per_device_train_batch_size 1 --gradient_accumulation_steps 2 --packing true --max_length 512000 \
  --use_liger_kernel true --deepspeed zero3_offload --attn_impl flash_attn --sequence_parallel_size 8
