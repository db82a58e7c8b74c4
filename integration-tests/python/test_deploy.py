"""What ships in `deploy` for Kubernetes and Grafana has the fields that these know, and its parts fit each other."""

import json
import os
import re
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
# Versions of Kubernetes: that of Debian 12's time, and the newest one that is known.
VERSIONS = ["1.26", kubernetes_validate.latest_version()]
# Seconds in which a node that was told to leave ends: docs/reference/nodes.md.
DRAIN = 15


def objects():
    files = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
    return [found for file in files for found in yaml.safe_load_all(file.read_text())]


def of_kind(kind):
    (found,) = [found for found in objects() if found["kind"] == kind]
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_have_the_fields_of_kubernetes(version):
    for found in objects():
        kubernetes_validate.validate(found, version, strict=True)


def test_a_field_that_kubernetes_does_not_know_is_noticed():
    service = of_kind("Service")
    service["spec"]["clusterIp"] = "None"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(service, VERSIONS[-1], strict=True)


def test_the_nodes_of_a_run_are_those_of_the_stateful_set():
    nodes, service, run = of_kind("StatefulSet"), of_kind("Service"), of_kind("ConfigMap")
    name, domain = nodes["metadata"]["name"], nodes["spec"]["serviceName"]
    assert domain == service["metadata"]["name"]
    processors = nodes["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"]
    expected = [
        f"{name}-{index} slots={processors} addr={name}-{index}.{domain}" for index in range(nodes["spec"]["replicas"])
    ]
    assert run["data"]["hosts"].splitlines() == expected


def test_probes_and_service_have_the_ports_of_the_nodes():
    nodes, service, policy = of_kind("StatefulSet"), of_kind("Service"), of_kind("NetworkPolicy")
    (node,) = nodes["spec"]["template"]["spec"]["containers"]
    ports = {(port["containerPort"], port["protocol"]) for port in node["ports"]}
    assert ports == {(port["port"], port["protocol"]) for port in service["spec"]["ports"]}
    allowed = [port for rule in policy["spec"]["ingress"] for port in rule["ports"]]
    assert ports == {(port["port"], port["protocol"]) for port in allowed}
    exposed = re.search(r"^EXPOSE (.*)$", (DEPLOY / "container/Dockerfile").read_text(), re.MULTILINE)
    assert set(exposed[1].split()) == {f"{port}/{protocol.lower()}" for port, protocol in ports}
    names = {port["name"] for port in node["ports"]}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert node[probe]["httpGet"]["port"] in names


def test_selectors_find_the_pods():
    labels = of_kind("StatefulSet")["spec"]["template"]["metadata"]["labels"]
    for kind, key in (
        ("Service", "selector"),
        ("StatefulSet", "selector"),
        ("PodDisruptionBudget", "selector"),
        ("NetworkPolicy", "podSelector"),
    ):
        selector = of_kind(kind)["spec"][key]
        selected = selector.get("matchLabels", selector)
        assert selected and selected.items() <= labels.items(), kind
    client = of_kind("Job")["spec"]["template"]["metadata"]["labels"]
    peers = of_kind("NetworkPolicy")["spec"]["ingress"][0]["from"][0]["podSelector"]["matchLabels"]
    assert peers.items() <= client.items()
    node = of_kind("Service")["spec"]["selector"]
    assert not node.items() <= client.items()


def test_nodes_have_time_to_leave():
    assert of_kind("StatefulSet")["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] > DRAIN
    unit = (DEPLOY / "systemd/migbsp-node.service").read_text()
    assert int(re.search(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)[1]) > DRAIN


def test_the_run_of_the_job_runs(tmp_path):
    (run,) = of_kind("Job")["spec"]["template"]["spec"]["containers"]
    for name, text in of_kind("ConfigMap")["data"].items():
        (tmp_path / name).write_text(text)
    command, experiment = run["args"][:2]
    own = tmp_path / Path(experiment).name
    binary = os.environ["MIGBSP"]
    # Its other options name a cluster.
    options = run["args"][2:]
    subprocess.run([binary, command, own, *options, "--help"], check=True, stdout=subprocess.DEVNULL)
    short = ["--set", "application.supersteps=10"]
    subprocess.run([binary, "-q", "up", "--local", "2", "--", command, own, *short], check=True, stdout=subprocess.DEVNULL)


def test_the_dashboard_has_the_types_of_grafana():
    register_default_plugins()
    shipped = json.loads((DEPLOY / "monitoring/dashboard.json").read_text())
    read = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(shipped)))
    assert_kept(shipped, read, "dashboard")


def assert_kept(shipped, read, place):
    """What the types do not know is lost; what they know beside it has its default."""
    if isinstance(shipped, dict):
        for key, value in shipped.items():
            assert key in read, f"{place}: {key}"
            assert_kept(value, read[key], f"{place}.{key}")
    elif isinstance(shipped, list):
        assert len(shipped) == len(read), place
        for index, (one, other) in enumerate(zip(shipped, read, strict=True)):
            assert_kept(one, other, f"{place}[{index}]")
    else:
        assert shipped == read, place
