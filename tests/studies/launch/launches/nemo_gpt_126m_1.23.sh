python examples/nlp/language_modeling/megatron_gpt_pretraining.py \
  --config-name=megatron_gpt_config --config-path=conf \
  trainer.num_nodes=1 trainer.devices=1 trainer.precision=16 trainer.accumulate_grad_batches=1 \
  trainer.max_steps=300000 trainer.max_epochs=null trainer.val_check_interval=300 trainer.log_every_n_steps=50 \
  trainer.limit_val_batches=50 trainer.limit_test_batches=50 \
  model.num_layers=12 model.hidden_size=768 model.ffn_hidden_size=3072 model.num_attention_heads=12 \
  model.encoder_seq_length=1024 model.max_position_embeddings=1024 \
  model.micro_batch_size=6 model.global_batch_size=192 \
  model.tensor_model_parallel_size=1 model.pipeline_model_parallel_size=1 \
  model.init_method_std=0.021 model.hidden_dropout=0.1 model.layernorm_epsilon=1e-5 \
  model.tokenizer.vocab_file=gpt2-vocab.json model.tokenizer.merge_file=gpt2-merges.txt \
  model.data.data_prefix=[1.0,text_document] model.data.num_workers=2 model.data.seq_length=1024 \
  model.data.splits_string=\'980,10,10\' \
  model.optim.name=fused_adam model.optim.lr=6e-4 model.optim.betas=[0.9,0.95] model.optim.weight_decay=0.1 \
  model.optim.sched.name=CosineAnnealing model.optim.sched.warmup_steps=750 \
  model.optim.sched.constant_steps=80000 model.optim.sched.min_lr=6e-5 \
  exp_manager.resume_if_exists=True exp_manager.resume_ignore_no_checkpoint=True \
  exp_manager.create_checkpoint_callback=True
