#!/bin/bash
#SBATCH --nodes 16
#SBATCH --ntasks-per-node=8
srun python -m open_lm.main --train-num-samples 25000000000 --dataset-resampled --precision amp_bfloat16 \
    --batch-size 10 --grad-checkpointing --model m1b_neox --fsdp --fsdp-amp
