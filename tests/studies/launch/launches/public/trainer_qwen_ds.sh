MODEL="Qwen/Qwen-7B"
torchrun --nproc_per_node 8 --nnodes 1 finetune.py \
    --model_name_or_path $MODEL --data_path data.json --bf16 True --per_device_train_batch_size 1 \
    --gradient_accumulation_steps 16 --model_max_length 512 --gradient_checkpointing True --lazy_preprocess True \
    --deepspeed finetune/ds_config_zero3.json
