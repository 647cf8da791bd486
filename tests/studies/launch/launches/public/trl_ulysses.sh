accelerate launch --config_file accelerate/trl_ulysses.yaml trl/scripts/sft.py --model_name_or_path Qwen/Qwen2.5-0.5B \
  --dataset_name trl-lib/Capybara --max_length 4096 --packing --packing_strategy wrapped --dtype bfloat16 \
  --attn_implementation flash_attention_2 --max_steps 100 --learning_rate 2e-4
