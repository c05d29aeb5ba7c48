//! The `[run]` table of healbench.toml, and the common shape of errors in TOML files.

use super::*;

/// Asserts that the program fails with exit code 2 before it writes anything, and returns the error with its help.
fn usage_error(sandbox: &Sandbox, args: &[&str]) -> String {
    let result = sandbox.start(args);
    assert_eq!((result.code, result.out.as_str()), (Some(2), ""), "{args:?}: {}", result.err);
    assert!(!sandbox.path("runs").exists(), "{args:?} left something behind");
    result.err
}

#[test]
fn a_flag_overrides_the_environment_which_overrides_the_file() {
    let sandbox = Sandbox::new();
    sandbox.write("healbench.toml", "[run]\nguardrails = [\"all\"]\ntrials = 3\nseed = 5\njobs = 2\n");
    let shown = sandbox
        .command(&["run", "quickstart", "--trials", "2", "--print-config"])
        .env("HEALBENCH_TRIALS", "7")
        .env("HEALBENCH_SEED", "7")
        .output();
    let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
    let sources = [
        "trials = 2  # --trials\n",
        "seed = 7  # HEALBENCH_SEED\n",
        "guardrails = [\"all\"]  # healbench.toml:2\n",
        "jobs = 2  # healbench.toml:5\n",
        "opening = [\"seeded\"]  # default\n",
    ];
    for line in sources {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    let plan = |trials: &[&str], variable: &str| {
        let mut command = sandbox.command(&[&["plan"], trials].concat());
        if !variable.is_empty() {
            command.env("HEALBENCH_TRIALS", variable);
        }
        let out = String::from_utf8(command.output().unwrap().stdout).unwrap();
        out.lines().find_map(|line| line.strip_prefix("trials     ")).unwrap().to_owned()
    };
    assert_eq!(plan(&["--trials", "2"], "7"), "2");
    assert_eq!(plan(&[], "7"), "7");
    assert_eq!(plan(&[], ""), "3");
    std::fs::remove_file(sandbox.path("healbench.toml")).unwrap();
    assert_eq!(plan(&[], ""), "5");
}

#[test]
fn all_options_are_printed_with_their_sources_and_nothing_is_run() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "healbench.toml",
        "[run]\nscenarios = [\"quickstart\"]\nagent = [\"scripted:typical\"]\nformat = [\"serde\"]\nbudget = \"2usd\"\nout = \"a\\u001bb\"\nby_scenario = true\n",
    );
    let shown = sandbox.ok(&["run", "--print-config", "--by-scenario"]).out;
    insta::assert_snapshot!(shown);
    assert_eq!(std::fs::read_dir(sandbox.dir.path()).unwrap().count(), 1);
    // The output is a settings file with the same values.
    sandbox.write("healbench.toml", &shown);
    let values = |text: &str| -> Vec<String> {
        let values = text.lines().filter_map(|line| line.rsplit_once("  # "));
        values.filter(|(value, _)| !value.starts_with("# config")).map(|(value, _)| value.to_owned()).collect()
    };
    assert_eq!(values(&sandbox.ok(&["run", "--print-config"]).out), values(&shown));
    let plan = sandbox.ok(&["plan", "--print-config"]).out;
    assert!(plan.contains("format = [\"serde\"]  # healbench.toml:") && !plan.contains("budget"), "{plan}");
}

#[test]
fn a_secret_is_not_printed() {
    let sandbox = Sandbox::new();
    let secret = "openai:sk-0123456789abcdefghijkl";
    let shown = sandbox.ok(&["run", "--print-config", "--agent", secret]).out;
    assert!(shown.contains("# agent looks like a secret, and is not shown  # --agent\n"), "{shown}");
    assert!(!shown.contains("0123456789"), "{shown}");
    sandbox.write("healbench.toml", &format!("[run]\nagent = [\"{secret}\"]\n"));
    let shown = usage_error(&sandbox, &["run", "--print-config"]);
    assert!(shown.contains("healbench.toml:2:10: something in `run.agent` looks like a secret"), "{shown}");
    assert!(!shown.contains("0123456789"), "{shown}");
}

#[test]
fn the_file_is_found_above_and_its_paths_are_relative_to_it() {
    let sandbox = Sandbox::new();
    let below = sandbox.path("below");
    std::fs::create_dir(&below).unwrap();
    sandbox.write("mine.toml", include_str!("../../../../agents/reader/profiles/careful.toml"));
    sandbox.write("format.jinja", include_str!("../../../../scenarios/templates/teaching.jinja"));
    sandbox.write(
        "healbench.toml",
        "[run]\nscenarios = [\"quickstart\", \"contracts/address-flattened\"]\nagent = [\"scripted:mine.toml\", \"scripted:blind\"]\nformat = [\"template:format.jinja\", \"serde\"]\n\
         out = \"results\"\ntrials = 1\n",
    );
    let start = |args: &[&str]| CommandResult::new(sandbox.command(args).current_dir(&below).output().unwrap());
    let shown = start(&["run", "--print-config"]).out;
    let lines = [
        "scenarios = [\"quickstart\", \"contracts/address-flattened\"]  # ../healbench.toml:2",
        "agent = [\"scripted:../mine.toml\", \"scripted:blind\"]  # ../healbench.toml:3",
        "format = [\"template:../format.jinja\", \"serde\"]  # ../healbench.toml:4",
        "out = \"../results\"  # ../healbench.toml:5",
        "# config = \"../healbench.toml\"  # default",
    ];
    for line in lines {
        assert!(shown.contains(&format!("{line}\n")), "{line}: {shown}");
    }
    let result = start(&["run"]);
    assert_eq!(result.code, Some(0), "{}", result.err);
    assert!(sandbox.path("results/manifest.json").exists());
    // Another file replaces it as a whole.
    sandbox.write("other.toml", "[run]\nseed = 4\n");
    let shown = start(&["run", "--print-config", "--config", "../other.toml"]).out;
    assert!(shown.contains("seed = 4  # ../other.toml:2\n") && shown.contains("trials = 5  # default\n"), "{shown}");
}

#[test]
fn a_flag_displaces_the_option_of_the_file_that_excludes_it() {
    let sandbox = Sandbox::new();
    sandbox.write("healbench.toml", "[run]\nrecord = \"tapes\"\n");
    let shown = sandbox.ok(&["run", "--print-config", "--replay", "old"]).out;
    let lines = ["# record = no recording  # default", "replay = \"old\"  # --replay"];
    for line in lines {
        assert!(shown.contains(&format!("\n{line}\n")), "{line}: {shown}");
    }
}

#[test]
fn errors_of_all_toml_files_have_one_shape() {
    let sandbox = Sandbox::new();
    let run = |text: &str| {
        sandbox.write("healbench.toml", text);
        usage_error(&sandbox, &["run"])
    };
    let mut all = vec![
        run("[run]\n\ntrails = 3\n"),
        run("[rum]\ntrials = 3\n"),
        run("[run]\ntrials = \"3\"\n"),
        run("[run]\ntrials = 0\n"),
        run("[run]\njobs = 1025\n"),
        run("[run]\nformat = \"serde\"\n"),
        run("[run]\nformat = [\"serde\", \"xml\"]\n"),
        run("[run]\nguardrails = [\"healng\"]\n"),
        run("[run]\nopening = [\"open\"]\n"),
        run("[run]\nagent = []\n"),
        run("[run]\nagent = [\"scripted:blind,scripted:typical\"]\n"),
        run("[run]\nbudget = \"much\"\n"),
        run("[run]\nby_scenario = 1\n"),
        run("[run]\nrecord = \"a\"\nreplay = \"b\"\n"),
        run("[run]\nresume = \"a\"\n"),
        run("[run\n"),
    ];
    // The tables of models are read only when a model is asked for.
    sandbox.write("healbench.toml", "[model.m]\napi = \"openai-chat\"\ntemprature = 1\n");
    all.push(usage_error(&sandbox, &["run", "--agent", "model:m"]));
    std::fs::remove_file(sandbox.path("healbench.toml")).unwrap();
    sandbox.write("prices.toml", "date = 2026-01-02\nprices = []\n");
    all.push(usage_error(&sandbox, &["run", "--agent", "openai:m", "--prices", "prices.toml"]));
    let profile = include_str!("../../../../agents/reader/profiles/typical.toml");
    sandbox.write("mine.toml", &profile.replacen("guess =", "gues =", 1));
    all.push(usage_error(&sandbox, &["run", "--agent", "scripted:mine.toml"]));
    sandbox.write("gate.toml", "[[check]]\nmetrics = \"success\"\n");
    all.push(usage_error(&sandbox, &["gate", "a", "b", "--policy", "gate.toml"]));
    for shown in &all {
        let (message, help) = shown.split_once("\nhelp: ").unwrap_or_else(|| panic!("no help: {shown}"));
        let mut place = message.strip_prefix("error: ").unwrap_or_else(|| panic!("no error: {shown}")).splitn(4, ':');
        assert!(place.next().is_some_and(|file| file.ends_with(".toml")), "{shown}");
        assert!(place.next().is_some_and(|line| line.parse::<u32>().is_ok()), "{shown}");
        assert!(place.next().is_some_and(|column| column.parse::<u32>().is_ok()), "{shown}");
        assert!(!help.trim().is_empty(), "{shown}");
    }
    insta::assert_snapshot!(all.join("\n"));
}

#[test]
fn an_empty_variable_is_as_one_that_is_not_set() {
    let sandbox = Sandbox::new();
    let variables = || {
        let names =
            ["AGENT", "CONDITION", "VARY", "GUARDRAILS", "FORMAT", "OPENING", "CONFIG", "PRICES", "TRIALS", "SEED"];
        names.into_iter().map(|name| (format!("HEALBENCH_{name}"), ""))
    };
    let plain = sandbox.ok(&["plan", "--print-config"]).out;
    let empty = sandbox.command(&["plan", "--print-config"]).envs(variables()).output().unwrap();
    assert_eq!(String::from_utf8(empty.stdout).unwrap(), plain);
    let given = sandbox.command(&["plan", "--print-config", "--trials=4"]).envs(variables()).output().unwrap();
    assert!(String::from_utf8(given.stdout).unwrap().contains("trials = 4  # --trials"));
}

#[test]
fn an_option_displaces_the_variable_of_an_option_that_it_excludes() {
    let sandbox = Sandbox::new();
    let start = |args: &[&str], variables: &[(&str, &str)]| {
        CommandResult::new(sandbox.command(args).envs(variables.iter().copied()).output().unwrap())
    };
    for (option, variable) in [
        ("--condition=bare", ("HEALBENCH_GUARDRAILS", "none")),
        ("--condition=bare", ("HEALBENCH_FORMAT", "zod-lines")),
        ("--guardrails=none", ("HEALBENCH_CONDITION", "bare")),
        ("--format=zod-lines", ("HEALBENCH_CONDITION", "bare")),
    ] {
        let result = start(&["plan", option], &[variable]);
        assert_eq!(result.code, Some(0), "{option} {variable:?}: {}", result.err);
    }
    let both = start(&["plan"], &[("HEALBENCH_CONDITION", "bare"), ("HEALBENCH_FORMAT", "zod-lines")]);
    assert_eq!(both.code, Some(2), "two variables exclude each other");
    assert!(both.err.contains("HEALBENCH_CONDITION") && both.err.contains("HEALBENCH_FORMAT"), "{}", both.err);
}

#[test]
fn an_error_about_the_value_of_a_variable_names_it() {
    let sandbox = Sandbox::new();
    let error = |variable: &str, value: &str, args: &[&str]| {
        let result = CommandResult::new(sandbox.command(args).env(variable, value).output().unwrap());
        assert_eq!(result.code, Some(2), "{variable}: {}", result.err);
        unbroken(&result.err)
    };
    for (variable, value) in [
        ("HEALBENCH_TRIALS", "many"),
        ("HEALBENCH_SEED", "-1"),
        ("HEALBENCH_FORMAT", "yaml"),
        ("HEALBENCH_GUARDRAILS", "heeling"),
        ("HEALBENCH_AGENT", "scripted:absent"),
        ("HEALBENCH_CONFIG", "absent.toml"),
    ] {
        let shown = error(variable, value, &["plan"]);
        assert!(shown.contains(&format!("the environment variable {variable} sets `--")), "{shown}");
    }
    let shown = error("HEALBENCH_TRIALS", "3", &["plan", "quickstart", "--trials=few"]);
    assert!(!shown.contains("HEALBENCH_TRIALS sets"), "the value is that of the command line: {shown}");
}
