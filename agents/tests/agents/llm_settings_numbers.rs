//! Numbers in the settings of models.

use super::llm_settings::{at, problem_below_api};

#[test]
fn numbers_are_checked() {
    let cases = [
        (
            "temperature = -0.5",
            "3:15",
            "`model.m.temperature` is -0.5, which is out of range; it has to be a finite number of at least 0",
        ),
        (
            "temperature = inf",
            "3:15",
            "`model.m.temperature` is inf, which is out of range; it has to be a finite number of at least 0",
        ),
        (
            "temperature = nan",
            "3:15",
            "`model.m.temperature` is nan, which is out of range; it has to be a finite number of at least 0",
        ),
        (
            "temperature = \"0\"",
            "3:15",
            "`model.m.temperature` is a string, which has the wrong type; it has to be a number",
        ),
        (
            "top_p = 0",
            "3:9",
            "`model.m.top_p` is 0, which is out of range; it has to be a number above 0 and of at most 1",
        ),
        (
            "top_p = 1.01",
            "3:9",
            "`model.m.top_p` is 1.01, which is out of range; it has to be a number above 0 and of at most 1",
        ),
        (
            "max_output_tokens = 0",
            "3:21",
            "`model.m.max_output_tokens` is 0, which is out of range; it has to be a whole number from 1 to 4294967295",
        ),
        (
            "timeout_s = 0",
            "3:13",
            "`model.m.timeout_s` is 0, which is out of range; it has to be a whole number from 1 to 4294967295",
        ),
        (
            "timeout_s = 1.5",
            "3:13",
            "`model.m.timeout_s` is a number with a fraction, which has the wrong type; it has to be a whole number",
        ),
        (
            "retries = -1",
            "3:11",
            "`model.m.retries` is -1, which is out of range; it has to be a whole number from 0 to 4294967295",
        ),
        (
            "retries = 0x100000000",
            "3:11",
            "`model.m.retries` is 0x100000000, which is out of range; it has to be a whole number from 0 to 4294967295",
        ),
        (
            "episode_tokens = 0",
            "3:18",
            "`model.m.episode_tokens` is 0, which is out of range; it has to be a whole number from 1 to 18446744073709551615",
        ),
        (
            "connections = 0",
            "3:15",
            "`model.m.connections` is 0, which is out of range; it has to be a whole number from 1 to 4294967295",
        ),
        (
            "connections = {min = 0}",
            "3:22",
            "`model.m.connections.min` is 0, which is out of range; it has to be a whole number from 1 to 4294967295",
        ),
        (
            "connections = {min = 5, max = 2}",
            "3:15",
            "`model.m.connections` is out of order; it has to be `min` <= `start` <= `max`",
        ),
        (
            "connections = {start = 9, max = 2}",
            "3:15",
            "`model.m.connections` is out of order; it has to be `min` <= `start` <= `max`",
        ),
        ("seed = 1", "3:8", "`model.m.seed` is a whole number, which has the wrong type; it has to be true or false"),
        (
            "price = {input = -1, output = 2}",
            "3:18",
            "`model.m.price.input` is -1, which is out of range; it has to be a finite number of at least 0",
        ),
        (
            "price = {input = 1, output = nan}",
            "3:30",
            "`model.m.price.output` is nan, which is out of range; it has to be a finite number of at least 0",
        ),
        ("price = {input = 1}", "3:9", "`model.m.price.output` is missing; it is in US dollars for a million tokens"),
        ("price = 1", "3:9", "`model.m.price` is a whole number, which has the wrong type; it has to be a table"),
    ];
    for (line, position, message) in cases {
        assert_eq!(problem_below_api(line), at(position, message), "{line}");
    }
}
