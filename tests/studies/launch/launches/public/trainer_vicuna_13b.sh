torchrun --nproc_per_node=8 --master_port=20001 fastchat/train/train_mem.py \
    --model_name_or_path ~/model_weights/llama-13b --bf16 True \
    --per_device_train_batch_size 4 --gradient_accumulation_steps 4 \
    --fsdp "full_shard auto_wrap offload" --fsdp_transformer_layer_cls_to_wrap 'LlamaDecoderLayer' \
    --tf32 True --model_max_length 2048 --gradient_checkpointing True --lazy_preprocess True
