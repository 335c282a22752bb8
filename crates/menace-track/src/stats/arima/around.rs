//! Where else to start: a likelihood may have several hills, and one search climbs one of them.
//!
//! Climbing belongs to [`super::minimise`]. Invariant: the first point is the guess itself, and how many
//! follow depends on the length of the series and the order only.

use super::minimise::{Care, Search};
use super::order::Order;

/// What the other starts have in place of lags: partial autocorrelations of ±0.57, before they are bounded.
const ASIDE: f64 = 0.65;
/// The same near the edge, ±0.94, where trends and cycles are.
const EDGE: f64 = 1.75;
/// Observations times further starts: long series have one clear hill and cost more to climb.
const WORK: usize = 1_500;
/// Hills that are climbed to the top, if they are about equally high.
const CLIMBED: usize = 6;
/// How much lower, per observation, a half-climbed hill may be and still turn out the highest.
const HALFWAY: f64 = 0.05;
/// Points closer than this are on the same hill.
const SAME_HILL: f64 = 0.05;

/// The lowest value that searches from the guess and from around it lead to.
pub(super) fn lowest(
    order: Order,
    guess: &[f64],
    length: usize,
    value: &mut dyn FnMut(&[f64]) -> f64,
) -> (Vec<f64>, f64) {
    let more = (WORK / length.max(1)).saturating_sub(1);
    let mut searches = vec![Search::from(guess, value)];
    if more > 0 {
        searches.extend(others(order, guess, value).into_iter().take(more));
    }
    for search in &mut searches {
        search.descend(value, Care::Rough);
    }
    searches.sort_by(|left, right| left.lowest.total_cmp(&right.lowest));

    let most = more.clamp(1, CLIMBED);
    let limit = searches.first().map_or(f64::INFINITY, |search| search.lowest + HALFWAY);
    let mut best = (guess.to_vec(), f64::INFINITY);
    let mut climbed: Vec<Vec<f64>> = Vec::new();
    for mut search in searches {
        if climbed.len() == most || (search.lowest > limit && !climbed.is_empty()) {
            break;
        }
        if climbed.iter().any(|known| distance(known, &search.point) < SAME_HILL) {
            continue;
        }
        climbed.push(search.point.clone());
        search.descend(value, Care::Fine);
        if search.lowest < best.1 {
            best = (search.point, search.lowest);
        }
    }
    best
}

/// Searches that have not begun, from points around the guess, the likeliest first.
fn others(order: Order, guess: &[f64], value: &mut dyn FnMut(&[f64]) -> f64) -> Vec<Search> {
    let lags = order.p + order.q;
    let sides = signs(lags, ASIDE).filter(|_| lags > 0);
    let edges = signs(order.p, EDGE).filter(|_| order.p > 0).map(|mut edge| {
        edge.resize(lags, 0.0);
        edge
    });
    let mut others: Vec<Search> = sides
        .chain(edges)
        .map(|start| {
            let mut point = guess.to_vec();
            point[..lags].copy_from_slice(&start);
            Search::from(&point, value)
        })
        .filter(|search| search.lowest.is_finite())
        .collect();
    others.sort_by(|left, right| left.lowest.total_cmp(&right.lowest));
    others
}

/// All corners of a cube around zero.
fn signs(lags: usize, size: f64) -> impl Iterator<Item = Vec<f64>> {
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
        // Two valleys, of which the one on the other side of zero is deeper.
        let mut valleys = |at: &[f64]| {
            let near = -0.5 * (-(at[0] - 1.0).powi(2) * 4.0).exp();
            let far = -(-(at[0] + 1.0).powi(2) * 4.0).exp();
            near + far
        };
        let order = Order::new(1, 0, 0);
        let (point, value) = lowest(order, &[1.1], 50, &mut valleys);
        assert!((point[0] + 1.0).abs() < 1e-3 && value < -0.99, "{point:?} {value}");
        let (_, alone) = lowest(order, &[1.1], WORK, &mut valleys);
        assert!(alone > -0.6, "one search stays where it began");
    }
}
