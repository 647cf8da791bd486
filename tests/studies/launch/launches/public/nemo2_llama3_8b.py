import lightning.pytorch as pl
import nemo_run as run
from nemo import lightning as nl


def pretrain_recipe(num_nodes: int = 1, num_gpus_per_node: int = 8):
    return run.Partial(pretrain, model=model(), trainer=trainer(num_nodes=num_nodes))
