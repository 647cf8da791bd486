#!/bin/bash
# A sweep as a Slurm array: every task does one shard, a job behind them merges. Both are submitted from a folder that all
# nodes see, with stepcast on PATH: the built program of a checkout (build/release/stepcast), not the script at its root,
# which would build in every task.
# $ array=$(sbatch --parsable --array=0-7 sweep_slurm_array.sh space.json)
# $ sbatch --dependency=afterok:$array --kill-on-invalid-dep=yes --job-name=merge --wrap='stepcast merge shard-*.jsonl -o sweep.jsonl'
# Submitted again after a failure or a time limit, tasks go on from what is done; those that are through end at once. To hand in
# a part of the array alone (--array=3), write --shard auto/8 below: Slurm does not tell a part how large the whole was.
#SBATCH --job-name=sweep
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --output=shard-%a.out

# exec: Slurm's SIGTERM before the time limit must reach the program, which then saves what it has.
exec stepcast sweep --space "$1" --shard auto --threads "$SLURM_CPUS_PER_TASK" \
  --resume -o "shard-$SLURM_ARRAY_TASK_ID.jsonl"
