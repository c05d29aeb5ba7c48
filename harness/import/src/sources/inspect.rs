use crate::error::Stop;
use crate::input::LogText;
use crate::sink::Sink;

pub(super) fn read(_: LogText<'_>, _: &mut Sink<'_>) -> Result<(), Stop> {
    Ok(())
}
pub(super) fn read_eval(_: std::fs::File, _: usize, _: &str, _: &mut Sink<'_>) -> Result<(), Stop> {
    Ok(())
}
