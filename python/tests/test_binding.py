"""The binding says what the headers say: names, constants, struct layouts and signatures."""

import ctypes as ct
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from lcsm import _binding as b
from lcsm._library import lib

STRUCTS = {n: v for n, v in vars(b).items() if isinstance(v, type) and issubclass(v, ct.Structure)}
CONSTANTS = {n: v for n, v in vars(b).items() if n.startswith("LCSM_")}


@pytest.fixture(scope="module")
def headers(root):
    if not (root / "include" / "lcsm" / "tools.h").exists():
        pytest.skip("the headers are not here: the package is tested outside its clone")
    return root / "include"


def test_the_binding_follows_the_headers(headers):
    subprocess.run([sys.executable, headers.parent / "python" / "tools" / "bind", "--check"], check=True)


def test_every_public_function_is_bound(headers):
    rows = (headers.parent / "tests" / "abi" / "symbols.txt").read_text().split()
    assert sorted(b.FUNCTIONS) == sorted(rows[1::2])
    assert all(hasattr(lib, name) for name in b.FUNCTIONS)


def test_structs_and_constants_are_those_of_the_compiler(headers, tmp_path):
    """A C program prints sizes, offsets and values; ctypes has the same."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    lines, want = [], []
    for name, kind in STRUCTS.items():
        lines.append(f'P("{name}", sizeof({name}));')
        want.append(f"{name} {ct.sizeof(kind)}")
        for field, _ in kind._fields_:
            lines.append(f'P("{name}.{field}", offsetof({name}, {field}));')
            lines.append(f'P("{name}.{field}", sizeof((({name} *)0)->{field}));')
            at = getattr(kind, field)
            want += [f"{name}.{field} {at.offset}", f"{name}.{field} {at.size}"]
    for name, value in CONSTANTS.items():
        lines.append(f'P("{name}", {name});')
        want.append(f"{name} {value}")
    source = tmp_path / "layout.c"
    source.write_text("#include <lcsm/tools.h>\n#include <stdio.h>\n"
                      '#define P(name, value) printf("%s %lld\\n", name, (long long)(value))\n'
                      "int main(void)\n{\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
    subprocess.run(["cc", "-std=c11", f"-I{headers}", str(source), "-o", str(tmp_path / "layout")], check=True)
    assert len(want) > 400
    assert subprocess.check_output([str(tmp_path / "layout")], text=True).splitlines() == want


class Abi:
    """The types of tests/abi/lcsm.abi, which a compiler and abidw wrote."""

    def __init__(self, path):
        self.root = ET.parse(path).getroot()
        self.types = {e.get("id"): e for e in self.root.iter() if e.get("id")}

    def shape(self, type_id):
        """("pointer" | "integer" | "real" | "void" | a struct's name, bytes)"""
        e = self.types[type_id]
        if e.tag in ("typedef-decl", "qualified-type-def"):
            return self.shape(e.get("type-id"))
        if e.tag == "pointer-type-def":
            return "pointer", 8
        if e.tag == "class-decl":
            return "struct", int(e.get("size-in-bits")) // 8
        if e.tag == "enum-decl":
            return "integer", 4
        if e.get("name") == "void":
            return "void", 0
        return "real" if e.get("name") in ("double", "float") else "integer", int(e.get("size-in-bits")) // 8


def shape_of(kind):
    if kind is None:
        return "void", 0
    if issubclass(kind, ct.Structure):
        return "struct", ct.sizeof(kind)
    if kind in (ct.c_void_p, ct.c_char_p) or issubclass(kind, (ct._Pointer, ct._CFuncPtr)):
        return "pointer", 8
    return "real" if kind in (ct.c_double, ct.c_float) else "integer", ct.sizeof(kind)


def test_signatures_are_those_of_the_recorded_abi(headers):
    abi, seen = Abi(headers.parent / "tests" / "abi" / "lcsm.abi"), 0
    for function in abi.root.iter("function-decl"):
        name = function.get("name")
        result, arguments = b.FUNCTIONS[name]
        want = [abi.shape(p.get("type-id")) for p in function.findall("parameter")]
        assert [shape_of(kind) for kind in arguments] == want, name
        assert shape_of(result) == abi.shape(function.find("return").get("type-id")), name
        seen += 1
    assert seen > 100


def test_the_version_is_that_of_the_library(headers):
    import lcsm
    assert lib.lcsm_version().decode() == lcsm.__version__
    assert f'"{lcsm.__version__}"' in (headers / "lcsm" / "lcsm.h").read_text()
