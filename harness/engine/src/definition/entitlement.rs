use serde::{Deserialize, Serialize};

/// A resource outside of the server that a tool's code may access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Entitlement {
    /// The file system.
    Filesystem,
    /// Other hosts.
    Network,
    /// Starting other programs.
    Subprocess,
    /// Keys, signatures and ciphers.
    Crypto,
    /// Evaluating code that is generated or received.
    CodeEvaluation,
}

impl Entitlement {
    /// Returns the name used in contracts.
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
