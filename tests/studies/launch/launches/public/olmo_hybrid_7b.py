from olmo_core.internal.experiment import CliContext, ExperimentConfig, main
from olmo_core.train.train_module import TransformerTrainModuleConfig

def build(cli: CliContext) -> ExperimentConfig:
    module = TransformerTrainModuleConfig(rank_microbatch_size=8192, max_sequence_length=8192)
    return ExperimentConfig(run_name="hybrid", train_module=module)

if __name__ == "__main__":
    main(build)
