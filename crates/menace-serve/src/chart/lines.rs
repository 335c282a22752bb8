//! Values over cycles: lines, dots for single values, a band for what is expected.

use super::scale::{Scale, short};
use super::{Anchor, Drawing, Mark, Role};
use crate::text::counted;

const LEFT: f64 = 52.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 34.0;
/// Below this many, every value gets a dot.
const DOTS: usize = 40;

#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub name: String,
    pub role: Role,
    /// Cycle and value.
    pub points: Vec<(f64, f64)>,
}

impl Series {
    /// Values one after the other, from cycle `first` on.
    pub fn from(name: &str, role: Role, first: usize, values: &[f64]) -> Self {
        let numbered = values.iter().enumerate();
        let points = numbered
            .filter(|(_, value)| value.is_finite())
            .map(|(index, value)| ((first + index) as f64, *value))
            .collect();
        Self { name: name.to_owned(), role, points }
    }
}

/// What is expected: cycle, from, to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Band(pub Vec<(f64, f64, f64)>);

#[derive(Debug, Clone, PartialEq)]
pub struct LineChart {
    pub title: String,
    pub width: f64,
    pub height: f64,
    pub series: Vec<Series>,
    pub band: Band,
}

impl LineChart {
    pub fn new(title: impl Into<String>) -> Self {
        let title = title.into();
        Self { title, width: 720.0, height: 260.0, series: Vec::new(), band: Band::default() }
    }

    #[must_use]
    pub fn with(mut self, series: Series) -> Self {
        if !series.points.is_empty() {
            self.series.push(series);
        }
        self
    }

    pub fn draw(&self) -> Drawing {
        let mut drawing = Drawing::new(self.width, self.height, self.described());
        let (right, bottom) = (self.width - RIGHT, self.height - BOTTOM);
        let all = || self.series.iter().flat_map(|series| &series.points);
        let ends = self.band.0.iter().flat_map(|(_, low, high)| [*low, *high]);
        let values = Scale::around(all().map(|point| point.1).chain(ends), bottom, TOP);
        let cycles = all().map(|point| point.0).chain(self.band.0.iter().map(|point| point.0));
        let (low, high) = cycles.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), cycle| {
            (low.min(cycle), high.max(cycle))
        });
        if low > high {
            let (x, y) = (self.width / 2.0, self.height / 2.0);
            drawing.text(x, y, Anchor::Middle, Role::Label, "nothing was recorded yet");
            return drawing;
        }
        let along = Scale::exact(low, high, LEFT, right);
        for tick in values.ticks(5) {
            let y = values.at(tick);
            drawing
                .marks
                .push(Mark::Line { points: vec![(LEFT, y), (right, y)], role: Role::Grid });
            drawing.text(LEFT - 8.0, y + 4.0, Anchor::End, Role::Label, short(tick));
        }
        drawing
            .marks
            .push(Mark::Line { points: vec![(LEFT, bottom), (right, bottom)], role: Role::Axis });
        for tick in along.ticks(8).into_iter().filter(|tick| tick.fract() == 0.0) {
            drawing.text(along.at(tick), bottom + 18.0, Anchor::Middle, Role::Label, short(tick));
        }
        let place = |cycle: f64, value: f64| (along.at(cycle), values.at(value));
        if !self.band.0.is_empty() {
            let upper = self.band.0.iter().map(|(cycle, _, high)| place(*cycle, *high));
            let lower = self.band.0.iter().rev().map(|(cycle, low, _)| place(*cycle, *low));
            drawing
                .marks
                .push(Mark::Area { points: upper.chain(lower).collect(), role: Role::Band });
        }
        let mut legend = LEFT;
        for Series { name, role, points } in &self.series {
            let line = points.iter().map(|(cycle, value)| place(*cycle, *value)).collect();
            drawing.marks.push(Mark::Line { points: line, role: *role });
            if points.len() <= DOTS {
                for (cycle, value) in points {
                    let (x, y) = place(*cycle, *value);
                    let title = Some(format!("{name}, cycle {cycle}: {value:.4}"));
                    drawing.marks.push(Mark::Dot { x, y, radius: 2.5, role: *role, title });
                }
            }
            let points = vec![(legend, 14.0), (legend + 18.0, 14.0)];
            drawing.marks.push(Mark::Line { points, role: *role });
            drawing.text(legend + 24.0, 18.0, Anchor::Start, Role::Label, name.as_str());
            legend += 48.0 + 7.0 * name.chars().count() as f64;
        }
        drawing
    }

    fn described(&self) -> String {
        let told: Vec<String> = self
            .series
            .iter()
            .filter_map(|Series { name, points, .. }| {
                let last = points.last()?.1;
                let count = counted(points.len() as u64, "value");
                Some(format!("{name}: {count}, the last {last:.4}"))
            })
            .collect();
        if told.is_empty() {
            self.title.clone()
        } else {
            format!("{} ({})", self.title, told.join("; "))
        }
    }
}
