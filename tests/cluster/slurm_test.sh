#!/usr/bin/env bash
# The Slurm examples on a real Slurm: submitted as their heads say, they give the bytes of one process; also when submitted again.
source "$(dirname "$0")/common.sh"
source "$here/slurm.sh"
need "slurmctld slurmd slurm-client munge" munged slurmctld slurmd sbatch srun squeue
write_space
start_slurm

# submit EXAMPLE: in a folder of its own, as a user types it.
submit() {
  folder=$work/${1%.sh}
  mkdir -p "$folder" && cp "$checkout/examples/$1" space.json "$folder/"
  must "$1" bash -ec "cd '$folder'; $(commands_of "$1")"
  wait_for_jobs "$1"
}

# check_merged EXAMPLE SHARDS
check_merged() {
  same_bytes "$1" "$folder/sweep.jsonl" whole.jsonl
  local shards=("$folder"/shard-*.jsonl)
  ((${#shards[@]} == $2)) || wrong "$1: ${#shards[@]} shards instead of $2" "$(tail -n 20 "$folder"/*.out)"
}

submit sweep_slurm_array.sh
check_merged sweep_slurm_array.sh 8
grep -q "Slurm array task 5" "$folder/shard-5.out" || wrong "the report does not say whose shard it is" "$(<"$folder/shard-5.out")"

# What one task found is lost: it is done again, the others end at once.
rm "$folder/shard-3.jsonl" "$folder/sweep.jsonl"
submit sweep_slurm_array.sh
check_merged "the array submitted again" 8

# Slurm's SIGTERM reaches the program, which says what it has kept. The widest space keeps a thread busy for a quarter of a minute.
folder=$work/cancelled
mkdir "$folder" && cp "$checkout/examples/spaces/gpt3-175b-3072.json" "$checkout/examples/sweep_slurm_array.sh" "$folder/"
must "a long sweep" sbatch --chdir="$folder" --array=0-0 --wrap='exec bash sweep_slurm_array.sh gpt3-175b-3072.json' --output=shard-%a.out --cpus-per-task=1
wait_for "its file" test -e "$folder/shard-0.jsonl"
scancel --user="$(id -un)"
wait_for_jobs "the cancelled job"
grep -q "go on with the same command and --resume" "$folder/shard-0.out" || wrong "a cancelled job" "$(<"$folder/shard-0.out")"

submit sweep_srun.sh
check_merged sweep_srun.sh 8
finish
