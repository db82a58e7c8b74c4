"""The header compiles with all warnings, as C and as C++, and needs nothing else."""

import shutil
import subprocess

import pytest
from conftest import EXAMPLES, HERE

HEADER = HERE.parent / "migbsp.h"
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wshadow"]
C = ["-Wstrict-prototypes", "-Wmissing-prototypes"]


def compile(compiler, *flags):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    result = subprocess.run([compiler, *flags], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("optimized", ["-O0", "-O3"])
@pytest.mark.parametrize("part", [[], ["-DMIGBSP_MAIN"], ["-DMIGBSP_MAIN", "-DMIGBSP_BLOCKING"], ["-DMIGBSP_BLOCKING"]])
@pytest.mark.parametrize(
    ("compiler", "language"),
    [
        ("cc", ["-x", "c", "-std=c99", *C]),
        ("cc", ["-x", "c", "-std=gnu17", *C]),
        ("clang", ["-x", "c", "-std=c99", *C]),
        ("c++", ["-x", "c++", "-std=c++11"]),
        ("c++", ["-x", "c++", "-std=c++20"]),
        ("c++", ["-x", "c++", "-std=c++11", "-fno-exceptions"]),
        ("clang++", ["-x", "c++", "-std=c++11"]),
    ],
)
def test_the_header_compiles(tmp_path, compiler, language, part, optimized):
    compile(compiler, *language, *WARNINGS, optimized, *part, "-c", HEADER, "-o", tmp_path / "header.o")


@pytest.mark.parametrize("compiler", ["cc", "clang"])
def test_examples_compile(tmp_path, compiler):
    for example in ["heat", "cg", "sums"]:
        compile(compiler, "-std=c99", *WARNINGS, f"-I{HERE.parent}", EXAMPLES / f"{example}.c", "-o", tmp_path / example, "-lm")


def test_the_makefile_builds_the_examples(tmp_path):
    subprocess.run(["make", "-s", "-C", EXAMPLES, f"OUT={tmp_path}"], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cg", "heat", "sums"]


def test_a_program_may_have_several_files(tmp_path):
    (tmp_path / "state.c").write_text(
        """
        #include "migbsp.h"
        void bsp_save(void *process) { bsp_write(process, 1); }
        void *bsp_load(int argc, char **argv) { static char state; (void)argc; (void)argv; bsp_read(&state, 1); return &state; }
        """
    )
    (tmp_path / "main.c").write_text(
        """
        #include <stdio.h>
        #define MIGBSP_MAIN
        #include "migbsp.h"
        static char state = 'x';
        void *bsp_create(int argc, char **argv) { (void)argc; (void)argv; return &state; }
        int bsp_superstep(void *process) { (void)process; return 1; }
        void bsp_destroy(void *process) { (void)process; }
        """
    )
    program = tmp_path / "program"
    files = [tmp_path / "main.c", tmp_path / "state.c"]
    compile("cc", "-std=gnu99", *WARNINGS, f"-I{HERE.parent}", *files, "-o", program)
    import runtime

    with runtime.Executor([str(program)]) as executor:
        assert executor.welcome["flags"] == 3
        executor.start(0, 0)
        assert executor.save(0) == b"x"


def test_strict_c_wants_the_header_first(tmp_path):
    source = tmp_path / "late.c"
    source.write_text('#include <stdio.h>\n#define MIGBSP_MAIN\n#include "migbsp.h"\n')
    result = subprocess.run(["cc", "-std=c99", "-c", f"-I{HERE.parent}", source, "-o", tmp_path / "late.o"], capture_output=True, text=True)
    assert "include migbsp.h before the headers of the system" in result.stderr


def test_the_program_needs_no_library(build):
    symbols = subprocess.run(["ldd", *build("ring.c")], capture_output=True, text=True).stdout
    libraries = [line.split()[0].split("/")[-1] for line in symbols.splitlines()]
    assert all(library.startswith(("linux-vdso", "libc.", "libm.", "ld-linux")) for library in libraries), libraries
