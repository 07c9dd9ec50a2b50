#!/usr/bin/env bash
# Builds a release into dist/, installs it into an empty environment, and trains
# there. Says at the end how to tag it. `make release` runs all other checks first.
set -euo pipefail
cd "$(dirname "$0")"
python="${PWD}/.venv/bin/python"

fail() {
  echo "release: $*" >&2
  exit 1
}

version="$(sed -n "s/^__version__ = '\(.*\)'/\1/p" tff_semifl/__init__.py)"
grep --quiet "^version: ${version}$" CITATION.cff ||
  fail "CITATION.cff does not have version ${version} of tff_semifl/__init__.py"
grep --quiet "^## ${version}\b" CHANGELOG.md ||
  fail "CHANGELOG.md has no heading '## ${version}'"
[ -z "$(git status --porcelain)" ] || fail 'commit, or remove, what git status lists'

scratch="$(mktemp -d)"
trap 'rm -rf "${scratch}"' EXIT

# From what is committed; setuptools leaves files beside what it builds.
git archive HEAD | tar --extract --directory="${scratch}" --one-top-level=source
build='import sys, setuptools.build_meta as b; getattr(b, sys.argv[1])(sys.argv[2])'
mkdir -p dist
(cd "${scratch}/source" &&
  "${python}" -c "${build}" build_sdist "${OLDPWD}/dist") >"${scratch}/log" 2>&1 ||
  fail "no source distribution: $(tail -n 1 "${scratch}/log")"
# The wheel is built from the source distribution, so that both are complete.
tar --extract --file="dist/tff_semifl-${version}.tar.gz" --directory="${scratch}"
(cd "${scratch}/tff_semifl-${version}" &&
  "${python}" -c "${build}" build_wheel "${OLDPWD}/dist") >"${scratch}/log" 2>&1 ||
  fail "no wheel: $(tail -n 1 "${scratch}/log")"
wheel="dist/tff_semifl-${version}-py3-none-any.whl"

# A file of the package that a wheel lacks would be missed by its users only.
# Flagfiles are for clones.
packaged() { "${python}" -m zipfile --list "${wheel}" | awk '{print $1}'; }
git ls-files tff_semifl launch tasks | grep --invert-match '\.flags$' |
  sed --expression='s,^\(launch\|tasks\)/,tff_semifl/\1/,' | sort >"${scratch}/ours"
packaged | grep '^tff_semifl/' | sort >"${scratch}/theirs"
diff "${scratch}/ours" "${scratch}/theirs" ||
  fail 'the wheel does not have the files of the package (<: missing, >: others)'
packaged | grep --quiet 'dist-info/.*LICENSE$' || fail 'the wheel has no LICENSE'

echo 'release: installing the lock and the wheel into an empty environment' >&2
"${python}" -m venv --without-pip "${scratch}/venv"
if command -v uv >/dev/null; then
  install=(uv pip install --quiet --python "${scratch}/venv/bin/python")
else
  "${scratch}/venv/bin/python" -m ensurepip --default-pip >/dev/null
  install=("${scratch}/venv/bin/python" -m pip install --quiet
    --disable-pip-version-check)
fi
sed -n '/^setuptools==/,/[^\]$/p' requirements.txt >"${scratch}/setuptools.txt"
for lock in "${scratch}/setuptools.txt" requirements.txt; do
  "${install[@]}" --no-deps --no-build-isolation --require-hashes -r "${lock}"
done
"${install[@]}" --no-deps "${wheel}"

mkdir "${scratch}/empty"
(cd "${scratch}/empty" &&
  "${scratch}/venv/bin/tff-semifl" --version &&
  "${scratch}/venv/bin/tff-semifl" demo --preset=semifl/digits_50_iid)

(cd dist && sha256sum "tff_semifl-${version}"*)
echo "release: all of it holds; git tag -a v${version} -m 'tff_semifl ${version}'" >&2
