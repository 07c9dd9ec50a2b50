#!/bin/bash
# Trains on several machines of a SLURM cluster, as one Ray cluster. Run this in
# the folder for the results, which all machines must share:
#
#   sbatch --nodes=4 deploy/slurm_ray.sh semifl --preset=semifl/cifar10_4000_iid
#
# The same command resumes an interrupted run.

#SBATCH --job-name=tff_semifl
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --time=24:00:00
#SBATCH --signal=B:TERM@60
#SBATCH --output=%x_%j.log

set -euo pipefail

# Connections to the cluster need this token. On a network that others can read,
# add TLS (docs/cluster.md).
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$PWD/.ray_token_$SLURM_JOB_ID
(umask 077 && openssl rand -hex 32 >"$RAY_AUTH_TOKEN_PATH")
# No other job uses the machines.
export RAY_worker_niceness=0 RAY_USAGE_STATS_ENABLED=0

end() {
  trap - EXIT
  # SLURM ends the processes on other machines.
  kill $(jobs -p) 2>/dev/null || true
  rm -f "$RAY_AUTH_TOKEN_PATH"
}
trap end EXIT

# This script runs on the first machine.
read -r host _ <<<"$(hostname --ip-address)"
address=$host:$((20000 + SLURM_JOB_ID % 10000))
start=(python -m ray.scripts.scripts start --block)
"${start[@]}" --head --node-ip-address="$host" --port="${address#*:}" \
  --num-cpus=0 --num-gpus=0 --include-dashboard=false &
head=$!
# The first machine also trains, but Ray cannot start twice on a machine at the
# same time.
until (exec 3<>"/dev/tcp/$host/${address#*:}") 2>/dev/null; do
  kill -0 $head || exit 1
  sleep 1
done
sleep 5
srun "${start[@]}" --address="$address" --num-cpus="$SLURM_CPUS_PER_TASK" &

python -m launch.train "$@" --runtime=ray --ray_address="$address" &
training=$!
# SLURM's signal before the time limit reaches the program, which ends cleanly.
trap 'kill -TERM $training' TERM
status=0
wait $training || status=$?
# The first wait ends with the signal.
if kill -0 $training 2>/dev/null; then
  status=0
  wait $training || status=$?
fi
exit $status
