python mason.py \
    --cluster ai2/jupiter \
    --num_nodes 8 \
    --gpus 8 -- accelerate launch \
    --mixed_precision bf16 \
    --num_processes 8 \
    --use_deepspeed \
    --deepspeed_config_file stage3.conf \
    open_instruct/finetune.py \
    --exp_name olmo2_13b_sft \
    --model_name_or_path allenai/OLMo-2-1124-13B \
    --use_slow_tokenizer False \
    --add_bos \
    --dataset_mixer_list allenai/tulu-3-sft-olmo-2-mixture-0225 1.0 \
    --max_seq_length 4096 \
    --per_device_train_batch_size 1 \
    --gradient_accumulation_steps 1 \
    --gradient_checkpointing
