"""deploy/kubernetes: manifests that a cluster takes, and what they name of the server is there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import kubernetes_validate
import pytest
import yaml
from kubernetes_validate.utils import major_minor

from arena.commands.settings import SETTINGS
from arena.network.listener import ALIVE_PATH, READY_PATH
from commands import REPOSITORY, call

FOLDER = REPOSITORY / "deploy" / "kubernetes"
MANIFESTS = sorted(file for file in FOLDER.glob("*.yaml") if file.name != "kustomization.yaml")
RUNNER_FOLDER = FOLDER / "runner"
RUNNER_MANIFESTS = sorted(file for file in RUNNER_FOLDER.glob("*.yaml") if file.name != "kustomization.yaml")
OLDEST = "1.30"


def documents() -> Iterator[dict[str, Any]]:
    for file in (*MANIFESTS, *RUNNER_MANIFESTS):
        yield from yaml.safe_load_all(file.read_text())


NAMED = {(document["kind"], document["metadata"]["name"]): document for document in documents()}
SET = NAMED["StatefulSet", "arena"]["spec"]
POD = SET["template"]["spec"]
(CONTAINER,) = POD["containers"]
RUNNER_POD = NAMED["Deployment", "arena-runner"]["spec"]["template"]["spec"]
(RUNNER,) = RUNNER_POD["containers"]


def fault_of(document: dict[str, Any], version: str) -> str:
    """Return what a version of Kubernetes refuses about a manifest; nothing if it takes it."""
    try:
        kubernetes_validate.validate(document, version, strict=True)
    except kubernetes_validate.ValidationError as fault:
        return str(fault.message)
    return ""


@pytest.mark.parametrize("version", [OLDEST, major_minor(kubernetes_validate.latest_version())])
def test_every_manifest_is_as_the_schemas_of_kubernetes_have_it(version: str) -> None:
    assert {name: fault for name, document in NAMED.items() if (fault := fault_of(document, version))} == {}
    misspelt = {**NAMED["StatefulSet", "arena"], "spec": {**SET, "replica": 1}}
    assert "'replica' was unexpected" in fault_of(misspelt, version)


def test_the_kustomization_has_them_all_but_the_example_of_a_secret() -> None:
    content = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    assert set(content["resources"]) == {file.name for file in MANIFESTS} - {"secret.example.yaml"}
    assert [image["name"] for image in content["images"]] == [CONTAINER["image"]]


def test_the_kustomization_of_the_runner_has_its_manifests_and_its_secret_is_the_one_that_is_mounted() -> None:
    content = yaml.safe_load((RUNNER_FOLDER / "kustomization.yaml").read_text())
    assert set(content["resources"]) == {file.name for file in RUNNER_MANIFESTS} - {"secret.example.yaml"}
    assert [image["name"] for image in content["images"]] == [RUNNER["image"]]
    mounts = {mount["name"]: mount["mountPath"] for mount in RUNNER["volumeMounts"]}
    token = RUNNER["args"][RUNNER["args"].index("--token-file") + 1]
    (name,) = NAMED["Secret", "arena-runner"]["stringData"]
    assert token == f"{mounts['secrets']}/{name}"


def test_a_runner_is_started_with_options_that_it_has_and_is_root_in_its_pod_alone() -> None:
    told = call("arena", "runner", "--help").out
    assert RUNNER["args"][0] == "runner"
    assert [word for word in RUNNER["args"] if word.startswith("--") and word not in told] == []
    assert [one["name"] for one in RUNNER["env"]] == ["ARENA_URL"]
    assert RUNNER_POD["hostUsers"] is False
    assert RUNNER["securityContext"]["procMount"] == "Unmasked"  # which a pod with users of the host may not have
    assert RUNNER_POD["automountServiceAccountToken"] is False


def test_every_setting_is_one_that_the_server_has() -> None:
    settings = [*NAMED["ConfigMap", "arena"]["data"], *(one["name"] for one in CONTAINER["env"])]
    ours = {name.removeprefix("ARENA_").lower() for name in settings if name.startswith("ARENA_")}
    assert ours <= set(SETTINGS)
    assert POD["enableServiceLinks"] is False  # else a Service called arena sets ARENA_PORT


def test_secrets_are_files_that_the_secret_has() -> None:
    (mount,) = [mount["mountPath"] for mount in CONTAINER["volumeMounts"] if mount["name"] == "secrets"]
    named = {text for text in NAMED["ConfigMap", "arena"]["data"].values() if text.startswith("/run/secrets/")}
    assert named == {f"{mount}/{name}" for name in NAMED["Secret", "arena"]["stringData"]}


def test_a_pod_is_alive_and_ready_by_what_the_server_answers_and_is_drained_before_it_stops() -> None:
    assert (
        CONTAINER["startupProbe"]["httpGet"]
        == CONTAINER["livenessProbe"]["httpGet"]
        == {"path": ALIVE_PATH, "port": "socket"}
    )
    assert CONTAINER["readinessProbe"]["httpGet"] == {"path": READY_PATH, "port": "socket"}
    script = CONTAINER["lifecycle"]["preStop"]["exec"]["command"][-1]
    assert script == 'exec arena node drain "$ARENA_NODE" --wait'
    assert "--wait" in call("arena", "node", "drain", "--help").out


def test_ports_are_those_of_the_image() -> None:
    exposed = re.search(r"^EXPOSE (.*)$", (REPOSITORY / "Dockerfile").read_text(), re.MULTILINE)
    assert exposed is not None
    ports = {port["name"]: str(port["containerPort"]) for port in CONTAINER["ports"]}
    assert list(ports.values()) == exposed[1].split()
    assert NAMED["ConfigMap", "arena"]["data"]["ARENA_METRICS_PORT"] == ports["metrics"]
    assert SET["template"]["metadata"]["annotations"]["prometheus.io/port"] == ports["metrics"]


def test_every_pod_has_a_service_and_a_path_of_its_own_also_while_it_takes_no_play() -> None:
    (rule,) = NAMED["Ingress", "arena"]["spec"]["rules"]
    paths = {one["path"]: one["backend"]["service"] for one in rule["http"]["paths"]}
    (url,) = [one["value"] for one in CONTAINER["env"] if one["name"] == "ARENA_PUBLIC_URL"]
    for number in range(SET["replicas"]):
        pod = f"arena-{number}"
        assert paths[url.removeprefix("wss://$(DOMAIN)").replace("$(ARENA_NODE)", pod)]["name"] == pod
        service = NAMED["Service", pod]["spec"]
        assert service["publishNotReadyAddresses"] is True
        assert service["selector"] == {"statefulset.kubernetes.io/pod-name": pod}
    for service, port in ((backend["name"], backend["port"]["name"]) for backend in paths.values()):
        assert port in [one["name"] for one in NAMED["Service", service]["spec"]["ports"]]


def test_a_pod_may_do_as_little_as_it_needs() -> None:
    assert POD["automountServiceAccountToken"] is False
    user = re.search(r"^USER (\d+):(\d+)$", (REPOSITORY / "Dockerfile").read_text(), re.MULTILINE)
    assert user is not None
    context = POD["securityContext"]
    assert [str(context[name]) for name in ("runAsUser", "runAsGroup", "fsGroup")] == [user[1], user[2], user[2]]
    assert CONTAINER["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
