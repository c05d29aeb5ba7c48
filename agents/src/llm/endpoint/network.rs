//! Resources shared by all endpoints: the network threads and the cryptography provider.

use std::fmt;
use std::io;

use tokio::runtime::{Builder, Runtime};

/// The number of network threads. They do little work: responses are parsed by the calling threads.
const WORKERS: usize = 2;

/// The runtime for the input and output of all endpoints.
pub struct Network {
    /// `None` only during drop.
    runtime: Option<Runtime>,
}

impl Network {
    /// Starts the threads.
    ///
    /// # Errors
    /// Returns an error if the operating system cannot create threads.
    pub fn new() -> io::Result<Network> {
        // Clients use the process-wide provider. If one is already installed, it is used instead.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("healbench-network")
            .enable_io()
            .enable_time()
            .build()?;
        Ok(Network { runtime: Some(runtime) })
    }

    /// Runs `future` to completion on the calling thread.
    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        match &self.runtime {
            Some(runtime) => runtime.block_on(future),
            None => unreachable!("the runtime is taken by `drop` alone"),
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Do not wait for the threads: a DNS lookup may take long.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network").finish_non_exhaustive()
    }
}
