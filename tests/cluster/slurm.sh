# Sourced after common.sh: start_slurm starts a Slurm of one node in the work folder, as any user and without an init system.
# Its daemons stay children of this shell, each under a time limit, so that none outlives the test.
slurm_limit_s=150
slurm_daemons=()

# free_port: one of the dynamic range that nobody listens on.
free_port() {
  local port
  while port=$((20000 + RANDOM % 12000)); (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
  echo "$port"
}

# daemon NAME COMMAND...
daemon() {
  timeout --kill-after=5 "$slurm_limit_s" "${@:2}" >"$work/$1.log" 2>&1 &
  slurm_daemons+=($!)
}

write_slurm_conf() {
  mkdir -p "$work/state" "$work/spool"
  # Where no cgroup is mounted slurmd stops over the newer plugin, though nothing is tracked by it here.
  echo "CgroupPlugin=cgroup/v1" >"$work/cgroup.conf"
  cat >"$work/slurm.conf" <<TEXT
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthInfo=socket=$work/munge.sock
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1
ReturnToService=2
MailProg=/bin/true
NodeName=localhost NodeAddr=127.0.0.1 CPUs=32
PartitionName=all Nodes=localhost Default=YES
TEXT
}

start_munge() {
  (umask 077 && head -c 128 /dev/urandom >"$work/munge.key")
  # --force: a folder that others may write above the socket's is an error otherwise.
  daemon munged munged --foreground --force --key-file="$work/munge.key" --socket="$work/munge.sock" \
    --pid-file="$work/munged.pid" --log-file="$work/munged.log" --seed-file="$work/munged.seed"
  wait_for "munged" test -S "$work/munge.sock"
}

# wait_for WHAT COMMAND...
wait_for() {
  local deadline=$((SECONDS + 30))
  until "${@:2}" >/dev/null 2>&1; do
    if ((SECONDS >= deadline)); then
      wrong "$1: nothing after 30 s" "$(tail -n 20 "$work"/*.log)"
      exit 1
    fi
    sleep 0.1
  done
}

is_idle() { [[ $(sinfo -h -o %T) == idle ]]; }

start_slurm() {
  # The path of a socket has at most 107 characters; a job step's is 30 longer than the folder's.
  ((${#work} <= 70)) || skip "TMPDIR is too deep for sockets: $work"
  write_slurm_conf
  export SLURM_CONF=$work/slurm.conf
  start_munge
  daemon slurmctld slurmctld -D -f "$SLURM_CONF"
  daemon slurmd slurmd -D -f "$SLURM_CONF" -N localhost
  wait_for "an idle node" is_idle
}

stop_all() {
  ((${#slurm_daemons[@]})) || return 0
  [[ -v SLURM_CONF ]] && timeout 5 scancel --user="$(id -un)" 2>/dev/null
  kill "${slurm_daemons[@]}" 2>/dev/null
  wait "${slurm_daemons[@]}" 2>/dev/null
}

# finished: nothing is queued or at work.
finished() { [[ -z $(squeue -h) ]]; }

# wait_for_jobs WHAT: all that were submitted.
wait_for_jobs() {
  local deadline=$((SECONDS + 100))
  until finished; do
    if ((SECONDS >= deadline)); then
      wrong "$1: jobs are not through" "$(squeue)" "$(tail -n 20 "$work"/*.log "$work"/*/*.out)"
      exit 1
    fi
    sleep 0.2
  done
}
