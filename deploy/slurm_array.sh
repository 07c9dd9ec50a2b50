#!/bin/bash
# Runs one command of a file in each task of a SLURM array. Run this in the
# folder for the results:
#
#   python -m launch.sweep --presets='semifl/svhn_*' --print_commands > commands.txt
#   sbatch --array=1-$(wc -l < commands.txt) deploy/slurm_array.sh commands.txt
#
# The same two commands repeat the runs that are not complete.

#SBATCH --job-name=tff_semifl
#SBATCH --cpus-per-task=8
#SBATCH --mem=16G
#SBATCH --time=24:00:00
#SBATCH --output=%x_%A_%a.log

set -euo pipefail

command=$(sed -n "${SLURM_ARRAY_TASK_ID}p" "$1")
if [[ -z $command ]]; then
  echo "$1 has no line $SLURM_ARRAY_TASK_ID" >&2
  exit 1
fi
# The program replaces this shell, so that SLURM's signal before the time limit
# reaches the program, which then ends cleanly.
eval "exec $command"
