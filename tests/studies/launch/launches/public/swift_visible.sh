CUDA_VISIBLE_DEVICES=0 \
swift sft \
    --model Qwen/Qwen2.5-7B-Instruct \
    --tuner_type lora \
    --packing true \
    --torch_dtype bfloat16 \
    --per_device_train_batch_size 1 \
    --lora_rank 8 \
    --target_modules all-linear \
    --gradient_accumulation_steps 4 \
    --max_length 2048
