torchrun --standalone --nnodes=1 --nproc-per-node=8 -m verl.trainer.sft_trainer data.train_files=$HOME/captions.parquet \
  data.train_batch_size=96 data.max_length=2048 data.pad_mode=no_padding data.use_dynamic_bsz=True \
  data.max_token_len_per_gpu=65536 model.path=Qwen/Qwen3-VL-2B-Instruct model.use_remove_padding=True engine=fsdp \
  optim=fsdp engine.ulysses_sequence_parallel_size=2 engine.strategy=fsdp2 engine.fsdp_size=-1
