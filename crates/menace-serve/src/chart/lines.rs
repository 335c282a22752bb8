//! Line charts of values over cycles: lines, dots for single values, a band for forecasts.

use super::scale::{AxisScale, format_tick};
use super::{ChartDrawing, DrawingMark, MarkRole, TextAnchor};
use crate::text::format_grouped_count;

const MARGIN_LEFT: f64 = 52.0;
const MARGIN_RIGHT: f64 = 12.0;
const MARGIN_TOP: f64 = 30.0;
const MARGIN_BOTTOM: f64 = 34.0;
/// Below this many, every value gets a dot.
const MAX_POINTS_WITH_DOTS: usize = 40;

#[derive(Debug, Clone, PartialEq)]
pub struct ChartSeries {
    pub name: String,
    pub role: MarkRole,
    /// Cycle and value.
    pub points: Vec<(f64, f64)>,
}

impl ChartSeries {
    /// Values one after the other, from cycle `first` on; a gap for none.
    pub fn from_values(
        name: &str,
        role: MarkRole,
        first: usize,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Self {
        let numbered = values.into_iter().enumerate();
        let points = numbered
            .filter_map(|(index, value)| Some(((first + index) as f64, value?)))
            .filter(|(_, value)| value.is_finite())
            .collect();
        Self { name: name.to_owned(), role, points }
    }
}

/// The band of a forecast: cycle, lower end, upper end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ForecastBand(pub Vec<(f64, f64, f64)>);

#[derive(Debug, Clone, PartialEq)]
pub struct LineChart {
    pub title: String,
    pub width: f64,
    pub height: f64,
    pub series: Vec<ChartSeries>,
    pub band: ForecastBand,
}

impl LineChart {
    pub fn new(title: impl Into<String>) -> Self {
        let title = title.into();
        Self {
            title,
            width: 720.0,
            height: 260.0,
            series: Vec::new(),
            band: ForecastBand::default(),
        }
    }

    #[must_use]
    pub fn with_series(mut self, series: ChartSeries) -> Self {
        if !series.points.is_empty() {
            self.series.push(series);
        }
        self
    }

    pub fn draw(&self) -> ChartDrawing {
        let mut drawing = ChartDrawing::new(self.width, self.height, self.describe());
        let (right, bottom) = (self.width - MARGIN_RIGHT, self.height - MARGIN_BOTTOM);
        let all = || self.series.iter().flat_map(|series| &series.points);
        let ends = self.band.0.iter().flat_map(|(_, low, high)| [*low, *high]);
        let values =
            AxisScale::covering(all().map(|point| point.1).chain(ends), bottom, MARGIN_TOP);
        let cycles = all().map(|point| point.0).chain(self.band.0.iter().map(|point| point.0));
        let (low, high) = cycles.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), cycle| {
            (low.min(cycle), high.max(cycle))
        });
        if low > high {
            let (x, y) = (self.width / 2.0, self.height / 2.0);
            drawing.add_text(x, y, TextAnchor::Middle, MarkRole::Label, "nothing was recorded yet");
            return drawing;
        }
        let along = AxisScale::exact(low, high, MARGIN_LEFT, right);
        for tick in values.ticks(5) {
            let y = values.position(tick);
            drawing.marks.push(DrawingMark::Line {
                points: vec![(MARGIN_LEFT, y), (right, y)],
                role: MarkRole::Grid,
            });
            drawing.add_text(
                MARGIN_LEFT - 8.0,
                y + 4.0,
                TextAnchor::End,
                MarkRole::Label,
                format_tick(tick),
            );
        }
        drawing.marks.push(DrawingMark::Line {
            points: vec![(MARGIN_LEFT, bottom), (right, bottom)],
            role: MarkRole::Axis,
        });
        for tick in along.ticks(8).into_iter().filter(|tick| tick.fract() == 0.0) {
            drawing.add_text(
                along.position(tick),
                bottom + 18.0,
                TextAnchor::Middle,
                MarkRole::Label,
                format_tick(tick),
            );
        }
        let place = |cycle: f64, value: f64| (along.position(cycle), values.position(value));
        if !self.band.0.is_empty() {
            let upper = self.band.0.iter().map(|(cycle, _, high)| place(*cycle, *high));
            let lower = self.band.0.iter().rev().map(|(cycle, low, _)| place(*cycle, *low));
            drawing.marks.push(DrawingMark::Area {
                points: upper.chain(lower).collect(),
                role: MarkRole::Band,
            });
        }
        let mut legend = MARGIN_LEFT;
        for ChartSeries { name, role, points } in &self.series {
            let line = points.iter().map(|(cycle, value)| place(*cycle, *value)).collect();
            drawing.marks.push(DrawingMark::Line { points: line, role: *role });
            if points.len() <= MAX_POINTS_WITH_DOTS {
                for (cycle, value) in points {
                    let (x, y) = place(*cycle, *value);
                    let title = Some(format!("{name}, cycle {cycle}: {value:.4}"));
                    drawing.marks.push(DrawingMark::Dot { x, y, radius: 2.5, role: *role, title });
                }
            }
            let points = vec![(legend, 14.0), (legend + 18.0, 14.0)];
            drawing.marks.push(DrawingMark::Line { points, role: *role });
            drawing.add_text(
                legend + 24.0,
                18.0,
                TextAnchor::Start,
                MarkRole::Label,
                name.as_str(),
            );
            legend += 48.0 + 7.0 * name.chars().count() as f64;
        }
        drawing
    }

    fn describe(&self) -> String {
        let descriptions: Vec<String> = self
            .series
            .iter()
            .filter_map(|ChartSeries { name, points, .. }| {
                let last = points.last()?.1;
                let count = format_grouped_count(points.len() as u64, "value");
                Some(format!("{name}: {count}, the last {last:.4}"))
            })
            .collect();
        if descriptions.is_empty() {
            self.title.clone()
        } else {
            format!("{} ({})", self.title, descriptions.join("; "))
        }
    }
}
