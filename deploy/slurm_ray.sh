#!/bin/bash
# Trains on several machines of a SLURM cluster, as one Ray cluster. From the
# folder that the program is to run in, which all machines see:
#
#   sbatch --nodes=4 deploy/slurm_ray.sh semifl --preset=semifl/cifar10_4000_iid
#
# The same line resumes a run that was interrupted.

#SBATCH --job-name=tff_semifl
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --time=24:00:00
#SBATCH --signal=B:TERM@60
#SBATCH --output=%x_%j.log

set -euo pipefail

# Only who has the token may speak to the cluster. On a network that others
# listen to, add TLS (docs/cluster.md).
export RAY_AUTH_MODE=token RAY_AUTH_TOKEN_PATH=$PWD/.ray_token_$SLURM_JOB_ID
(umask 077 && openssl rand -hex 32 >"$RAY_AUTH_TOKEN_PATH")
# The machines are this job's alone.
export RAY_worker_niceness=0 RAY_USAGE_STATS_ENABLED=0

end() {
  trap - EXIT
  # SLURM ends what is left on other machines.
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
# The first machine is one of those that train, too, but it cannot start twice at
# the same time.
until (exec 3<>"/dev/tcp/$host/${address#*:}") 2>/dev/null; do
  kill -0 $head || exit 1
  sleep 1
done
sleep 5
srun "${start[@]}" --address="$address" --num-cpus="$SLURM_CPUS_PER_TASK" &

python -m launch.train "$@" --runtime=ray --ray_address="$address" &
training=$!
# SLURM's signal before the time is up reaches the program, which ends in order.
trap 'kill -TERM $training' TERM
status=0
wait $training || status=$?
# The first wait ends with the signal.
if kill -0 $training 2>/dev/null; then
  status=0
  wait $training || status=$?
fi
exit $status
