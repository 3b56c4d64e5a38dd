# SPDX-License-Identifier: Apache-2.0
"""For checks that import the package: the interpreter of the Python tests, on the library of build/dev."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(script, main):
    """main() under that interpreter; where it or the library is missing, a skip, which is a failure in CI."""
    if os.environ.get("LACUNA_CHECK") == script:
        return main()
    python = subprocess.run([ROOT / "scripts/python"], capture_output=True, text=True).stdout.strip()
    library = ROOT / "build/dev/lib/liblacuna.so"
    if not python or not library.exists():
        missing = f"{library} is not built" if python else "no Python environment (scripts/bootstrap --python)"
        print(missing if os.environ.get("CI") else f"skip: {missing}")
        sys.exit(bool(os.environ.get("CI")))
    paths = {"PYTHONPATH": str(ROOT / "python"), "LACUNA_LIBRARY": str(library), "PYTHONDONTWRITEBYTECODE": "1"}
    os.execve(python, [python, script, *sys.argv[1:]], {**os.environ, **paths, "LACUNA_CHECK": script})


def renewed(path, text):
    """What is wrong with a file that is made, and must have this text; --write writes it."""
    file = ROOT / path
    if "--write" in sys.argv:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    is_there = file.exists() and file.read_text() == text
    return [] if is_there else [f"{path} is not what it is made of: scripts/{os.path.basename(sys.argv[0])} --write"]
