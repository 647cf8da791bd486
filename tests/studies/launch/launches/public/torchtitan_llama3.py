from torchtitan.trainer import Trainer

from . import model_registry


def no_configuration(config: Trainer.Config) -> None:
    config.training.steps = 7


def llama3_8b() -> Trainer.Config:
    """One sequence per rank: the text of a function is passed over (even its brackets."""
    spec = model_registry("8B")
    return Trainer.Config(
        model_spec=spec,  # flavor
        loss=ChunkedLossWrapper.Config(loss_fn=CrossEntropyLoss.Config(global_vocab_size=decoder_vocab_size(spec))),
        optimizer=default_adamw(lr=3e-4),
        training=TrainingConfig(num_tokens_per_microbatch_per_dp_rank=1 * 8192, max_context_length=8192, steps=1000),
        dataloader=GrainDataLoader.Config(dataset=ConcatThenSplitPackingConfig(dataset=DATASETS["c4"])),
        activation_checkpoint=SelectiveAC.Config(),
        validator=Validator.Config(freq=500, steps=1200),
    )


def llama3_8b_mxfp8() -> Trainer.Config:
    config = llama3_8b()
    config.compile = CompileConfig(enable=True, components=["model"])
    config.model_spec = model_registry("8B", converters=[MXFP8LinearConverter.Config(model_compile_enabled=True)])
    return config


def llama3_8b_first_85_pct_layers_nvfp4() -> Trainer.Config:
    config = llama3_8b()
    assert config.model_spec is not None
    n_layers = len(cast(Llama3Model.Config, config.model_spec.model).layers)
    fqns = nvfp4_bf16_tail_fqns(n_layers, 0.15)
    config.model_spec = model_registry("8B", converters=[NVFP4LinearConverter.Config(fqns=fqns)])
    return config


def llama3_70b() -> Trainer.Config:
    return Trainer.Config(
        model_spec=model_registry("70B"),
        optimizer=default_adamw(lr=1.5e-4),
        training=TrainingConfig(num_tokens_per_microbatch_per_dp_rank=8 * 8192, max_context_length=8192, steps=1000),
        parallelism=ParallelismConfig(tensor_parallel_degree=8),
        activation_checkpoint=FullAC.Config(),
    )


def llama3_405b() -> Trainer.Config:
    compiled = CompileConfig(enable=True, enable_async_tensor_parallel=True)
    spec = model_registry(
        "405B", converters=[Float8LinearConverter.Config(filter_fqns=["lm_head"], model_compile_enabled=compiled.enable)]
    )
    return Trainer.Config(
        model_spec=spec,
        optimizer=default_adamw(lr=8e-5),
        lr_scheduler=LRSchedulersContainer.Config(warmup_steps=600),
        training=TrainingConfig(num_tokens_per_microbatch_per_dp_rank=2 * 8192, max_context_length=8192, steps=3000),
        parallelism=ParallelismConfig(tensor_parallel_degree=8),
        activation_checkpoint=FullAC.Config(),
        compile=compiled,
    )
