"""Training of OLMo 2 32B."""

from olmo_core.nn.transformer import TransformerConfig

RANK_BATCH = 4 * 4096
