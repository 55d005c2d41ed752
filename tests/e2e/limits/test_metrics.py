"""What `cleave top --metrics` serves, as Prometheus reads it; the dashboard and the alerts ask for what there is."""

import json
import re
import shutil
import socket
import subprocess
import unittest
import urllib.parse
import urllib.request
from pathlib import Path

from limits_test import LimitsTest
from support.options import CLEAVE, OPTIONS, main
from support.processes import cleave, wait_until

PACKAGING = Path(__file__).resolve().parents[3] / "packaging" / "grafana"
DASHBOARD, ALERTS = PACKAGING / "dashboard.json", PACKAGING / "alerts.yml"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


def expressions_of_dashboard():
    return [target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel.get("targets", [])]


def expressions_of_alerts():
    return re.findall(r"(?m)^ *expr: (.+)$", ALERTS.read_text())


def names_in(expression):
    return set(re.findall(r"\bcleave_\w+", expression))


class MetricsTest(LimitsTest):
    def setUp(self):
        super().setUp()
        self.address = f"127.0.0.1:{free_port()}"
        library = self.own_folder() / "libnvidia-ml.so.1"
        library.symlink_to((OPTIONS.programs / "fake_nvml.so").resolve())
        self.exporter = subprocess.Popen([str(CLEAVE), "top", "--metrics", f"tcp:{self.address}"],
                                         env=self.settings(LD_LIBRARY_PATH=library.parent),
                                         stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end_exporter)
        line = self.exporter.stderr.readline()
        if "built without metrics" in line:
            self.skipTest(line)
        self.assertEqual(line, f"cleave: metrics on tcp:{self.address}\n")
        for tenant in ("alice", "bob"):
            process = self.start(OPTIONS.programs.parent / "turns" / "turn_taker", 0, CLEAVE_TENANT=tenant, CLEAVE_CAP="50%",
                                 CLEAVE_MEMORY_LIMIT="64M", CLEAVE_MIN_ITEMS="0")
            self.assertEqual(process.stdout.readline(), "began\n")
        wait_until(lambda: all(f'tenant="{tenant}"' in self.page() for tenant in ("alice", "bob")), "no metrics of the two")

    def end_exporter(self):
        self.exporter.terminate()
        status = self.exporter.wait(30)
        self.exporter.stderr.close()
        self.assertEqual(status, 0)

    def page(self):
        return get(f"http://{self.address}/metrics")

    def test_every_metric_that_is_asked_for_exists_and_explains_itself(self):
        page = self.page()
        explained = set(re.findall(r"(?m)^# HELP (\w+) \S", page))
        self.assertEqual(set(re.findall(r"(?m)^(\w+)\{?", page)) - explained, set())
        asked = set().union(*map(names_in, expressions_of_dashboard() + expressions_of_alerts()))
        self.assertGreater(len(asked), 8)
        self.assertEqual(asked - explained, set())
        memory = re.findall(r"(?m)^cleave_(?:process|tenant)_memory_\w+\{(.*)\}", page)
        self.assertTrue(memory and all('file="memory-' in labels for labels in memory), "two GPUs of one name are one")
        self.assertEqual(get(f"http://{self.address}/healthz"), "ok\n")
        self.assertEqual(re.findall(r"(?m)^(cleave_device_energy.*)$", page),
                         ['cleave_device_energy_joules_total{device="NVIDIA Test GPU",uuid="GPU-0123"} 1234.5'])

    def test_a_tenants_device_time_does_not_fall_when_its_processes_end(self):
        def used():
            return float(re.search(r'(?m)^cleave_tenant_device_seconds_total\{.*tenant="alice"\} (\S+)$', self.page())[1])
        wait_until(lambda: used() > 0, "it has used nothing")
        before = used()
        for process in [each for each in self.top()[0]["participants"] if each["tenant"] == "alice"]:
            subprocess.run(["kill", "-9", str(process["pid"])], check=True)
        wait_until(lambda: [each["tenant"] for each in self.top()[0]["participants"]] == ["bob"], "it is still there")
        self.assertGreaterEqual(used(), before)

    def test_prometheus_reads_and_answers(self):
        prometheus = shutil.which("prometheus")
        if prometheus is None:
            raise unittest.SkipTest("prometheus is not installed (Debian's package prometheus)")
        folder = self.own_folder()
        config = folder / "prometheus.yml"
        config.write_text("global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
                          f"rule_files: ['{ALERTS}']\n"
                          f"scrape_configs: [{{job_name: cleave, static_configs: [{{targets: ['{self.address}']}}]}}]\n")
        port = free_port()
        server = subprocess.Popen([prometheus, f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                                   f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait, 60)
        self.addCleanup(server.terminate)

        def ask(path, **parameters):
            try:
                return json.loads(get(f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"))["data"]
            except OSError:
                return None

        def tenants():
            found = ask("query", query="sum by (tenant) (cleave_tenant_device_seconds_total) > 0")
            return found and {each["metric"].get("tenant", "") for each in found["result"]}

        wait_until(lambda: tenants() == {"alice", "bob"}, "Prometheus has no device time of both tenants")
        for expression in expressions_of_dashboard():
            found = ask("query", query=expression.replace("$__rate_interval", "1m"))
            self.assertIsNotNone(found, expression)
        rules = [rule for group in ask("rules")["groups"] for rule in group["rules"]]
        self.assertEqual(len(rules), len(expressions_of_alerts()))
        wait_until(lambda: all(rule["health"] == "ok" for group in ask("rules")["groups"] for rule in group["rules"]),
                   "a rule cannot be evaluated")


class Addresses(LimitsTest):
    def test_others_must_not_reach_it(self):
        done = cleave("top", "--metrics", "tcp:0.0.0.0:9461", environment=self.settings())
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("not an address that only this host reaches", done.stderr)


main()
