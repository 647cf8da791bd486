CUDA_VISIBLE_DEVICES=0,1,2,3 NPROC_PER_NODE=4 megatron sft --model Qwen/Qwen2.5-7B --dataset long --packing true \
  --max_length 32768 --tensor_model_parallel_size 4 --sequence_parallel true --micro_batch_size 1 \
  --global_batch_size 8 --recompute_granularity full --recompute_method uniform --recompute_num_layers 1 \
  --train_iters 1000 --cross_entropy_loss_fusion true
