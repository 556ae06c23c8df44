#!/usr/bin/env python3
"""Tests ./rubato, the wrapper: what it installs, builds and calls. Run by ctest (wrapper.works).

The wrapper stands in a project of its own, on a machine whose apt, dpkg-query, sudo, id, cmake and ctest are
scripts that note how they were called; everything else is this machine's.
"""

import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import time
import unittest

PROJECT = pathlib.Path(__file__).resolve().parent.parent
# What a Debian machine has before anything is installed, as far as the wrapper uses it.
PLAIN = ("sh env cat chmod cut dirname find flock git grep mkdir mv nproc printf readlink rm sed tail touch true"
         .split())

DPKG = """
case "$4" in
  {missing}) printf 'unknown ok not-installed' ;;
  *) printf 'install ok installed' ;;
esac
"""
# Makes the program that is then called; it notes its words, and ends with the code that it is told.
CMAKE = """
[ "$1" = --build ] || exit 0
mkdir -p "$2/bin"
cat >"$2/bin/rubato" <<'END'
#!/bin/sh
for word in "$@"; do printf '<%s>' "$word"; done
echo
[ "$1" != fail ] || exit 4
END
chmod +x "$2/bin/rubato"
"""


class Machine:
    """A folder with a project and a PATH of its own."""

    def __init__(self, folder, missing=(), user=0, sudo=None, apt="exit 0", cmake=CMAKE):
        self.root = folder / "project"
        self.bin = folder / "bin"
        self.calls_file = folder / "calls"
        for part in ("src", "cmake", "bench", "examples", "tools"):
            (self.root / part).mkdir(parents=True)
        for part in ("CMakeLists.txt", "CMakePresets.json", "src/a.cpp"):
            (self.root / part).write_text("")
        shutil.copy(PROJECT / "rubato", self.root / "rubato")
        self.bin.mkdir()
        for tool in PLAIN:
            (self.bin / tool).symlink_to(shutil.which(tool))
        self.add("id", f"echo {user}", noted=False)
        self.add("dpkg-query", DPKG.format(missing="|".join(missing) or "-"))
        # Installed packages are there from then on.
        self.add("apt-get", f"""{apt}
case "$*" in *install*) printf '#!/bin/sh\\nprintf "install ok installed"' >'{self.bin}/dpkg-query' ;; esac""")
        self.add("cmake", cmake)
        # It looks each second at a build that lasts minutes.
        self.add("sleep", f"exec {shutil.which('sleep')} 0.02", noted=False)
        self.add("ctest", "exit 0")
        self.add("ninja", "exit 0")
        self.add("g++", "exit 0")
        if sudo is not None:
            self.add("sudo", sudo)
        # The project is older than what is built of it.
        past = time.time() - 100
        for path in [self.root, *self.root.rglob("*")]:
            os.utime(path, (past, past))

    def add(self, name, body, noted=True):
        note = f'printf "%s\\n" "{name} $*" >>"{self.calls_file}"\n' if noted else ""
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{note}{body}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    def start(self, *words):
        return subprocess.Popen([self.root / "rubato", *words], env={"PATH": str(self.bin), "HOME": "/"},
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    def calls(self):
        return self.calls_file.read_text().splitlines()

    def run(self, *words):
        """Exit code, output, errors, and the calls that were noted."""
        self.calls_file.write_text("")
        process = self.start(*words)
        out, err = process.communicate(timeout=60)
        return process.returncode, out, err, self.calls()


class Wrapper(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def machine(self, **arguments):
        return Machine(pathlib.Path(self.folder.name), **arguments)

    def test_any_word_is_passed_on_to_the_built_program_with_its_exit_code(self):
        machine = self.machine()
        code, out, err, calls = machine.run("run", "two words", "", "--json")
        self.assertEqual((code, out), (0, "<run><two words><><--json>\n"), err)
        self.assertTrue(any(c.startswith("cmake --preset release") for c in calls), calls)
        self.assertFalse(any("apt-get" in c for c in calls), calls)
        self.assertEqual(machine.run("fail")[0], 4)

    def test_a_second_call_asks_nobody_and_starts_at_once(self):
        machine = self.machine()
        machine.run("demo")
        best = 9.0
        for _ in range(5):
            begin = time.monotonic()
            code, out, err, calls = machine.run("demo")
            best = min(best, time.monotonic() - begin)
            self.assertEqual((code, out, err, calls), (0, "<demo>\n", "", []))
        self.assertLess(best, 0.3)

    def test_it_builds_again_when_a_source_has_changed_or_gone(self):
        machine = self.machine()
        machine.run("demo")
        time.sleep(0.02)
        (machine.root / "src/a.cpp").write_text("int a;")
        self.assertTrue(any("--build" in c for c in machine.run("demo")[3]))
        self.assertEqual(machine.run("demo")[3], [])
        time.sleep(0.02)
        (machine.root / "src/a.cpp").unlink()
        self.assertTrue(any("--build" in c for c in machine.run("demo")[3]))

    def test_of_two_calls_at_once_one_builds(self):
        machine = self.machine(cmake='[ "$1" != --build ] || sleep 1\n' + CMAKE)
        machine.add("sleep", f"exec {shutil.which('sleep')} 0.3", noted=False)
        calls = [machine.start("demo") for _ in range(3)]
        ends = [(c.communicate(timeout=60)[0], c.returncode) for c in calls]
        self.assertEqual(ends, [("<demo>\n", 0)] * 3)
        self.assertEqual(len([c for c in machine.calls() if "--build" in c]), 1)

    def test_root_installs_exactly_what_is_missing(self):
        machine = self.machine(missing=("libfmt-dev", "ninja-build"))
        code, out, err, calls = machine.run("demo")
        self.assertEqual((code, out), (0, "<demo>\n"), err)
        installs = [c for c in calls if c.startswith("apt-get") and " install " in c]
        self.assertEqual(len(installs), 1, calls)
        self.assertTrue(installs[0].endswith("install --no-install-recommends ninja-build libfmt-dev"), installs)
        self.assertIn("installing ninja-build libfmt-dev", err)
        # The lists of a container are empty: they are brought first.
        updates = [i for i, c in enumerate(calls) if c.startswith("apt-get") and c.endswith("update")]
        self.assertTrue(updates and updates[0] < calls.index(installs[0]), calls)

    def test_others_install_through_sudo(self):
        machine = self.machine(missing=("libfmt-dev",), user=1000, sudo='[ "$1" = -n ] && shift; exec "$@"')
        code, out, err, calls = machine.run("demo")
        self.assertEqual((code, out), (0, "<demo>\n"), err)
        self.assertTrue(any(c.startswith("sudo env") and "install" in c for c in calls), calls)

    def test_without_sudo_it_says_the_line_to_run(self):
        machine = self.machine(missing=("libfmt-dev", "g++"), user=1000)
        code, out, err, calls = machine.run("demo")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("as root, run: apt-get update && apt-get install -y g++ libfmt-dev\n", err)
        self.assertFalse(any(c.startswith(("apt-get", "cmake")) for c in calls), calls)

    def test_a_sudo_that_asks_for_a_password_is_none_without_a_terminal(self):
        machine = self.machine(missing=("g++",), user=1000, sudo='[ "$1" != -n ]')
        code, _, err, _ = machine.run("demo")
        self.assertEqual(code, 1)
        self.assertIn("apt-get install -y g++\n", err)

    def test_an_apt_that_fails_shows_its_last_words(self):
        machine = self.machine(missing=("g++",),
                               apt='case "$*" in *install*) echo "E: no route"; exit 100 ;; esac')
        code, _, err, calls = machine.run("demo")
        self.assertEqual(code, 1)
        self.assertIn("E: no route", err)
        self.assertIn("apt-get install -y g++\n", err)
        self.assertFalse(any(c.startswith("cmake") for c in calls), calls)

    def test_a_machine_without_apt_needs_the_tools_themselves(self):
        machine = self.machine()
        (machine.bin / "apt-get").unlink()
        self.assertEqual(machine.run("demo")[:2], (0, "<demo>\n"))
        machine.root.joinpath("build/.packages-build").unlink()
        (machine.bin / "ninja").unlink()
        code, _, err, _ = machine.run("demo")
        self.assertEqual(code, 1)
        self.assertIn("'ninja' is missing", err)

    def test_a_build_that_fails_shows_the_first_complaint(self):
        machine = self.machine(cmake='[ "$1" = --build ] || exit 0\necho "[1/9] a.cpp"\n'
                                     'echo "a.cpp:3:1: error: no such type"\nexit 2')
        code, out, err, _ = machine.run("demo")
        self.assertEqual((code, out), (1, ""))
        self.assertIn("a.cpp:3:1: error: no such type", err)
        self.assertIn("building release failed (exit 2)", err)
        # Nothing was built: the next call tries again.
        self.assertTrue(any("--build" in c for c in machine.run("demo")[3]))

    def test_test_runs_all_tests_but_the_slow_ones_or_those_that_are_named(self):
        machine = self.machine()
        code, _, err, calls = machine.run("test")
        self.assertEqual(code, 0, err)
        self.assertTrue(any(c.startswith("cmake --preset dev") for c in calls), calls)
        self.assertTrue(calls[-1].startswith("ctest ") and calls[-1].endswith("-LE slow"), calls)
        self.assertTrue(machine.run("test", "-R", "Grid")[3][-1].endswith("-R Grid"))


if __name__ == "__main__":
    sys.exit(unittest.main())
