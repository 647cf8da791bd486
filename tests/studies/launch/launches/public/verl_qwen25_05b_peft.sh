each=$1
out=$2
shift 2
torchrun --standalone --nnodes=1 --nproc_per_node=$each -m verl.trainer.fsdp_sft_trainer \
  data.train_files=$HOME/gsm8k/train.parquet data.val_files=$HOME/gsm8k/test.parquet data.prompt_key=extra_info \
  data.response_key=extra_info data.micro_batch_size_per_gpu=4 optim.lr=1e-4 \
  model.partial_pretrain=Qwen/Qwen2.5-0.5B-Instruct model.lora_rank=32 model.lora_alpha=16 \
  model.target_modules=all-linear trainer.default_local_dir=$out trainer.total_epochs=1 $@
