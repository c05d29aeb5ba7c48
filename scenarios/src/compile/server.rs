use std::path::Path;

use healbench_text::{looks_like_secret, secrets_in_url};

use super::Compiler;
use super::tools::{NamedTool, Tools};
use crate::file::ServerFile;
use crate::locate::child;
use crate::server::{EPISODE_DIR, Server, ServerEndpoint, replace};
use crate::tools_file::load_tools_str;

/// The sections of the simulator, and what a server has instead.
const OF_THE_SIMULATOR: [(&str, &str); 5] = [
    ("world", "the state of a server comes from `fixture` and `setup`"),
    ("faults", "a server has its own faults"),
    ("clock", "the time of a server is real"),
    ("self_healing", "the contract of a server has no earlier version"),
    ("claims", "claims are about the simulator"),
];

/// Reads the server and its tools. `stored_tools` is the text of the tools of a stored scenario, whose file is not read again.
pub(super) fn compile(compiler: &mut Compiler<'_>, stored_tools: Option<&str>) -> Option<(Server, Tools)> {
    for (key, help) in OF_THE_SIMULATOR {
        if compiler.content.get(key).is_some() {
            let message = format!("`{key}` cannot be combined with `server`");
            compiler.at_key(&child("", key), message, help.to_owned());
        }
    }
    for key in ["task", "script", "expect"] {
        if let Some(section) = compiler.content.get_mut(key) {
            replace(section, "{dir}", EPISODE_DIR);
        }
    }
    let folder = Path::new(compiler.document.label).parent().unwrap_or(Path::new("")).to_path_buf();
    // A server runs in another folder. The folder of `file.yaml` is empty, and stands for the one that this runs in.
    let here =
        std::path::absolute(Path::new(".").join(&folder)).unwrap_or_else(|_| folder.clone()).display().to_string();
    for pointer in ["/server/command", "/server/setup", "/expect"] {
        if let Some(section) = compiler.content.pointer_mut(pointer) {
            replace(section, "{here}", &here);
        }
    }
    let file: ServerFile = compiler.section("/server")?;
    let endpoint = endpoint(compiler, &file)?;
    for name in &file.env {
        if name.is_empty() || name.contains(['=', '\0']) {
            compiler.at_value("/server/env", format!("`{name}` cannot be the name of a variable"), None);
        }
    }
    let words = [
        ("/server/command", file.command.iter().flatten().collect::<Vec<_>>()),
        ("/server/setup", file.setup.iter().flatten().collect()),
    ];
    for (pointer, words) in words {
        if words.into_iter().any(|word| looks_like_secret(word) || !secrets_in_url(word).is_empty()) {
            let help = "it would be stored with every run; name the variable that holds it in `env`".to_owned();
            compiler.at_value(pointer, "a command in a file may hold no password, key or token", help);
        }
    }
    if let Some(index) = file.setup.iter().position(Vec::is_empty) {
        compiler.at_value(&child("/server/setup", index), "a command needs a program", None);
    }
    let fixture = file.fixture.as_ref().map(|fixture| folder.join(fixture));
    if stored_tools.is_none() && fixture.as_ref().is_some_and(|fixture| !fixture.is_dir()) {
        let help = "a folder relative to this file".to_owned();
        compiler.at_value("/server/fixture", "there is no such folder", help);
    }
    let tools_path = folder.join(&file.tools_file);
    let text = match stored_tools
        .map(|text| Ok(text.to_owned()))
        .unwrap_or_else(|| healbench_files::read_text_file(&tools_path, healbench_files::MAX_LIST_BYTES))
    {
        Ok(text) => text,
        Err(error) => {
            let help = "it is the server's answer to `tools/list`; `healbench new --from-server` writes it".to_owned();
            compiler.at_value("/server/tools_file", format!("cannot read the file: {error}"), help);
            return None;
        }
    };
    let tools = tools(compiler, &tools_path.display().to_string(), &text, file.tools.as_deref())?;
    let server =
        Server { endpoint, fixture, setup: file.setup, env: file.env, timeout_s: file.timeout_s, tools_text: text };
    Some((server, tools))
}

/// Returns true if a URL names a user, or has a part that is a secret.
fn holds_secret(url: &str) -> bool {
    url.split('/').nth(2).is_some_and(|host| host.contains('@')) || !secrets_in_url(url).is_empty()
}

/// Returns how the server is reached: by exactly one of `command` and `url`.
fn endpoint(compiler: &mut Compiler<'_>, file: &ServerFile) -> Option<ServerEndpoint> {
    if file.token_env.is_some() && file.url.is_none() {
        let help = "a program is given its variables by `env`".to_owned();
        compiler.at_key("/server/token_env", "`token_env` is for `url`", help);
    }
    match (&file.command, &file.url) {
        (Some(command), None) => return Some(ServerEndpoint::Command(command.clone())),
        (None, Some(url)) if !(url.starts_with("http://") || url.starts_with("https://")) => {
            compiler.at_value("/server/url", "this is not a URL of http or https", None);
        }
        (None, Some(url)) if holds_secret(url) => {
            let help = "it would be stored with every run; name the variable with the token in `token_env`".to_owned();
            compiler.at_value("/server/url", "a URL in a file may hold no password, key or token", help);
        }
        (None, Some(url)) => {
            return Some(ServerEndpoint::Url { url: url.clone(), token_env: file.token_env.clone() });
        }
        _ => compiler.at_value("/server", "exactly one of `command`, `url` is needed", None),
    }
    None
}

/// Returns the tools with these names, or all.
fn tools(compiler: &mut Compiler<'_>, label: &str, text: &str, wanted: Option<&[String]>) -> Option<Tools> {
    let list = match load_tools_str(label, text) {
        Ok(list) => list,
        Err(problems) => {
            let first = problems.first().map(ToString::to_string).unwrap_or_default();
            compiler.at_value("/server/tools_file", format!("the file has no valid tool: {first}"), None);
            return None;
        }
    };
    for (index, name) in wanted.unwrap_or_default().iter().enumerate() {
        let pointer = child("/server/tools", index);
        if list.rejected.contains(name) {
            let problems = list.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            compiler.at_value(&pointer, format!("the tool `{name}` cannot be used"), problems);
        } else if !list.tools.iter().any(|tool| tool.name == *name) {
            compiler.report_unknown(&pointer, "tool", name, list.tools.iter().map(|tool| tool.name.as_str()));
        }
    }
    let named = list.tools.into_iter().filter(|tool| wanted.is_none_or(|wanted| wanted.contains(&tool.name)));
    let named = named.map(|tool| NamedTool {
        name: tool.name.clone(),
        actions: tool.actions.iter().map(|action| action.name.clone()).collect(),
        tool: Some(tool),
        previous_names: Vec::new(),
    });
    Some(Tools::new(named.collect()))
}
