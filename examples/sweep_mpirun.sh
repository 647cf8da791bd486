#!/bin/bash
# A sweep on the ranks of Open MPI: one shard each, then their results are merged. Run in a folder that all nodes see, with
# stepcast on PATH: the built program of a checkout (build/release/stepcast), not the script at its root. Words behind the
# number of ranks are mpirun's.
# $ bash sweep_mpirun.sh space.json 4
# $ bash sweep_mpirun.sh space.json 256 --hostfile nodes
# Run again with as many ranks, it goes on from what is done.
set -e
space=$1 ranks=$2
shift 2

# mpirun gives each rank a core of its own, so that each works with one thread.
mpirun -n "$ranks" "$@" bash -c '
  exec stepcast sweep --space "$0" --shard auto --threads 1 \
    --resume -o "shard-$OMPI_COMM_WORLD_RANK.jsonl" >"shard-$OMPI_COMM_WORLD_RANK.out"' "$space"
stepcast merge shard-*.jsonl -o sweep.jsonl
