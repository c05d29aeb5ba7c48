use healbench_reports::statistics::{Interval, mcnemar_mid_p, tango, wilson};

/// Figures made another way; the file says how.
const FIGURES: &str = include_str!("../fixtures/statistics.csv");

fn near(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance, "{what}: {found} is not {expected}");
}

#[test]
fn figures_of_scipy_and_statsmodels() {
    let mut checked = 0;
    for line in FIGURES.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(',').collect();
        let [what, a, b, n, lower, upper] = fields[..] else { panic!("{line}") };
        let count = |text: &str| text.parse::<u64>().unwrap();
        let number = |text: &str| text.parse::<f64>().unwrap();
        // The slow way to Tango's interval is good for about nine digits.
        let (interval, tolerance) = match what {
            "wilson" => (wilson(count(a), count(n), 0.95), 1e-11),
            "tango" => (tango(count(a), count(b), count(n), 0.95), 2e-8),
            "mcnemar" => {
                near(mcnemar_mid_p(count(a), count(b)), number(lower), 1e-10, line);
                checked += 1;
                continue;
            }
            other => panic!("{other}"),
        };
        let interval = interval.unwrap();
        near(interval.lower, number(lower), tolerance, line);
        near(interval.upper, number(upper), tolerance, line);
        checked += 1;
    }
    assert_eq!(checked, 36);
}

#[test]
fn published_wilson_intervals() {
    // R. G. Newcombe (1998), "Two-sided confidence intervals for the single proportion", Statistics in Medicine 17, 857-872,
    // table I, method 3.
    let table = [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)];
    for (successes, n, lower, upper) in table {
        let interval = wilson(successes, n, 0.95).unwrap();
        near(interval.lower, lower, 5e-5, "lower");
        near(interval.upper, upper, 5e-5, "upper");
    }
}

#[test]
fn published_paired_example() {
    // Airway hyper-responsiveness before and after stem cell transplantation, 1 and 7 discordant of 21 pairs: the example of
    // Fagerland, Lydersen and Laake, BMC Medical Research Methodology 13:91 (2013) for the test (mid-p 0.039) and Statistics in
    // Medicine 33, 2850-2875 (2014) for Tango's interval.
    near(mcnemar_mid_p(1, 7), 0.039, 5e-4, "mid-p");
    let interval = tango(1, 7, 21, 0.95).unwrap();
    near(interval.lower, -0.517, 5e-4, "lower");
    near(interval.upper, -0.026, 5e-4, "upper");
}

#[test]
fn unknown_is_none() {
    assert_eq!(wilson(0, 0, 0.95), None);
    assert_eq!(wilson(2, 1, 0.95), None);
    assert_eq!(wilson(1, 2, 1.0), None);
    assert_eq!(tango(0, 0, 0, 0.95), None);
    assert_eq!(tango(1, 0, 1, 0.95), None);
    assert_eq!(tango(2, 1, 2, 0.95), None);
    assert_eq!(tango(u64::MAX, 1, u64::MAX, 0.95), None);
    assert_eq!(tango(1, 1, 2, f64::NAN), None);
}

#[test]
fn tango_holds_at_the_edges() {
    // Without a discordant pair the equation has a solution in closed form: z^2 / (n + z^2).
    let z2 = 1.959_963_984_540_054_f64.powi(2);
    for n in [2, 7, 1000, 1 << 50] {
        let bound = z2 / (n as f64 + z2);
        let interval = tango(0, 0, n, 0.95).unwrap();
        near(interval.upper, bound, 1e-12 + bound * 1e-6, "upper");
        near(interval.lower, -interval.upper, 1e-12, "lower");
    }
    for n in 2..40_u64 {
        for gains in 0..=n {
            for losses in 0..=n - gains {
                let Interval { lower, upper } = tango(gains, losses, n, 0.95).unwrap();
                let estimate = (gains as f64 - losses as f64) / n as f64;
                assert!((-1.0..=estimate).contains(&lower), "{gains} {losses} {n}: {lower}");
                assert!((estimate..=1.0).contains(&upper), "{gains} {losses} {n}: {upper}");
                let mirrored = tango(losses, gains, n, 0.95).unwrap();
                near(mirrored.lower, -upper, 1e-12, "mirrored");
                let wider = tango(gains, losses, n, 0.99).unwrap();
                assert!(wider.lower <= lower && wider.upper >= upper, "{gains} {losses} {n}");
            }
        }
    }
}
