use std::path::Path;

use healbench_text::{looks_like_secret, secrets_in_url};
use serde_json::{Value, json};

use super::Compiler;
use super::tools::{NamedTool, Tools};
use crate::file::ServerFile;
use crate::locate::child;
use crate::server::{EPISODE_DIR, Server, ServerEndpoint, replace};
use crate::tools_file::{ToolList, load_tools_str};

/// The sections of the simulator, and what a server has instead.
const OF_THE_SIMULATOR: [(&str, &str); 5] = [
    ("world", "the state of a server comes from `fixture` and `setup`"),
    ("faults", "a server has its own faults"),
    ("clock", "the time of a server is real"),
    ("self_healing", "a server says itself what has changed"),
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
    let texts = ListTexts::read(compiler, &file, &folder, stored_tools)?;
    let label = folder.join(&file.tools_file).display().to_string();
    let list = tool_list(compiler, "tools_file", &label, &texts.now)?;
    let mut tools = tools(compiler, list, file.tools.as_deref());
    if let (Some(before), Some(name)) = (&texts.before, &file.tools_file_before) {
        let list = tool_list(compiler, "tools_file_before", &folder.join(name).display().to_string(), before)?;
        add_previous(compiler, &mut tools, &list);
    }
    let tools = Tools::new(tools);
    let text = texts.into_stored();
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

/// The texts of the lists of tools of a server.
struct ListTexts {
    now: String,
    before: Option<String>,
}

impl ListTexts {
    /// Reads the files that the keys name, or takes the texts from what a run stored.
    fn read(compiler: &mut Compiler<'_>, file: &ServerFile, folder: &Path, stored: Option<&str>) -> Option<ListTexts> {
        if let Some(stored) = stored {
            let now = stored.to_owned();
            return match file.tools_file_before {
                None => Some(ListTexts { now, before: None }),
                Some(_) => ListTexts::from_stored(stored),
            };
        }
        let mut read = |key: &str, name: &str| {
            let text = healbench_files::read_text_file(&folder.join(name), healbench_files::MAX_LIST_BYTES);
            if let Err(error) = &text {
                let help = "it is an answer of the server to `tools/list`; `healbench new --from-server` writes it";
                let at = child("/server", key);
                compiler.at_value(&at, format!("cannot read the file: {error}"), help.to_owned());
            }
            text.ok()
        };
        let now = read("tools_file", &file.tools_file);
        let before = file.tools_file_before.as_ref().map(|name| read("tools_file_before", name));
        Some(ListTexts { now: now?, before: before.map_or(Some(None), |text| text.map(Some))? })
    }

    fn from_stored(text: &str) -> Option<ListTexts> {
        let texts: Value = serde_json::from_str(text).ok()?;
        let text = |key: &str| texts.get(key)?.as_str().map(str::to_owned);
        Some(ListTexts { now: text("tools_file")?, before: Some(text("tools_file_before")?) })
    }

    /// Returns what a run stores: one text.
    fn into_stored(self) -> String {
        match self.before {
            None => self.now,
            Some(before) => json!({"tools_file": self.now, "tools_file_before": before}).to_string(),
        }
    }
}

/// Reads the list of tools in the file that a key names.
fn tool_list(compiler: &mut Compiler<'_>, key: &str, label: &str, text: &str) -> Option<ToolList> {
    let list = load_tools_str(label, text);
    if let Err(problems) = &list {
        let first = problems.first().map(ToString::to_string).unwrap_or_default();
        compiler.at_value(&child("/server", key), format!("the file has no valid tool: {first}"), None);
    }
    list.ok()
}

/// Adds the previous contracts to the tools that were different.
fn add_previous(compiler: &mut Compiler<'_>, tools: &mut [NamedTool], list: &ToolList) {
    let mut is_changed = false;
    for named in tools {
        let Some(tool) = &mut named.tool else { continue };
        if list.rejected.contains(&named.name) {
            let problems = list.problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
            let message = format!("the tool `{}` cannot be used", named.name);
            compiler.at_value("/server/tools_file_before", message, problems);
            is_changed = true;
        }
        let Some(before) = list.tools.iter().find(|before| before.name == tool.name) else { continue };
        if before.spec() == tool.spec() {
            continue;
        }
        let is_known = |name: &&String| before.actions.iter().any(|action| action.name == **name);
        named.previous_names = named.actions.iter().filter(is_known).map(|name| (name.clone(), name.clone())).collect();
        tool.previous = Some(Box::new(before.clone()));
        is_changed = true;
    }
    if !is_changed {
        let help =
            "name the list of before; a tool that had another name is called by it in `old_tool_name`".to_owned();
        compiler.at_value("/server/tools_file_before", "no tool of `tools_file` was different in this list", help);
    }
}

/// Returns the tools with these names, or all.
fn tools(compiler: &mut Compiler<'_>, list: ToolList, wanted: Option<&[String]>) -> Vec<NamedTool> {
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
    named.collect()
}
