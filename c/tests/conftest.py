"""Builds the programs of the tests and the examples, once, with the compiler that CC names."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
EXAMPLES = HERE.parent.parent / "examples" / "c"
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
SANITIZED = ["-std=gnu99", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]


class Builder:
    def __init__(self, folder):
        self.folder, self.built = folder, {}

    def __call__(self, source, *flags, compiler=None, name=None):
        """The path of the program that is compiled from a file of `programs` or of the examples."""
        compiler = compiler or os.environ.get("CC", "cc")
        key = (source, flags, compiler)
        if key not in self.built:
            path = next(folder / source for folder in (HERE / "programs", EXAMPLES) if (folder / source).exists())
            program = self.folder / str(len(self.built)) / (name or path.stem)
            program.parent.mkdir(exist_ok=True)
            command = [compiler, *(flags or [*STRICT, "-O2", "-ffp-contract=off"]), f"-I{HERE.parent}", f"-I{HERE / 'programs'}"]
            subprocess.run([*command, path, "-o", program, "-lm"], check=True)
            self.built[key] = program
        return [str(self.built[key])]

    def fortran(self):
        if shutil.which("gfortran") is None:
            pytest.skip("gfortran is not installed")
        if "fortran" not in self.built:
            folder = self.folder / "fortran"
            folder.mkdir()
            subprocess.run(["make", "-s", "-C", EXAMPLES, "FC=gfortran", f"OUT={folder}", "fortran"], check=True)
            self.built["fortran"] = folder / "fortran_heat"
        return [str(self.built["fortran"])]


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    return Builder(tmp_path_factory.mktemp("programs"))
