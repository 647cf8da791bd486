from nemo.collections import llm
from nemo.collections.llm.recipes import llama31_70b
import nemo_run as run
from scripts.performance.helpers import set_primary_perf_configs


def recipe(profile_enabled: bool = False) -> run.Partial:
  pretrain = llama31_70b.pretrain_recipe(performance_mode=True)

  mbs = 1
  gbs = 1024
  tp_size = 2

  pretrain = set_primary_perf_configs(
      pretrain,
      "pre_train",
      num_nodes=2,
      mbs=mbs,
      gbs=gbs,
      tp_size=tp_size,
  )
  pretrain.data.seq_length = 8192
  return pretrain
