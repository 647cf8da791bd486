nnodes=2
each=4
torchrun --nproc_per_node=$each --nnodes=$nnodes --node_rank=0 --master_addr=127.0.0.1 swift/cli/sft.py \
  --model Qwen/Qwen2.5-7B-Instruct --tuner_type full --dataset alpaca --torch_dtype bfloat16 --max_length 8192 \
  --per_device_train_batch_size 1 --gradient_accumulation_steps $(expr 32 / $each / $nnodes) --deepspeed zero2
