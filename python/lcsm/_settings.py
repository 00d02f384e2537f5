"""Settings of models and of training, by key: the keys of config.json and the flags of the program."""

from __future__ import annotations

import ctypes as ct
import os
from typing import Any, Iterable, Mapping, Optional

from . import _binding as b
from ._library import HERE, ConfigError, Handle, call, encode, lib, make, sized
from ._table import table


class Settings:
    """One set of settings, of a model ("model") or of training ("train")."""

    def __init__(self, kind: str, handle: Optional[Handle] = None):
        self._kind = kind
        self._handle = handle or make(f"lcsm_{kind}_config_create", f"lcsm_{kind}_config_free")

    def has(self, key: str) -> bool:
        """Whether there is such a key."""
        return bool(getattr(lib, f"lcsm_{self._kind}_config_find")(key.encode(), None))

    def __setitem__(self, key: str, value: Any) -> None:
        name, prefix = key.encode(), f"lcsm_{self._kind}_config_set"
        if isinstance(value, (bool, int, float)):
            call(prefix + "_number", self._handle, name, float(value))
        else:
            call(prefix, self._handle, name, str(value).encode())

    def __getitem__(self, key: str) -> Any:
        info = sized(b.lcsm_setting_info)
        if not getattr(lib, f"lcsm_{self._kind}_config_find")(key.encode(), ct.byref(info)):
            raise KeyError(key)
        text = ct.create_string_buffer(4096)
        call(f"lcsm_{self._kind}_config_get", self._handle, key.encode(), text, len(text))
        value = text.value.decode()
        if info.type == b.LCSM_SETTING_BOOL:
            return value == "true"
        if info.type == b.LCSM_SETTING_INT:
            return int(value)
        return float(value) if info.type == b.LCSM_SETTING_REAL else value

    def keys(self) -> list[str]:
        """All keys."""
        return [info["name"] for info in _infos(self._kind)]

    def __iter__(self) -> Iterable[str]:
        return iter(self.keys())

    def __repr__(self) -> str:
        return f"Settings({', '.join(f'{key}={self[key]!r}' for key in self.keys())})"


def _infos(kind: str) -> list[dict[str, Any]]:
    names, out, index = ("int", "real", "bool", "text", "choice"), [], 0
    info = sized(b.lcsm_setting_info)
    while getattr(lib, f"lcsm_{kind}_config_key")(index, ct.byref(info)):
        out.append({"name": info.name.decode(), "type": names[info.type], "min": info.min,
                    "max": info.max, "default": info.standard.decode(),
                    "choices": info.choices.decode(), "help": info.help.decode(),
                    "readers": info.readers.decode()})
        index += 1
    return out


def settings(kind: str = "all", pandas: Optional[bool] = None) -> Any:
    """The keys that models ("model"), training ("train") or both ("all") have, as a table."""
    kinds = ("model", "train") if kind == "all" else (kind,)
    rows = [[k, *info.values()] for k in kinds for info in _infos(k)]
    return table(["of", "name", "type", "min", "max", "default", "choices", "help", "readers"], rows,
                 pandas=pandas)


def _is_code(name: str) -> bool:
    return name == "0" or (name[:1].isdigit() and name.count("-") == 3)


def name_model(model: Settings, name: str) -> None:
    """Sets the method, code or pattern of layers that a name stands for."""
    if _is_code(name):
        model["code"] = name
    elif "," in name or "*" in name:
        model["layers_pattern"] = name
    else:
        model["method"] = name


def build(values: Mapping[str, Any], name: Optional[str] = None, recipe: Optional[str] = None,
          config: Any = None, init: Any = None) -> tuple[Settings, Settings]:
    """Settings from the model to begin with, then a recipe, then a file, then a model's name, then keys; the later ones win."""
    model, train = Settings("model"), Settings("train")
    if init is not None:
        call("lcsm_run_settings", encode(init), model._handle, None)
    if recipe is not None:
        inside = HERE / "_lib" / "recipes" / f"{os.fspath(recipe)}.json"
        call("lcsm_recipe_load", encode(inside if inside.exists() else recipe), model._handle, train._handle)
    if config is not None:
        call("lcsm_settings_load", encode(config), model._handle, train._handle)
    if name is not None:
        name_model(model, name)
    for key, value in values.items():
        put(model, train, key, value)
    return model, train


def put(model: Settings, train: Settings, key: str, value: Any) -> None:
    """Sets a key wherever it belongs; a dot may be written as two underscores."""
    name = key.replace("__", ".")
    owners = [s for s in (model, train) if s.has(name)]
    if not owners:
        raise ConfigError(f"unknown setting '{key}'; lcsm.settings() lists all of them")
    for owner in owners:
        owner[name] = value


def is_run(folder: Any) -> bool:
    """Whether it is the folder of a model: config.json beside its weights."""
    return os.path.isfile(os.path.join(os.fspath(folder), "config.json"))
