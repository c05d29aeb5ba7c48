use crate::error::Stop;
use crate::input::LogText;
use crate::sink::Sink;

pub(super) fn read(_: LogText<'_>, _: &mut Sink<'_>) -> Result<(), Stop> {
    Ok(())
}
