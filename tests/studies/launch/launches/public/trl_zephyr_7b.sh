ACCELERATE_LOG_LEVEL=info accelerate launch --config_file zephyr_zero3.yaml scripts/sft.py --config trl_zephyr_7b.yaml
