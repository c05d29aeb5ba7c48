#!/usr/bin/env python3
"""Writes the npm packages: `healbench`, and one for each platform whose program exists.

usage: tools/npm-packages.py FOLDER TARGET=PROGRAM...

TARGET is Rust's name of the platform, such as x86_64-unknown-linux-gnu.
"""

import json
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "packaging" / "npm"


def write(folder, package):
    (folder / "package.json").write_text(json.dumps(package, indent=2) + "\n")
    for name in ["LICENSE-APACHE", "LICENSE-MIT"]:
        shutil.copy(ROOT / name, folder)


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    out = pathlib.Path(sys.argv[1])
    programs = dict(argument.split("=", 1) for argument in sys.argv[2:])
    platforms = json.loads((SOURCE / "platforms.json").read_text())
    by_target = {platform["target"]: platform for platform in platforms.values()}
    unknown = sorted(set(programs) - set(by_target))
    if unknown:
        print(f"no package for {', '.join(unknown)}; known are {', '.join(sorted(by_target))}", file=sys.stderr)
        return 2
    package = json.loads((SOURCE / "package.json").read_text())
    version, shared = package["version"], {key: package[key] for key in ["version", "license"]}
    for target, program in programs.items():
        platform = by_target[target]
        folder = out / platform["package"]
        folder.mkdir(parents=True)
        file = "healbench.exe" if platform["os"] == "win32" else "healbench"
        shutil.copy(program, folder / file)
        (folder / file).chmod(0o755)
        own = {"name": platform["package"], "description": f"The program healbench for {target}", **shared}
        own |= {"os": [platform["os"]], "cpu": [platform["cpu"]], "files": [file]}
        if "libc" in platform:
            own["libc"] = [platform["libc"]]
        write(folder, own)
    main_folder = out / "healbench"
    main_folder.mkdir(parents=True)
    for name in ["healbench.js", "platforms.json"]:
        shutil.copy(SOURCE / name, main_folder)
    shutil.copy(ROOT / "README.md", main_folder)
    pages = main_folder / "man"
    pages.mkdir()
    native = next(iter(programs.values()))
    subprocess.run([native, "man", "--out", str(pages)], check=True)
    package["man"] = [f"./man/{page.name}" for page in sorted(pages.iterdir())]
    package["optionalDependencies"] = {
        platform["package"]: version for platform in platforms.values() if platform["target"] in programs
    }
    write(main_folder, package)
    return 0


if __name__ == "__main__":
    sys.exit(main())
