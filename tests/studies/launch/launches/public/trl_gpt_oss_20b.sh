accelerate launch --config_file accelerate/trl_zero3.yaml examples/scripts/sft_gpt_oss.py \
  --model_name_or_path openai/gpt-oss-20b --dtype bfloat16 --packing --max_length 4096 \
  --dataset_name HuggingFaceH4/Multilingual-Thinking --per_device_train_batch_size 2 --num_train_epochs 1 \
  --attn_implementation kernels-community/vllm-flash-attn3 --lr_scheduler_type cosine_with_min_lr
