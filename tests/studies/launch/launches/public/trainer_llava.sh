deepspeed llava/train/train_mem.py --deepspeed ./scripts/zero3.json \
    --model_name_or_path lmsys/vicuna-13b-v1.5 --version v1 --vision_tower openai/clip-vit-large-patch14-336 \
    --bf16 True --per_device_train_batch_size 16 --gradient_accumulation_steps 1 --model_max_length 2048
