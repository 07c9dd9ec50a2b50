"""The targets of a folder with Python, by rule."""

load("@rules_python//python:defs.bzl", "py_binary", "py_library", "py_test")

# The folders that have a BUILD file of their own.
FOLDERS = [
    "benchmarks",
    "examples",
    "launch",
    "tasks",
    "tests",
    "tests/algorithms",
    "tests/augment",
    "tests/benchmarks",
    "tests/data",
    "tests/examples",
    "tests/experiments",
    "tests/export",
    "tests/launch",
    "tests/models",
    "tests/programs",
    "tests/repository",
    "tests/runtime",
    "tests/settings",
    "tests/sweeps",
    "tests/systems",
    "tests/tasks",
    "tests/work",
    "tff_semifl",
    "tff_semifl/algorithms",
    "tff_semifl/augment",
    "tff_semifl/data",
    "tff_semifl/experiments",
    "tff_semifl/export",
    "tff_semifl/models",
    "tff_semifl/programs",
    "tff_semifl/runtime",
    "tff_semifl/settings",
    "tff_semifl/sweeps",
    "tff_semifl/systems",
    "tff_semifl/work",
]

_NO_SOURCES = ["BUILD", "**/*.py", "**/*.pyc"]

def python_folder(deps = [], data = [], programs = [], large_tests = []):
    """Makes the targets of the folder whose BUILD file calls it.

    These are a library of all modules (named as the folder), a test for each
    `*_test.py`, a binary for each program, and `files`, all that lies there.

    Args:
      deps: The libraries of the folders whose modules are imported here.
      data: What programs and tests read from outside of this folder.
      programs: Names of the modules that can be run, without `.py`.
      large_tests: Names of the tests that take more than five minutes.
    """
    folder = native.package_name().split("/")[-1]
    library_and_deps = [":" + folder, "//:requirements"] + deps
    native.filegroup(
        name = "files",
        srcs = native.glob(["**"], exclude = ["**/*.pyc"]),
        visibility = ["//:__pkg__"],
    )
    py_library(
        name = folder,
        srcs = native.glob(["**/*.py"], exclude = ["*_test.py"]),
        data = data + native.glob(["**"], exclude = _NO_SOURCES),
        deps = library_and_deps[1:],
        visibility = ["//visibility:public"],
    )
    for program in programs:
        py_binary(
            name = program,
            srcs = [program + ".py"],
            deps = library_and_deps,
        )
    for source in native.glob(["*_test.py"]):
        test = source[:-len(".py")]
        py_test(
            name = test,
            size = "large" if test in large_tests else "medium",
            srcs = [source],
            # The machine has one place for what programs of Ray say of it.
            tags = ["exclusive"] if test.startswith("ray_") or test == "deploy_test" else [],
            deps = library_and_deps,
        )
