//! Further starting points for the search: a likelihood may have several local maxima.
//!
//! [`super::minimise`] does the search. Invariant: the first point is the guess itself, and the
//! number of others depends on the length of the series and the order only.

use super::minimise::{BfgsSearch, SearchPrecision};
use super::order::ArimaOrder;

/// Coordinates of the other starting points: partial autocorrelations of ±0.57 before they are
/// bounded.
const SIDE_START_OFFSET: f64 = 0.65;
/// Coordinates near the edge, ±0.94, where trends and cycles are.
const EDGE_START_OFFSET: f64 = 1.75;
/// The most observations times starting points: on long series each search costs more, and the
/// likelihood has one clear maximum.
const MAX_START_OBSERVATIONS: usize = 1_500;
/// The most searches that are refined, among those with about the same value.
const MAX_REFINED_STARTS: usize = 6;
/// How much worse, per observation, a coarse search may be and still be refined.
const REFINE_VALUE_MARGIN: f64 = 0.05;
/// Points closer than this belong to the same optimum.
const SAME_OPTIMUM_DISTANCE: f64 = 0.05;

/// The lowest value that searches from the guess and from points around it reach.
pub(super) fn minimise_from_many_starts(
    order: ArimaOrder,
    guess: &[f64],
    length: usize,
    value: &mut dyn FnMut(&[f64]) -> f64,
) -> (Vec<f64>, f64) {
    let more = (MAX_START_OBSERVATIONS / length.max(1)).saturating_sub(1);
    let mut searches = vec![BfgsSearch::start_at(guess, value)];
    if more > 0 {
        searches.extend(other_starts(order, guess, value).into_iter().take(more));
    }
    for search in &mut searches {
        search.descend(value, SearchPrecision::Coarse);
    }
    searches.sort_by(|left, right| left.lowest_value.total_cmp(&right.lowest_value));

    let most = more.clamp(1, MAX_REFINED_STARTS);
    let limit =
        searches.first().map_or(f64::INFINITY, |search| search.lowest_value + REFINE_VALUE_MARGIN);
    let mut best = (guess.to_vec(), f64::INFINITY);
    let mut refined: Vec<Vec<f64>> = Vec::new();
    for mut search in searches {
        if refined.len() == most || (search.lowest_value > limit && !refined.is_empty()) {
            break;
        }
        if refined.iter().any(|known| distance(known, &search.point) < SAME_OPTIMUM_DISTANCE) {
            continue;
        }
        refined.push(search.point.clone());
        search.descend(value, SearchPrecision::Fine);
        if search.lowest_value < best.1 {
            best = (search.point, search.lowest_value);
        }
    }
    best
}

/// Searches that have not begun, from points around the guess, the most likely first.
fn other_starts(
    order: ArimaOrder,
    guess: &[f64],
    value: &mut dyn FnMut(&[f64]) -> f64,
) -> Vec<BfgsSearch> {
    let lags = order.p + order.q;
    let sides = sign_corners(lags, SIDE_START_OFFSET).filter(|_| lags > 0);
    let edges = sign_corners(order.p, EDGE_START_OFFSET).filter(|_| order.p > 0).map(|mut edge| {
        edge.resize(lags, 0.0);
        edge
    });
    let mut others: Vec<BfgsSearch> = sides
        .chain(edges)
        .map(|start| {
            let mut point = guess.to_vec();
            point[..lags].copy_from_slice(&start);
            BfgsSearch::start_at(&point, value)
        })
        .filter(|search| search.lowest_value.is_finite())
        .collect();
    others.sort_by(|left, right| left.lowest_value.total_cmp(&right.lowest_value));
    others
}

/// All corners of a cube around zero.
fn sign_corners(lags: usize, size: f64) -> impl Iterator<Item = Vec<f64>> {
    (0..1_u32 << lags).map(move |bits| {
        (0..lags).map(|place| if bits >> place & 1 == 0 { size } else { -size }).collect()
    })
}

fn distance(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(left, right)| (left - right).abs()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_higher_of_two_hills_is_found_from_the_lower_one() {
        // Two minima, of which the one on the other side of zero is lower.
        let mut valleys = |at: &[f64]| {
            let near = -0.5 * (-(at[0] - 1.0).powi(2) * 4.0).exp();
            let far = -(-(at[0] + 1.0).powi(2) * 4.0).exp();
            near + far
        };
        let order = ArimaOrder::new(1, 0, 0);
        let (point, value) = minimise_from_many_starts(order, &[1.1], 50, &mut valleys);
        assert!((point[0] + 1.0).abs() < 1e-3 && value < -0.99, "{point:?} {value}");
        let (_, alone) =
            minimise_from_many_starts(order, &[1.1], MAX_START_OBSERVATIONS, &mut valleys);
        assert!(alone > -0.6, "one search stays where it began");
    }
}
