#!/usr/bin/env bash
# The example for Open MPI: run as its head says, it gives the bytes of one process; a rank that fails makes the whole fail.
source "$(dirname "$0")/common.sh"
need openmpi-bin mpirun
# Root, and more ranks than cores, are refused unless asked for.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
write_space
cp "$checkout/examples/sweep_mpirun.sh" .
command=$(commands_of sweep_mpirun.sh | head -n 1)

must "the example" bash -ec "$command"
same_bytes "four ranks" sweep.jsonl whole.jsonl
grep -q "shard 2/4" shard-2.out || wrong "the report does not say whose shard it is" "$(<shard-2.out)"

rm sweep.jsonl shard-1.jsonl
must "the example again" bash -ec "$command"
same_bytes "a shard that was lost" sweep.jsonl whole.jsonl

rm sweep.jsonl
echo "notes" >shard-1.jsonl
bash -ec "$command" >out 2>&1 && wrong "a rank could not go on, and the whole passed"
[[ $(<shard-1.jsonl) == notes ]] || wrong "what was no result is lost"
[[ ! -e sweep.jsonl ]] || wrong "three of four shards were merged"
finish
