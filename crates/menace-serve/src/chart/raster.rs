//! A drawing as a picture: lines with soft edges, filled shapes, small letters.
//!
//! Paper is white: a picture goes into documents.

#![expect(clippy::cast_sign_loss, reason = "what is below zero is cut off before")]

use super::{ChartDrawing, DrawingMark, MarkRole, TextAnchor, encode, font};

const PIXELS_PER_UNIT: f64 = 2.0;
/// The size of a letter in units of the drawing: five wide, one between, seven high.
const LETTER_SIZE: (f64, f64) = (6.0, 7.0);
/// The largest side of an image: no chart is larger, and no request can enlarge one.
const MAX_IMAGE_SIDE: f64 = 4000.0;

/// The colours of the style sheet's light scheme.
const HEAT_COLOURS: [[u8; 3]; 9] = [
    [233, 165, 142],
    [237, 181, 154],
    [241, 198, 168],
    [244, 216, 187],
    [243, 230, 207],
    [226, 232, 211],
    [205, 226, 207],
    [181, 216, 192],
    [155, 204, 174],
];

struct RasterImage {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

pub(super) fn render_png(drawing: &ChartDrawing) -> Vec<u8> {
    let size = |length: f64| (length.clamp(1.0, MAX_IMAGE_SIDE) * PIXELS_PER_UNIT) as usize;
    let (width, height) = (size(drawing.width), size(drawing.height));
    let mut paper = RasterImage { width, height, pixels: vec![255; 3 * width * height] };
    for mark in &drawing.marks {
        match mark {
            DrawingMark::Line { points, role } => {
                for pair in points.windows(2) {
                    paper.draw_line(
                        scale_point(pair[0]),
                        scale_point(pair[1]),
                        line_thickness(*role),
                        colour_of_role(*role),
                    );
                }
            }
            DrawingMark::Area { points, role } => {
                let points: Vec<_> = points.iter().copied().map(scale_point).collect();
                paper.fill_area(&points, colour_of_role(*role));
            }
            DrawingMark::Rect { x, y, width, height, role, .. } => {
                let corners =
                    [(*x, *y), (x + width, *y), (x + width, y + height), (*x, y + height)];
                paper.fill_area(&corners.map(scale_point), colour_of_role(*role));
            }
            DrawingMark::Dot { x, y, radius, role, .. } => {
                let place = scale_point((*x, *y));
                paper.draw_line(
                    place,
                    place,
                    radius * PIXELS_PER_UNIT * 2.0,
                    colour_of_role(*role),
                );
            }
            DrawingMark::Text { x, y, text, anchor, role } => {
                paper.draw_text(*x, *y, text, *anchor, colour_of_role(*role));
            }
        }
    }
    encode(width as u32, height as u32, &paper.pixels)
}

fn scale_point((x, y): (f64, f64)) -> (f64, f64) {
    (x * PIXELS_PER_UNIT, y * PIXELS_PER_UNIT)
}

/// Red, green, blue, and how much of the paper it hides.
fn colour_of_role(role: MarkRole) -> ([u8; 3], f64) {
    match role {
        MarkRole::Grid => ([226, 228, 233], 1.0),
        MarkRole::Axis => ([150, 155, 165], 1.0),
        MarkRole::Label => ([70, 75, 85], 1.0),
        MarkRole::Actual | MarkRole::Node => ([42, 100, 190], 1.0),
        MarkRole::Predicted => ([190, 110, 20], 1.0),
        MarkRole::Band => ([190, 110, 20], 0.16),
        MarkRole::Good => ([63, 143, 98], 1.0),
        MarkRole::Refused => ([120, 170, 150], 1.0),
        MarkRole::Bad => ([217, 119, 66], 1.0),
        MarkRole::Worse | MarkRole::Orphan => ([190, 50, 60], 1.0),
        MarkRole::Muted => ([165, 170, 180], 1.0),
        MarkRole::Edge => ([165, 170, 180], 0.7),
        MarkRole::Heat(step) => (HEAT_COLOURS[usize::from(step).min(HEAT_COLOURS.len() - 1)], 1.0),
    }
}

fn line_thickness(role: MarkRole) -> f64 {
    PIXELS_PER_UNIT * if matches!(role, MarkRole::Actual | MarkRole::Predicted) { 1.8 } else { 1.0 }
}

impl RasterImage {
    fn blend(&mut self, x: usize, y: usize, (colour, hides): ([u8; 3], f64), share: f64) {
        let at = 3 * (y * self.width + x);
        let Some(pixel) = self.pixels.get_mut(at..at + 3) else { return };
        let share = share.clamp(0.0, 1.0) * hides;
        for (old, new) in pixel.iter_mut().zip(colour) {
            *old = (f64::from(*old) * (1.0 - share) + f64::from(new) * share).round() as u8;
        }
    }

    /// Round at the ends; a dot where both are the same.
    fn draw_line(&mut self, from: (f64, f64), to: (f64, f64), thickness: f64, ink: ([u8; 3], f64)) {
        if ![from.0, from.1, to.0, to.1].iter().all(|place| place.is_finite()) {
            return;
        }
        let reach = thickness / 2.0 + 1.0;
        let columns = self.visible_columns(from.0.min(to.0) - reach, from.0.max(to.0) + reach);
        let (across, down) = (to.0 - from.0, to.1 - from.1);
        let square = across * across + down * down;
        for x in columns {
            // Only the rows that the line crosses in this column.
            let middle = |at: f64| from.1 + down * ((at - from.0) / across).clamp(0.0, 1.0);
            let (near, far) = if across.abs() < 1e-9 {
                (from.1.min(to.1), from.1.max(to.1))
            } else {
                let (one, other) = (middle(x as f64 - reach), middle(x as f64 + reach));
                (one.min(other), one.max(other))
            };
            for y in self.visible_rows(near - reach, far + reach) {
                let (px, py) = (x as f64 + 0.5, y as f64 + 0.5);
                let along = if square > 0.0 {
                    (((px - from.0) * across + (py - from.1) * down) / square).clamp(0.0, 1.0)
                } else {
                    0.0
                };
                let (dx, dy) = (px - from.0 - along * across, py - from.1 - along * down);
                let distance = dx.hypot(dy);
                self.blend(x, y, ink, thickness / 2.0 + 0.5 - distance);
            }
        }
    }

    /// Fills by scan lines, four in each row for softer edges.
    fn fill_area(&mut self, corners: &[(f64, f64)], ink: ([u8; 3], f64)) {
        const SCAN_LINES_PER_ROW: usize = 4;
        let (top, bottom) =
            corners.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(top, bottom), corner| {
                (top.min(corner.1), bottom.max(corner.1))
            });
        for y in self.visible_rows(top, bottom) {
            let mut cover = vec![0.0; self.width];
            for part in 0..SCAN_LINES_PER_ROW {
                let at = y as f64 + (part as f64 + 0.5) / SCAN_LINES_PER_ROW as f64;
                let mut crossings: Vec<f64> = corners
                    .iter()
                    .zip(corners.iter().cycle().skip(1))
                    .filter(|(one, other)| (one.1 <= at) != (other.1 <= at))
                    .map(|(one, other)| {
                        one.0 + (at - one.1) / (other.1 - one.1) * (other.0 - one.0)
                    })
                    .collect();
                crossings.sort_by(f64::total_cmp);
                for pair in crossings.chunks_exact(2) {
                    for x in self.visible_columns(pair[0], pair[1]) {
                        let inside =
                            (pair[1].min(x as f64 + 1.0) - pair[0].max(x as f64)).clamp(0.0, 1.0);
                        cover[x] += inside / SCAN_LINES_PER_ROW as f64;
                    }
                }
            }
            for (x, share) in cover.into_iter().enumerate().filter(|(_, share)| *share > 0.0) {
                self.blend(x, y, ink, share);
            }
        }
    }

    fn draw_text(&mut self, x: f64, y: f64, text: &str, anchor: TextAnchor, ink: ([u8; 3], f64)) {
        let width = LETTER_SIZE.0 * text.chars().count() as f64;
        let start = match anchor {
            TextAnchor::Start => x,
            TextAnchor::Middle => x - width / 2.0,
            TextAnchor::End => x - width,
        };
        for (index, letter) in text.chars().enumerate() {
            let left = start + LETTER_SIZE.0 * index as f64;
            for (row, bits) in font::glyph(letter).into_iter().enumerate() {
                let top = y - LETTER_SIZE.1 + row as f64;
                for column in (0..5).filter(|column| bits & (0b10000 >> column) != 0) {
                    let (x, y) = scale_point((left + f64::from(column), top));
                    let corners = [
                        (x, y),
                        (x + PIXELS_PER_UNIT, y),
                        (x + PIXELS_PER_UNIT, y + PIXELS_PER_UNIT),
                        (x, y + PIXELS_PER_UNIT),
                    ];
                    self.fill_area(&corners, ink);
                }
            }
        }
    }

    fn visible_columns(&self, from: f64, to: f64) -> std::ops::Range<usize> {
        clip_range(from, to, self.width)
    }

    fn visible_rows(&self, from: f64, to: f64) -> std::ops::Range<usize> {
        clip_range(from, to, self.height)
    }
}

/// The part of a range that is on the image; empty for NaN.
fn clip_range(from: f64, to: f64, most: usize) -> std::ops::Range<usize> {
    let end = (to.ceil().max(0.0) as usize).min(most);
    (from.floor().max(0.0) as usize).min(end)..end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(drawing: &ChartDrawing) -> Vec<u8> {
        let png = render_png(drawing);
        let data = png.windows(4).position(|window| window == b"IDAT").unwrap();
        let length = u32::from_be_bytes(png[data - 4..data].try_into().unwrap()) as usize;
        miniz_oxide::inflate::decompress_to_vec_zlib(&png[data + 4..data + 4 + length]).unwrap()
    }

    #[test]
    fn what_is_drawn_is_seen_where_it_is() {
        let mut drawing = ChartDrawing::new(10.0, 10.0, "");
        let rect =
            |x, role| DrawingMark::Rect { x, y: 0.0, width: 5.0, height: 10.0, role, title: None };
        drawing.marks.push(rect(0.0, MarkRole::Good));
        let lines = render(&drawing);
        let (colour, _) = colour_of_role(MarkRole::Good);
        assert_eq!(lines[1..4], colour);
        assert_eq!(lines[58..61], [255; 3], "the right half is empty");
    }

    #[test]
    fn heat_has_the_colours_of_the_pages() {
        let style = include_str!("../../assets/style.css");
        for (step, [red, green, blue]) in HEAT_COLOURS.into_iter().enumerate() {
            let colour = format!("--h{step}: #{red:02x}{green:02x}{blue:02x};");
            assert!(style.contains(&colour), "{colour}");
        }
    }

    #[test]
    fn no_number_makes_it_fail() {
        for bad in [f64::NAN, f64::INFINITY, -1e300, 1e300] {
            let mut drawing = ChartDrawing::new(20.0, 20.0, "");
            let points = vec![(0.0, 0.0), (bad, bad), (3.0, bad)];
            drawing
                .marks
                .push(DrawingMark::Line { points: points.clone(), role: MarkRole::Actual });
            drawing.marks.push(DrawingMark::Area { points, role: MarkRole::Band });
            drawing.add_text(bad, bad, TextAnchor::Middle, MarkRole::Label, "x");
            assert!(render_png(&drawing).starts_with(&[0x89, b'P']));
        }
    }
}
