"""Data sets that change with the day are read from files written here."""
import os

SCRIPT = """
from ouro import data
names, sections, edges = data.debian_graph()
print(names, sections, edges.tolist(), edges.dtype)
"""


def test_debian_graph_has_each_dependency_once_and_no_virtual_package(t):
    folder = t.path("cache/ouro/data/debian-graph")
    os.makedirs(folder)
    with open(os.path.join(folder, "packages.txt"), "w") as f:
        f.write("apt admin libc6 dpkg libc6 mail-transport-agent\ndpkg admin libc6\nlibc6 libs\nzsh shells libc6 apt\n")
    t.write("graph.ouro", SCRIPT)
    env = dict(t.suite.environment(), XDG_CACHE_HOME=t.path("cache"))
    done = t.suite.execute([t.ouro, "run", t.path("graph.ouro")], cwd=t.folder, env=env, timeout=60)
    sections = "['admin', 'admin', 'libs', 'shells']"
    t.equal(done.out, f"['apt', 'dpkg', 'libc6', 'zsh'] {sections} [[0, 1], [0, 2], [1, 2], [3, 0], [3, 2]] i64\n")
