#!/usr/bin/env bash
# Makes .venv hold what requirements.txt says. The Makefile calls it; when .venv
# is up to date it does nothing. It uses uv where that is on PATH, and Python's
# own venv and pip where not. PYTHON=/path/to/python chooses the Python. GPU=1
# adds requirements-gpu.txt, which stays as long as the locks do.
set -euo pipefail
cd "$(dirname "$0")"

say() { echo "install: $*" >&2; }
fail() { say "$@"; exit 1; }

locks=(requirements.txt)
[ -z "${GPU:-}" ] || locks+=(requirements-gpu.txt)

# .venv keeps a copy of the locks it was made from. The copy is written last, so
# an interrupted install has none and is made anew.
is_current() {
  { cat "${locks[@]}" | cmp -s - .venv/requirements.txt ||
    cat requirements.txt requirements-gpu.txt |
    cmp -s - .venv/requirements.txt; } &&
    .venv/bin/python -c '' 2>/dev/null
}

# Prints the first Python 3.11 that can also do the statement $1. Each candidate
# is run, for one that is found may still not work (a shim of pyenv), and says
# where it really lies, for PATH may lead to the .venv that we are to replace.
find_python() {
  local candidate candidates=(python3.11 python3 python)
  [ -z "${PYTHON:-}" ] || candidates=("${PYTHON}")
  for candidate in "${candidates[@]}"; do
    "${candidate}" -c "
import os, sys
assert sys.version_info[:2] == (3, 11)
$1
print(os.path.realpath(sys.executable))" 2>/dev/null && return
  done
  return 1
}

is_current && exit

# Of two at once, the second waits and then finds the work done.
if command -v flock >/dev/null; then
  exec 9>.venv.lock
  flock --nonblock 9 || { say 'waiting for another install'; flock 9; }
  is_current && exit
fi

if [ "$(uname -sm)" != 'Linux x86_64' ]; then
  fail "TensorFlow Federated is published for Linux on x86_64 only, and this is
  $(uname -sm). Please use such a machine, or a container or virtual machine."
fi

options=(--no-deps --no-build-isolation --require-hashes)
if command -v uv >/dev/null; then
  if ! python="$(find_python pass)"; then
    [ -z "${PYTHON:-}" ] || fail "PYTHON=${PYTHON} is no Python 3.11."
    say 'found no Python 3.11; uv brings one.'
    python=3.11
  fi
  say "making .venv with uv, Python ${python}: 2.5 GB, a minute or less."
  rm -rf .venv/requirements.txt .venv
  uv venv --quiet --python "${python}" .venv ||
    fail 'uv could not make .venv (see above).'
  pip=(uv pip install --quiet --python .venv/bin/python)
elif python="$(find_python 'import ensurepip, venv')"; then
  say "making .venv with pip, Python ${python}: 2.5 GB, a minute or two."
  rm -rf .venv/requirements.txt .venv
  "${python}" -m venv .venv
  pip=(.venv/bin/python -m pip install --quiet --disable-pip-version-check)
elif python="$(find_python pass)"; then
  fail "${python} lacks the module venv or ensurepip. Please install
  them (on Debian and Ubuntu as python3-venv, or python3.11-venv if that is not
  the system's version), or install uv, and try again."
elif [ -n "${PYTHON:-}" ]; then
  fail "PYTHON=${PYTHON} is no Python 3.11."
else
  fail "needs Python 3.11, the last one that TensorFlow 2.14 is made for, and
  found none. Please do one of these, and try again:
  - install uv, which brings a Python: https://docs.astral.sh/uv/
  - install Python 3.11 and its venv with your package manager
  - if it has another name, say which: PYTHON=/path/to/python3.11 make ..."
fi

# What builds the others first, then all; each exactly as locked. An entry of
# the lock goes on while its lines end in a backslash.
sed -n '/^setuptools==/,/[^\]$/p' requirements.txt >.venv/build_requirements.txt
"${pip[@]}" "${options[@]}" -r .venv/build_requirements.txt
for lock in "${locks[@]}"; do
  "${pip[@]}" "${options[@]}" -r "${lock}"
done
cat "${locks[@]}" >.venv/requirements.txt
say 'done.'
