"""What docs/guide/c.md shows is in the examples, and its names and those of docs/reference/programs.md are in the header."""

import re

from conftest import EXAMPLES, HERE

DOCS = HERE.parent.parent / "docs"
GUIDE = (DOCS / "guide" / "c.md").read_text()
REFERENCE = (DOCS / "reference" / "programs.md").read_text()
HEADER = (HERE.parent / "migbsp.h").read_text()


def test_code_is_that_of_the_examples():
    files = [path.read_text() for path in EXAMPLES.iterdir() if path.suffix in (".c", ".toml")]
    blocks = re.findall(r"```(?:c|toml)\n(.*?)```", GUIDE, re.DOTALL)
    assert len(blocks) == 3
    for block in blocks:
        assert any(block in file for file in files), block


def test_names_are_those_of_the_header():
    declared = set(re.findall(r"\b(bsp_\w+)\(", HEADER.split("#endif /* MIGBSP_H */")[0]))
    named = set(re.findall(r"\b(?:bsp_[a-z0-9_]+)\b", GUIDE + REFERENCE))
    assert named - {"bsp_reduce_", "bsp_reduced_"} <= declared


def test_fortran_has_functions_of_the_header():
    declared = set(re.findall(r"\b(bsp_\w+)\(", HEADER))
    module = (EXAMPLES / "migbsp.f90").read_text()
    bound = set(re.findall(r'bind\(c, name="(\w+)"\)', module)) | set(re.findall(r"(?:function|subroutine) (bsp_\w+)\([^)]*\) bind\(c\)", module))
    assert len(bound) > 30 and bound <= declared
