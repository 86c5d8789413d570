"""The parts of options that `arena-bot tune` and `arena-bot trial` share: preset, config, `--set` and workers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from typing import Any

from msgspec import structs

from bots.client.warm_up import warm_up_once
from bots.tuning.genetic import Method
from bots.tuning.selfplay import Setup, load_value_function, rules_and_kernel
from bots.tuning.tuning import format_config
from machine.cores import usable_cores, warn_of_excess
from machine.workers.cluster import cluster_pool
from machine.workers.local import WorkerPool, process_pool
from protocol.display import short_repr
from protocol.errors import BadConfig, UsageFault
from protocol.games import load_game

MAX_JOBS = 1024
"""The highest value of `--jobs`."""
_EVALUATION_KEY = "eval"
"""The key of `--set` that names the evaluation of positions."""
_OPTIONAL_KEYS = ("depth", "nodes")
"""The keys of `--set` whose value may be `none`."""
_METHOD_TYPES: Mapping[str, type] = {field.name: type(field.default) for field in fields(Method)}
"""The types of the keys of `--set` that belong to the method of tuning, by key."""


def with_config(setup: Setup, config: Mapping[str, Any]) -> Setup:
    """Return the setup with these values in its game's config. Raise `UsageFault` if the config is then invalid."""
    config = {**json.loads(setup.config), **config}
    try:
        load_game(setup.game, config)
    except BadConfig as exc:
        raise UsageFault(str(exc)) from exc
    return setup._replace(config=format_config(config))


def with_numbers(method: Method, setup: Setup, sets: Mapping[str, str]) -> tuple[Method, Setup]:
    """Return method and setup, changed by the values of `--set`. Raise `UsageFault` if a key or value is wrong."""
    for key, text in sets.items():
        if key in _METHOD_TYPES:
            method = replace(method, **{key: _read_number(key, text, _METHOD_TYPES[key])})
        elif key in setup.search or key == _EVALUATION_KEY:
            setup = with_search(setup, {key: text})
        else:
            raise UsageFault(f"--set has no {short_repr(key)}: use one of {', '.join((*_METHOD_TYPES, *setup.search))}")
    return method, setup


def with_search(setup: Setup, sets: Mapping[str, str]) -> Setup:
    """Return the setup, changed by these settings of the search. Raise `UsageFault` for an unknown key or an invalid
    number. A setting whose value has to be a name is not checked here.
    """
    for key, text in sets.items():
        if key == _EVALUATION_KEY:
            setup = setup._replace(evaluation=text)
            continue
        if key not in setup.search:
            raise UsageFault(f"the search has no setting {short_repr(key)}: use one of {', '.join(setup.search)}")
        if key in _OPTIONAL_KEYS:
            number: Any = None if text == "none" else _read_number(key, text, int)
            setup = setup._replace(**{key: number})
        else:
            setup = setup._replace(settings=structs.replace(setup.settings, **{key: text}))
    return setup


def _read_number(key: str, text: str, kind: type) -> Any:
    try:
        return kind(text)
    except ValueError as exc:
        right = "an integer" if kind is int else "a number"
        also = ", or none" if key in _OPTIONAL_KEYS else ""
        raise UsageFault(f"{key} is {short_repr(text)}: it must be {right}{also}") from exc


def read_pool(jobs: int | None, dask: str | None) -> AbstractContextManager[WorkerPool]:
    """Return the workers: `jobs` processes, by default one a core, or the workers of the cluster `dask`. Raise
    `UsageFault` if `jobs` is out of range or both are given.
    """
    if jobs is not None and dask is not None:
        raise UsageFault("--jobs is for this machine, --dask for a cluster: give one of them")
    if jobs is not None and not 1 <= jobs <= MAX_JOBS:
        raise UsageFault(f"--jobs is {jobs}: it must be 1 to {MAX_JOBS}")
    if jobs is not None:
        warn_of_excess("--jobs", jobs)
    return process_pool(jobs or usable_cores()) if dask is None else cluster_pool(dask)


def compile_once(setup: Setup, value: str | None) -> None:
    """Compile the search, and solve the table that the measuring of luck needs, so that workers need not do it."""
    rules, kernel = rules_and_kernel(setup)
    with warm_up_once("arena-bot", rules, kernel.warm_up):
        kernel.warm_up()
    if value is not None:
        load_value_function(setup, value)
