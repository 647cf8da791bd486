def qwen3_30b_a3b() -> Trainer.Config:
    spec = model_registry("30B-A3B")
    return Trainer.Config(
        loss=ChunkedLossWrapper.Config(loss_fn=CrossEntropyLoss.Config(global_vocab_size=decoder_vocab_size(spec))),
        model_spec=spec,
        optimizer=default_adamw(lr=8e-4),
        training=TrainingConfig(num_tokens_per_microbatch_per_dp_rank=2 * 4096, max_context_length=4096, steps=3000),
        parallelism=ParallelismConfig(data_parallel_shard_degree=-1, tensor_parallel_degree=1, context_parallel_degree=1, pipeline_parallel_degree=1),
        activation_checkpoint=FullAC.Config(),
    )
