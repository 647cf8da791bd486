# s1: full_shard on as many GPUs as a node has
base_model="Qwen/Qwen2.5-32B-Instruct"
micro_batch_size=1
gpu_count=$(nvidia-smi -L | wc -l)
torchrun --nproc-per-node ${gpu_count} --master_port 12345 train/sft.py \
    --block_size=32768 \
    --per_device_train_batch_size=${micro_batch_size} \
    --gradient_accumulation_steps=1 \
    --train_file_path="simplescaling/s1K_tokenized" \
    --model_name=${base_model} \
    --fsdp="full_shard auto_wrap" \
    --fsdp_config="train/fsdp_config_qwen.json" \
    --bf16=True \
    --learning_rate=1e-5 \
    --save_only_model=True
