/// Returns p-values adjusted for multiple testing by Holm's method, in the given order. If all hypotheses with an
/// adjusted p-value of at most α are rejected, the probability of any false rejection is at most α.
///
/// Returns `None` if a p-value is not between 0 and 1.
///
/// S. Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6,
/// 65-70.
pub fn holm(p_values: &[f64]) -> Option<Vec<f64>> {
    if p_values.iter().any(|p| !(0.0..=1.0).contains(p)) {
        return None;
    }
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut largest = 0.0_f64;
    for (position, index) in order.into_iter().enumerate() {
        let left = (p_values.len() - position) as f64;
        largest = largest.max(left * p_values[index]).min(1.0);
        adjusted[index] = largest;
    }
    Some(adjusted)
}
