# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium that is spoken to over the DevTools protocol, by pipes: no port, and no package of Python."""

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

PROGRAM = os.environ.get("DOVETAIL_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome") or ""
SECONDS = 120  # for one answer, on a machine that has much else to do


def high(descriptor):
    """The same file under a number that does not collide with 3 and 4, which Chromium reads and writes."""
    number = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 20)
    os.close(descriptor)
    return number


class Chromium:
    """One browser with one page, until `close`."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="dovetail-browser-", ignore_cleanup_errors=True)
        command_end, commands = map(high, os.pipe())
        answers, answer_end = map(high, os.pipe())
        flags = ["--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                 "--disable-extensions", "--disable-background-networking", "--disable-component-update",
                 f"--user-data-dir={self.profile.name}"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # Chromium refuses to start as root with it
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{command_end} 4>&{answer_end}', "chromium", PROGRAM, *flags],
            stdout=self.log, stderr=self.log, pass_fds=(command_end, answer_end), start_new_session=True)
        os.close(command_end)
        os.close(answer_end)
        self.commands, self.answers = commands, answers
        self.buffer = b""
        self.number = 0
        self.events = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(domain + ".enable")

    def close(self):
        os.close(self.commands)  # Chromium ends when nobody speaks to it any more
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)  # its own session: only what it started
            self.process.wait()
        os.close(self.answers)
        self.log.close()
        self.profile.cleanup()

    def message(self, deadline):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.answers, 1 << 16) if ready else b""
            if not data:
                self.log.seek(0)
                raise AssertionError(f"no answer from {PROGRAM}:\n" + self.log.read().decode(errors="replace"))
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        request = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.commands, json.dumps(request).encode() + b"\0")
        deadline = time.monotonic() + SECONDS
        while True:
            message = self.message(deadline)
            if message.get("id") == self.number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def open(self, path):
        """Loads a file, and all that it asks for."""
        self.events.clear()
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        deadline = time.monotonic() + SECONDS
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message(deadline))

    def evaluate(self, script):
        """The value of an expression in the page, after what it promises has come."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def fetched(self):
        """Addresses that the page asked for."""
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        """What the browser wrote to its console."""
        return [event["params"] for event in self.events
                if event.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")]
