//! Simpler texts and sequences: shorter ones first, then plainer signs.

/// Longer sequences lose no single items, only shares of this many.
const SHARES: usize = 128;

/// Signs that stand for their kind: a letter, a digit, a blank, and letters of two and three bytes.
const PLAIN: [char; 7] = ['a', 'A', '0', ' ', 'é', 'ā', '€'];

/// Letters are plainest, then digits, signs, control characters, and all others by their number.
pub(super) fn oddness(point: u32) -> u128 {
    let rank = match char::from_u32(point) {
        Some(char @ 'a'..='z') => char as u32 - 'a' as u32,
        Some(char @ 'A'..='Z') => 26 + (char as u32 - 'A' as u32),
        Some(char @ '0'..='9') => 52 + (char as u32 - '0' as u32),
        Some(' ') => 62,
        Some(char) if char.is_ascii_graphic() => 64 + point,
        Some(char) if char.is_ascii() => 256 + point,
        _ => 512 + point,
    };
    u128::from(rank)
}

/// The items without some of them: nothing, halves, quarters, down to single ones.
pub(super) fn shorter<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    let mut shorter = Vec::new();
    let mut share = items.len();
    while share > 0 && items.len().div_ceil(share) <= SHARES {
        // What comes last often depends on what comes first: from the end.
        for start in (0..items.len()).step_by(share).collect::<Vec<_>>().into_iter().rev() {
            let end = (start + share).min(items.len());
            shorter.push([&items[..start], &items[end..]].concat());
        }
        share /= 2;
    }
    shorter
}

/// The same number of signs, plainer ones: all at once, then one by one.
pub(super) fn plainer(points: &[u32]) -> Vec<Vec<u32>> {
    let mut plainer = Vec::new();
    let plain = |point: u32| {
        let signs = PLAIN.into_iter().map(u32::from);
        signs.filter(move |sign| oddness(*sign) < oddness(point))
    };
    for sign in PLAIN.into_iter().map(u32::from) {
        let all =
            points.iter().map(|point| if oddness(sign) < oddness(*point) { sign } else { *point });
        plainer.push(all.collect());
    }
    for at in (0..points.len()).take(SHARES) {
        for sign in plain(points[at]) {
            let mut one = points.to_vec();
            one[at] = sign;
            plainer.push(one);
        }
    }
    plainer
}
