"""Builds the Python package: what `pip install .`, `pip wheel .` and `make wheel` call (PEP 517).

A wheel is a zip file of python/lcsm with the library, the program and the recipes in lcsm/_lib. CMake builds
them; nothing is downloaded. One wheel serves every Python 3: the binding is ctypes.
"""

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "python" / "lcsm"


def _version():
    return re.search(r'__version__ = "(.+)"', (PACKAGE / "_version.py").read_text())[1]


def _metadata():
    readme = (ROOT / "README.md").read_text()
    return (f"Metadata-Version: 2.1\nName: lcsm\nVersion: {_version()}\n"
            "Summary: Linear-complexity sequence models: one recurrence, trained and run on a CPU\n"
            "License: MIT\nRequires-Python: >=3.9\nRequires-Dist: numpy\nProvides-Extra: torch\n"
            "Requires-Dist: torch; extra == 'torch'\nDescription-Content-Type: text/markdown\n\n" + readme)


def _tag():
    return "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def _build(folder):
    """The library and the program, without tests."""
    subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release", "-DLCSM_TESTS=OFF",
                    "-DLCSM_EXAMPLES=OFF"], check=True)
    subprocess.run(["cmake", "--build", str(folder), "--target", "lcsm", "lcsm_program", "--parallel",
                    str(os.cpu_count() or 2)], check=True)


def _files(build):
    """(name in the wheel, path): the package, what was built, the recipes."""
    for path in sorted(PACKAGE.rglob("*")):
        if path.is_file() and path.suffix in (".py", ".typed") and "_lib" not in path.parts:
            yield f"lcsm/{path.relative_to(PACKAGE)}", path
    yield "lcsm/_lib/liblcsm.so", (build / "liblcsm.so").resolve()
    yield "lcsm/_lib/lcsm", build / "lcsm"
    for path in sorted((ROOT / "recipes").glob("*.json")):
        yield f"lcsm/_lib/recipes/{path.name}", path


class _Wheel:
    """A zip file that keeps its list of contents."""

    def __init__(self, path):
        self.zip, self.rows = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED), []

    def add(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
        info.external_attr, info.compress_type = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.rows.append(f"{name},sha256={digest},{len(data)}")

    def close(self, record):
        self.rows.append(f"{record},,")
        self.zip.writestr(record, "\n".join(self.rows) + "\n")
        self.zip.close()


def _info(wheel):
    info = f"lcsm-{_version()}.dist-info"
    wheel.add(f"{info}/METADATA", _metadata().encode())
    wheel.add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: lcsm\nRoot-Is-Purelib: false\nTag: {_tag()}\n".encode())
    wheel.add(f"{info}/entry_points.txt", b"[console_scripts]\nlcsm = lcsm.__main__:main\n")
    wheel.add(f"{info}/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
    wheel.close(f"{info}/RECORD")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = f"lcsm-{_version()}-{_tag()}.whl"
    with tempfile.TemporaryDirectory(prefix="lcsm-wheel-") as place:
        build = pathlib.Path(os.environ.get("LCSM_BUILD", place))
        if "LCSM_BUILD" not in os.environ:
            _build(build)
        wheel = _Wheel(pathlib.Path(wheel_directory) / name)
        for inside, path in _files(build):
            wheel.add(inside, path.read_bytes(), 0o755 if inside.startswith("lcsm/_lib/") and path.suffix != ".json" else 0o644)
        _info(wheel)
    return name


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Points at the clone, whose build/ folder has the library (`make`)."""
    name = f"lcsm-{_version()}-{_tag()}.whl"
    wheel = _Wheel(pathlib.Path(wheel_directory) / name)
    wheel.add("lcsm.pth", str(ROOT / "python").encode())
    _info(wheel)
    return name


def build_sdist(sdist_directory, config_settings=None):
    name = f"lcsm-{_version()}"
    listed = subprocess.run([str(ROOT / "tools" / "list-files")], check=True, stdout=subprocess.PIPE, text=True).stdout
    with tarfile.open(pathlib.Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        for path in listed.split("\n"):
            if path and (ROOT / path).is_file():
                archive.add(ROOT / path, f"{name}/{path}")
        info = tarfile.TarInfo(f"{name}/PKG-INFO")
        data = _metadata().encode()
        info.size = len(data)
        with tempfile.TemporaryFile() as file:
            file.write(data)
            file.seek(0)
            archive.addfile(info, file)
    return f"{name}.tar.gz"
