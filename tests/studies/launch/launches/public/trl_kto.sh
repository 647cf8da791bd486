accelerate launch --num_processes 8 --mixed_precision bf16 trl/scripts/kto.py \
  --model_name_or_path Qwen/Qwen2-0.5B-Instruct --dataset_name trl-lib/kto-mix-14k --num_train_epochs 1
