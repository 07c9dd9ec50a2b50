#!/usr/bin/env bash
# Asks OSV, with pip-audit, whether a known vulnerability is in what is locked.
# Ends with 0 if there is none, with 1 and a table if there are some, and with 3
# if that could not be found out. pip-audit runs from an environment of its own,
# by uv where that is on PATH.
set -euo pipefail
cd "$(dirname "$0")"

# By any of its names; each with why it cannot harm here, and stays in the lock.
accepted=(
  # TensorFlow 2.14 needs Keras 2.14. All are about files of models from others
  # and about `get_file`; this project reads SavedModels, and never calls that.
  CVE-2024-55459 CVE-2025-12058 CVE-2025-12060 CVE-2026-12570
  GHSA-hqp4-2352-xf5r
  # TensorFlow Federated 0.87.0 needs SciPy 1.9. It is a leak of memory.
  CVE-2023-25399
  # pyproject.toml says why setuptools is not the newest. This one lets files into
  # source distributions that are made on macOS.
  CVE-2026-59890
)

say() { echo "audit: $*" >&2; }

scratch="$(mktemp -d)"
trap 'rm -rf "${scratch}"' EXIT
log="${scratch}/log"

not_done() {
  say "not done: $(tail -n 1 "${log}" | cut -c 1-300)"
  exit 3
}

if command -v pip-audit >/dev/null; then
  audit=(pip-audit)
elif command -v uv >/dev/null; then
  audit=(uv tool run --quiet pip-audit)
else
  audit=("${scratch}/venv/bin/pip-audit")
  { "${PYTHON:-python3}" -m venv "${scratch}/venv" &&
    "${scratch}/venv/bin/python" -m pip install --quiet \
      --disable-pip-version-check pip-audit; } >"${log}" 2>&1 || not_done
fi

# Strictly: a package that the service does not know is no clean one. There is a
# report only if all were looked up and something was found.
if "${audit[@]}" --strict --disable-pip --vulnerability-service=osv \
  --requirement=requirements.txt --requirement=requirements-gpu.txt \
  --requirement=requirements-docs.txt \
  "${accepted[@]/#/--ignore-vuln=}" --progress-spinner=off \
  --output="${scratch}/report" >"${log}" 2>&1; then
  say "$(tail -n 1 "${log}")."
elif [ -s "${scratch}/report" ]; then
  cat "${scratch}/report"
  exit 1
else
  not_done
fi
