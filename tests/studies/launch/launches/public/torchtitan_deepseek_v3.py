def deepseek_v3_16b() -> Trainer.Config:
    return Trainer.Config(
        model_spec=model_registry("16B", attn_backend="flex"),
        optimizer=default_adamw(lr=2.2e-4),
        training=TrainingConfig(num_tokens_per_microbatch_per_dp_rank=4 * 4096, max_context_length=4096, steps=1000, disable_cuda_graphs=True),
        parallelism=ParallelismConfig(pipeline_parallel_schedule="Interleaved1F1B", expert_parallel_degree=8),
        activation_checkpoint=SelectiveAC.Config(),
        compile=CompileConfig(enable=True, components=["loss"]),
    )
