use serde::{Deserialize, Serialize};

/// Something outside of the server that a tool's code may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Entitlement {
    /// Files.
    Filesystem,
    /// Other hosts.
    Network,
    /// Programs that it starts.
    Subprocess,
    /// Keys, signatures and ciphers.
    Crypto,
    /// Code that it makes up, or is sent.
    CodeEvaluation,
}

impl Entitlement {
    /// As it is written in a contract.
    pub fn name(self) -> &'static str {
        match self {
            Entitlement::Filesystem => "filesystem",
            Entitlement::Network => "network",
            Entitlement::Subprocess => "subprocess",
            Entitlement::Crypto => "crypto",
            Entitlement::CodeEvaluation => "codeEvaluation",
        }
    }
}
