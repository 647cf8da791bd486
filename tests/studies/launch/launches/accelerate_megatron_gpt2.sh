accelerate launch --config_file accelerate_megatron.yaml examples/by_feature/megatron_lm_gpt_pretraining.py \
  --config_name "gpt2-large" --tokenizer_name "gpt2-large" --block_size 1024 \
  --dataset_name wikitext --dataset_config_name wikitext-2-raw-v1 \
  --per_device_train_batch_size 24 --per_device_eval_batch_size 24 --num_train_epochs 5 --learning_rate 5e-5 \
  --with_tracking --report_to "wandb" --output_dir "out"
