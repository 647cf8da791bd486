each=$1
out=$2
shift 2
torchrun --standalone --nnodes=1 --nproc_per_node=$each -m verl.trainer.fsdp_sft_trainer \
  data.train_files=$HOME/gsm8k/train.parquet data.micro_batch_size=4 optim.lr=1e-4 \
  model.partial_pretrain=ByteDance-Seed/Seed-OSS-36B-Base ulysses_sequence_parallel_size=2 use_remove_padding=true \
  trainer.default_local_dir=$out $@
