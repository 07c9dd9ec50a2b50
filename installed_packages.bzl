"""A stand-in for the repository of packages that MODULE.bazel makes."""

def _write_empty_repository(repository_ctx):
    repository_ctx.file("BUILD")
    repository_ctx.file("requirements.bzl", "all_requirements = []\n")

# To be used where the Python that runs the targets has all packages installed.
installed_packages = repository_rule(implementation = _write_empty_repository)
