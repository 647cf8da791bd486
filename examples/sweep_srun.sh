#!/bin/bash
# A sweep as one Slurm job: its ranks do one shard each, then their results are merged. Submitted from a folder that all nodes
# see, with stepcast on PATH: the built program of a checkout (build/release/stepcast), not the script at its root.
# $ sbatch --ntasks=8 sweep_srun.sh space.json
# Submitted again with as many tasks, it goes on from what is done.
#SBATCH --job-name=sweep
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --output=sweep.out
set -e

# %t is the rank; since Slurm 22.05 a step takes its CPUs per task only when it is told so.
srun --cpus-per-task="$SLURM_CPUS_PER_TASK" --output=shard-%t.out bash -c '
  exec stepcast sweep --space "$0" --shard auto --threads "$SLURM_CPUS_PER_TASK" \
    --resume -o "shard-$SLURM_PROCID.jsonl"' "$1"
stepcast merge shard-*.jsonl -o sweep.jsonl
