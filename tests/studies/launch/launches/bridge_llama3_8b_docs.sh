uv run python scripts/training/run_recipe.py --recipe llama3_8b_pretrain_2gpu_h100_bf16_config \
  --dataset mock --mode pretrain \
  model.num_layers=32 model.num_attention_heads=32 model.hidden_size=4096 \
  dataset.seq_length=4096 model.max_position_embeddings=4096 \
  train.global_batch_size=128 train.micro_batch_size=2 \
  checkpoint.save_interval=1000 checkpoint.save=ckpts logger.wandb_exp_name=exp1 logger.wandb_project=my_proj
