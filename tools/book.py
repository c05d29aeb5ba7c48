#!/usr/bin/env python3
"""Builds the documentation site into target/book, and checks its links.

usage: tools/book.py PROGRAM [--commands]

Pages come from docs/, from documents of the root, and from the program: command line, scenario file, metrics, columns, exit codes. With
`--commands`, the blocks `sh` of all pages in docs/ are also run, each page in a folder of its own, with the scenario of docs/suites.md as
`mine.yaml` and the list of tools of docs/formats.md as `tools.json`. Comments before a block say what is special about it:

    <!-- not run: REASON -->       such as a model or a cluster that it needs
    <!-- exit code: N -->          the code of the last command; 0 unless given
    <!-- setup: COMMAND -->        run before the block
"""

import html.parser
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "target" / "book-src"
BOOK = ROOT / "target" / "book"
# Documents of the root, and their pages.
ROOT_PAGES = {
    "README.md": "overview.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}


def run(program, *arguments):
    return subprocess.run(
        [program, *arguments], check=True, capture_output=True, text=True, env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    ).stdout


def adapt(text, folder):
    """Makes links between documents into links between pages, and links to other files into their names."""

    def page_of(file):
        return ROOT_PAGES.get(file, file.removeprefix("docs/") if file.startswith("docs/") else None)

    def target(match):
        label, link = match.group(1), match.group(2)
        if re.match(r"[a-z]+:|#", link):
            return match.group(0)
        path, _, anchor = link.partition("#")
        file = os.path.normpath(os.path.join(folder, path))
        page = page_of(file)
        if page is None:
            return f"{label.removeprefix('!').strip('[]')} (`{file}`)"
        return f"{label}({page}{'#' + anchor if anchor else ''})"

    def attribute(match):
        return f'{match.group(1)}="{page_of(match.group(2)) or match.group(2)}"'

    text = re.sub(r"(!?\[[^\]]*\])\(([^)\s]+)\)", target, text)
    # Pictures for both themes are written in HTML.
    return re.sub(r'\b(src|srcset|href)="([^":#]+)"', attribute, text)


def command_line(program):
    """Returns the help of every command."""
    lines = ["# Command line\n"]

    def add(words):
        text = run(program, *words, "--help")
        title = " ".join(["healbench", *words])
        lines.append(f"## {title}\n\n```text\n{text.rstrip()}\n```\n")
        section = re.search(r"^Commands:\n(.*?)(?:\n\n|\Z)", text, re.MULTILINE | re.DOTALL)
        for name in re.findall(r"^  ([a-z][a-z-]*)", section.group(1), re.MULTILINE) if section else []:
            if name != "help":
                add([*words, name])

    add([])
    return "\n".join(lines)


def scenario_file(program):
    schema = json.loads(run(program, "schema", "scenario"))
    lines = ["# Scenario file\n", "Generated from `healbench schema scenario`, which editors can check files with.\n"]

    def kind(value):
        if value is True or value == {}:
            return "any"
        if "$ref" in value:
            name = value["$ref"].split("/")[-1]
            return f"[{name}](#{name.lower()})"
        if "enum" in value:
            return ", ".join(f"`{json.dumps(option)}`" for option in value["enum"])
        if "const" in value:
            return f"`{json.dumps(value['const'])}`"
        for key in ["anyOf", "oneOf", "allOf"]:
            if key in value:
                return " or ".join(dict.fromkeys(kind(branch) for branch in value[key]))
        kinds = value.get("type", "any")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if "array" in kinds and isinstance(value.get("items"), dict):
            return f"list of {kind(value['items'])}"
        return " or ".join(kinds)

    def cell(text):
        return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;")

    def table(value):
        properties = value.get("properties", {})
        if properties:
            lines.append("| key | value | meaning |\n|---|---|---|")
            required = value.get("required", [])
            for name, field in properties.items():
                field = field if isinstance(field, dict) else {}
                must = " (required)" if name in required else ""
                lines.append(f"| `{name}`{must} | {cell(kind(field))} | {cell(field.get('description', ''))} |")
            lines.append("")

    def section(name, value):
        lines.append(f"## {name}\n")
        if "description" in value:
            lines.append(cell(value["description"]) + "\n")
        table(value)
        branches = [branch for key in ["oneOf", "anyOf"] for branch in value.get(key, []) if isinstance(branch, dict)]
        for branch in branches:
            if branch.get("properties") or "const" in branch or "enum" in branch:
                described = cell(branch.get("description", ""))
                lines.append(f"- {kind({k: v for k, v in branch.items() if k != 'properties'})}: {described}")
                lines.extend(
                    f"  - `{key}`: {cell(kind(field))}"
                    for key, field in branch.get("properties", {}).items()
                    if isinstance(field, dict)
                )
        lines.append("")

    section("The file", schema)
    for name, value in sorted(schema.get("$defs", {}).items()):
        section(name, value)
    return "\n".join(lines)


def columns(program):
    """Returns the columns as the metadata of a run's files describe them."""
    import polars  # Read from the files, so that the page cannot say anything else.

    lines = ["# Columns\n", "Generated from the metadata of a run's files.\n"]
    with tempfile.TemporaryDirectory() as folder:
        run(program, "run", "--trials", "1", "--quiet", "--out", f"{folder}/run")
        for name in ["episodes", "calls", "responses"]:
            path = f"{folder}/run/{name}.parquet"
            described = polars.read_parquet_metadata(path)
            lines.append(f"## {name}.parquet\n\n| column | type | meaning |\n|---|---|---|")
            for column, kind in polars.read_parquet_schema(path).items():
                text = described.get(f"healbench.column.{column}")
                if not text:
                    sys.exit(f"{name}.parquet says nothing of its column {column}")
                text = re.sub(r"\s+", " ", text).replace("|", "\\|")
                lines.append(f"| `{column}` | {kind} | {text} |")
            lines.append("")
    return "\n".join(lines)


def metrics(program):
    """Returns the metrics of a row as the schema of reports describes them."""
    row = json.loads(run(program, "schema", "report"))["$defs"]["ReportRow"]["properties"]
    lines = [
        "# Metrics\n",
        "Generated from `healbench schema report`: the keys of a row in `healbench report RUN --output json`.",
        "[Read a report](../report.md) explains how tables show them.\n",
        "| key | meaning |\n|---|---|",
    ]
    for name, field in row.items():
        text = re.sub(r"\s+", " ", field["description"]).replace("|", "\\|")
        lines.append(f"| `{name}` | {text} |")
    return "\n".join(lines) + "\n"


def exit_codes(program):
    page = run(program, "man")
    section = page.split('.SH "EXIT STATUS"')[1].split(".SH")[0]
    rows = re.findall(r"\.TP\n(\d+)\n(.*)", section)
    lines = ["# Exit codes\n", "| code | meaning |\n|---:|---|", *(f"| {code} | {text} |" for code, text in rows)]
    return "\n".join(lines) + "\n"


class Page(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self):
        super().__init__()
        self.links, self.anchors = [], set()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if attributes.get("id"):
            self.anchors.add(attributes["id"])
        for name in ["href", "src"]:
            if attributes.get(name):
                self.links.append(attributes[name])


def dead_links():
    pages = {}
    for path in BOOK.rglob("*.html"):
        page = Page()
        page.feed(path.read_text())
        pages[path] = page
    dead = []
    for path, page in pages.items():
        # Made of all others, with their links.
        if path.name in ["print.html", "404.html"]:
            continue
        for link in page.links:
            url = urllib.parse.urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / urllib.parse.unquote(url.path)).resolve() if url.path else path
            if target.is_dir():
                target = target / "index.html"
            if not target.exists():
                dead.append(f"{path.relative_to(BOOK)}: {link}")
            elif url.fragment and target in pages:
                if urllib.parse.unquote(url.fragment) not in pages[target].anchors:
                    dead.append(f"{path.relative_to(BOOK)}: {link} (no such heading)")
    return dead


def first_block(page, language):
    return re.search(rf"^```{language}\n(.*?)^```", (ROOT / "docs" / page).read_text(), re.MULTILINE | re.DOTALL).group(1)


def sandbox(folder, program):
    """Makes a folder in which a reader may be: with the program, copies of what the repository has, and the files that pages say to save."""
    for name in ["examples", "scenarios", "agents"]:
        listed = subprocess.run(["git", "ls-files", "-z", name], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for file in filter(None, listed.split("\0")):
            if (ROOT / file).is_file():
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, folder / file)
    (folder / "mine.yaml").write_text(first_block("suites.md", "yaml"))
    (folder / "tools.json").write_text(first_block("formats.md", "json"))
    programs = folder / ".bin"
    programs.mkdir()
    os.symlink(os.path.realpath(program), programs / "healbench")
    # A link would not find the packages of its environment.
    python = programs / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HEALBENCH_")}
    return {**environment, "PATH": f"{programs}:{os.environ['PATH']}"}


def run_commands(program):
    """Runs the blocks `sh` of all pages in docs/."""
    ran = skipped = 0
    for page in sorted((ROOT / "docs").glob("*.md")):
        blocks = re.findall(r"((?:^<!--[^\n]*-->\n)*)^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
        if not blocks:
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            environment = sandbox(folder, program)
            for comments, block in blocks:
                settings = re.findall(r"<!-- (not run|exit code|setup): (.*?) -->", comments)
                reasons = [value for key, value in settings if key == "not run"]
                if reasons:
                    print(f"docs/{page.name}: not run, {reasons[0]}: {block.splitlines()[0]}")
                    skipped += 1
                    continue
                codes = [int(value) for key, value in settings if key == "exit code"]
                for commands, expected in [*((value, 0) for key, value in settings if key == "setup"), (block, (codes or [0])[0])]:
                    ended = subprocess.run(
                        ["bash", "-euo", "pipefail", "-c", commands], cwd=folder, env=environment,
                        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                    )
                    if ended.returncode != expected:
                        sys.exit(f"docs/{page.name}: exit code {ended.returncode} of\n{commands}\n{ended.stdout[-2000:]}{ended.stderr}")
                ran += 1
    print(f"{ran} blocks of commands run, {skipped} not")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    program = sys.argv[1]
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE)
    for page in SOURCE.glob("*.md"):
        page.write_text(adapt(page.read_text(), "docs"))
    for document, page in ROOT_PAGES.items():
        (SOURCE / page).write_text(adapt((ROOT / document).read_text(), ""))
    reference = SOURCE / "reference"
    reference.mkdir()
    (reference / "cli.md").write_text(command_line(program))
    (reference / "scenario.md").write_text(scenario_file(program))
    (reference / "metrics.md").write_text(metrics(program))
    (reference / "columns.md").write_text(columns(program))
    (reference / "exit-codes.md").write_text(exit_codes(program))
    mdbook = os.environ.get("MDBOOK", "mdbook")
    built = subprocess.run([mdbook, "build", str(ROOT)], capture_output=True, text=True, check=False)
    said = built.stdout + built.stderr
    if built.returncode != 0 or "WARN" in said or "ERROR" in said:
        sys.exit(f"mdbook:\n{said}")
    dead = dead_links()
    if dead:
        sys.exit("dead links:\n" + "\n".join(sorted(set(dead))))
    print(f"{len(list(BOOK.rglob('*.html')))} pages in {BOOK.relative_to(ROOT)}, no dead link")
    if "--commands" in sys.argv:
        run_commands(program)


if __name__ == "__main__":
    main()
