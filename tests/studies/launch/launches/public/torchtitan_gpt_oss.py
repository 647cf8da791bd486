def gpt_oss_120b() -> Trainer.Config:
    spec = model_registry("120b")
    return Trainer.Config(
        loss=ChunkedLossWrapper.Config(loss_fn=CrossEntropyLoss.Config(global_vocab_size=decoder_vocab_size(spec))),
        model_spec=spec,
        optimizer=default_adamw(lr=8e-4),
        training=TrainingConfig(num_tokens_per_microbatch_per_dp_rank=1 * 8192, max_context_length=8192, steps=10000),
        parallelism=ParallelismConfig(expert_parallel_degree=1),
        activation_checkpoint=FullAC.Config(),
    )
