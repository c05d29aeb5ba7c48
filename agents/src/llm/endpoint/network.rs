//! What all endpoints share: the threads that wait for sockets, and cryptography.

use std::fmt;
use std::io;

use tokio::runtime::{Builder, Runtime};

/// Threads that move bytes do little; those that ask parse what came.
const WORKERS: usize = 2;

/// The runtime that all endpoints do their input and output on.
pub struct Network {
    /// Gone only while it is dropped.
    runtime: Option<Runtime>,
}

impl Network {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system gives no threads.
    pub fn new() -> io::Result<Network> {
        // The clients look for the provider of the process. One that is there already serves as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("healbench-network")
            .enable_io()
            .enable_time()
            .build()?;
        Ok(Network { runtime: Some(runtime) })
    }

    /// Runs `future` on the calling thread until it is done.
    pub(super) fn block_on<F: Future>(&self, future: F) -> F::Output {
        match &self.runtime {
            Some(runtime) => runtime.block_on(future),
            None => unreachable!("the runtime is taken by `drop` alone"),
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // Waiting would take as long as a name that is being looked up.
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
