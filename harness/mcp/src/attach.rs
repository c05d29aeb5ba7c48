//! The program that agent programs start as their server: it passes the lines of a session on to a socket.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::thread;

/// Connects a client on `input` and `output` with the server behind a socket, until the server closes the connection. The end
/// of the input is passed on.
///
/// # Errors
/// Those of the socket and of the output. A client that no longer reads is none.
pub fn attach(address: &Path, mut input: impl Read + Send + 'static, mut output: impl Write) -> io::Result<()> {
    let socket = UnixStream::connect(address)?;
    let mut to_server = socket.try_clone()?;
    // It may wait for the client for ever, so it ends with this process.
    thread::spawn(move || {
        let _ = pass_on(&mut input, &mut to_server);
        let _ = to_server.shutdown(Shutdown::Write);
    });
    match pass_on(&mut &socket, &mut output) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Passes bytes on as soon as they come.
fn pass_on(source: &mut impl Read, target: &mut impl Write) -> io::Result<()> {
    let mut buffer = [0; 1 << 16];
    loop {
        let length = match source.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // The server ended without a farewell.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(()),
            Err(error) => return Err(error),
        };
        target.write_all(&buffer[..length])?;
        target.flush()?;
    }
}
