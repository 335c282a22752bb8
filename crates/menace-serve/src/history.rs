//! The latest values of `roi_history.json`, and the synergy history beside it.
//!
//! The file grows with every cycle. Only the end of each list is kept, so that memory does not grow
//! with it. Invariant: the file is only read and never changed, not even a damaged one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

use menace_track::Tracker;
use menace_track::comparison::ComparisonStart;
use menace_track::stats::forecast::{ForecastOptions, MetricForecast};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{ServeError, ServeResult};

/// Values of each list that are kept: more than a chart can show.
const MAX_VALUES_PER_LIST: usize = 600;
/// Larger files are read in the background, while pages show the values read before.
const BACKGROUND_READ_BYTES: u64 = 4 << 20;
/// Cycles ahead.
const FORECAST_CYCLES: usize = 3;

/// The end of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ListTail {
    /// `None` for values that were not measured.
    pub values: Vec<Option<f64>>,
    /// The number of earlier values, which are not kept.
    pub skipped_count: usize,
}

/// The last entry of a list of numbers by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LastHistoryEntry(pub BTreeMap<String, f64>);

/// The part of the history that pages show.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct RoiHistoryView {
    pub cycles: u64,
    pub roi_history: ListTail,
    pub roi_deltas: ListTail,
    pub raroi_history: ListTail,
    pub metrics_history: BTreeMap<String, ListTail>,
    pub scenario_roi: BTreeMap<String, ListTail>,
    pub scenario_roi_deltas: BTreeMap<String, ListTail>,
    pub scenario_synergy: BTreeMap<String, LastHistoryEntry>,
    pub module_deltas: BTreeMap<String, ListTail>,
    pub predicted_roi: ListTail,
    pub actual_roi: ListTail,
    pub predicted_metrics: BTreeMap<String, ListTail>,
    pub actual_metrics: BTreeMap<String, ListTail>,
    pub resource_history: BTreeMap<String, ListTail>,
    /// The lengths of the series before the first cycle that is comparable with the last one
    /// ([`ComparisonStart`]).
    pub selection_began: Value,
}

/// Forecasts, and the actual values at the same positions.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct ForecastPairs {
    pub predicted: Vec<Option<f64>>,
    pub actual: Vec<Option<f64>>,
    /// The number of the first pair.
    #[serde(skip)]
    pub first: usize,
}

impl ListTail {
    /// The cycle of the first value that was kept, counted from 1.
    pub(crate) fn first_cycle(&self) -> usize {
        self.skipped_count + 1
    }

    pub(crate) fn last(&self) -> Option<f64> {
        self.values.last().copied().flatten()
    }

    /// The values without the first `count` of the whole list, as a series for `menace_track`:
    /// missing values are NaN.
    fn series_since(&self, count: usize) -> Vec<f64> {
        let start = count.saturating_sub(self.skipped_count).min(self.values.len());
        self.values[start..].iter().map(|value| value.unwrap_or(f64::NAN)).collect()
    }
}

impl ListTail {
    /// The values without the last `count`.
    fn without_last(&self, count: usize) -> Self {
        let kept = self.values.len().saturating_sub(count);
        Self { values: self.values[..kept].to_vec(), skipped_count: self.skipped_count }
    }
}

impl<'de> Deserialize<'de> for ListTail {
    /// Only the end is parsed into numbers: a list may have millions of them.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let raw = raw.get().trim();
        let not_a_list = || D::Error::custom("expected a list of numbers");
        let list = raw.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let list = list.ok_or_else(not_a_list)?.trim();
        if memchr::memchr3(b'"', b'[', b'{', list.as_bytes()).is_some() {
            return Err(not_a_list());
        }
        if list.is_empty() {
            return Ok(Self::default());
        }
        let commas = memchr::memchr_iter(b',', list.as_bytes()).count();
        let before = (commas + 1).saturating_sub(MAX_VALUES_PER_LIST);
        let start = match before {
            0 => 0,
            _ => memchr::memrchr_iter(b',', list.as_bytes())
                .nth(MAX_VALUES_PER_LIST - 1)
                .map_or(0, |comma| comma + 1),
        };
        let number = |text: &str| serde_json::from_str::<Option<f64>>(text.trim());
        let values = list[start..].split(',').map(number).collect::<serde_json::Result<Vec<_>>>();
        Ok(Self { values: values.map_err(D::Error::custom)?, skipped_count: before })
    }
}

impl<'de> Deserialize<'de> for LastHistoryEntry {
    /// Earlier objects are skipped: there may be one for every cycle.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        type MetricNumbers = BTreeMap<String, Option<f64>>;
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let raw = raw.get();
        let end = raw.rfind('{').and_then(|start| raw[start..].trim_end().strip_suffix(']'));
        let last = if let Some(last) = end.and_then(|last| serde_json::from_str(last).ok()) {
            last
        } else {
            // The list is empty, or a name contains a brace.
            let all: Vec<MetricNumbers> = serde_json::from_str(raw).map_err(D::Error::custom)?;
            all.into_iter().next_back().unwrap_or_default()
        };
        let numbers = last.into_iter().filter_map(|(name, value)| Some((name, value?)));
        Ok(Self(numbers.collect()))
    }
}

/// A history of gigabytes is none.
const MAX_HISTORY_BYTES: u64 = 1 << 30;

impl RoiHistoryView {
    pub(crate) fn read(path: &Path) -> ServeResult<Self> {
        let cannot = |source| ServeError::Read { path: path.to_owned(), source };
        let bytes = match menace_files::read_file(path, MAX_HISTORY_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(cannot(error)),
        };
        serde_json::from_slice(&bytes).map_err(|error| ServeError::NotRoiHistory {
            path: path.to_owned(),
            why: error.to_string(),
        })
    }

    /// The forecasts of ROI, or of a metric.
    pub(crate) fn pairs(&self, metric: Option<&str>) -> ForecastPairs {
        let (predicted, actual) = match metric {
            None => (Some(&self.predicted_roi), Some(&self.actual_roi)),
            Some(name) => (self.predicted_metrics.get(name), self.actual_metrics.get(name)),
        };
        let (Some(predicted), Some(actual)) = (predicted, actual) else {
            return ForecastPairs::default();
        };
        let start = predicted.skipped_count.max(actual.skipped_count);
        let end = (predicted.skipped_count + predicted.values.len())
            .min(actual.skipped_count + actual.values.len());
        let part = |tail: &ListTail| {
            let from = start.saturating_sub(tail.skipped_count).min(tail.values.len());
            let to = end.saturating_sub(tail.skipped_count).clamp(from, tail.values.len());
            tail.values[from..to].to_vec()
        };
        ForecastPairs { predicted: part(predicted), actual: part(actual), first: start + 1 }
    }

    /// ROI, or a metric; none where it was never measured.
    pub(crate) fn series(&self, metric: Option<&str>) -> Option<&ListTail> {
        metric.map_or(Some(&self.roi_history), |name| self.metrics_history.get(name))
    }

    /// ROI and the resources for its forecast, as they were before the last `cycles` cycles.
    pub(crate) fn before_last(&self, cycles: usize) -> Self {
        let resources = self.resource_history.iter();
        Self {
            roi_history: self.roi_history.without_last(cycles),
            resource_history: resources
                .map(|(name, tail)| (name.clone(), tail.without_last(cycles)))
                .collect(),
            selection_began: self.selection_began.clone(),
            ..Self::default()
        }
    }

    /// The forecast that `menace roi forecast` and `menace roi predict-metric` show.
    pub(crate) fn forecast(&self, metric: Option<&str>) -> Option<MetricForecast> {
        let began = ComparisonStart::read(&self.selection_began).unwrap_or_default();
        let since = |tail: &ListTail, of: &BTreeMap<String, usize>, name: &str| {
            tail.series_since(of.get(name).copied().unwrap_or_default())
        };
        let mut known = menace_track::RoiHistory::default();
        let values = self.series(metric)?;
        let values = match metric {
            None => values.series_since(began.roi_history),
            Some(name) => since(values, &began.metrics_history, name),
        };
        // One value has no trend, and a forecast from it would be misleading.
        if values.len() < 2 {
            return None;
        }
        let outlook = ForecastOptions { horizon: FORECAST_CYCLES, ..ForecastOptions::default() };
        if let Some(name) = metric {
            known.metrics_history.insert(name.to_owned(), values);
            return Tracker::new(known).predict_metric(name, outlook);
        }
        known.roi_history = values;
        let resources = self.resource_history.iter();
        known.resource_history = resources
            .map(|(name, tail)| (name.clone(), since(tail, &began.resource_history, name)))
            .filter(|(_, values)| !values.is_empty())
            .collect();
        Tracker::new(known).forecast_roi(outlook)
    }

    /// The names of everything recorded or forecast; some occur twice.
    pub(crate) fn metric_names(&self) -> impl Iterator<Item = &String> {
        self.metrics_history.keys().chain(self.predicted_metrics.keys())
    }

    /// Whether this is a metric: documented, recorded or forecast.
    pub(crate) fn has_metric(&self, metric: &str) -> bool {
        let has = |lists: &BTreeMap<String, ListTail>| lists.contains_key(metric);
        menace_track::find_metric(metric).is_some()
            || has(&self.metrics_history)
            || has(&self.predicted_metrics)
    }
}

impl ForecastPairs {
    /// Mean absolute error; none without pairs.
    pub(crate) fn mean_absolute_error(&self) -> Option<f64> {
        let pairs = self.predicted.iter().zip(&self.actual);
        let (sum, count) = pairs
            .filter_map(|(predicted, actual)| Some(((*predicted)? - (*actual)?).abs()))
            .filter(|error| error.is_finite())
            .fold((0.0, 0u32), |(sum, count), error| (sum + error, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }
}

/// Refuses a file that is no history: a name that was mistaken shows at once.
pub fn check_history(path: &Path) -> ServeResult<()> {
    let not = |why: String| ServeError::NotRoiHistory { path: path.to_owned(), why };
    let bytes = menace_files::read_file(path, MAX_HISTORY_BYTES)
        .map_err(|source| ServeError::Read { path: path.to_owned(), source })?;
    let parts: BTreeMap<String, &RawValue> =
        serde_json::from_slice(&bytes).map_err(|error| not(error.to_string()))?;
    if !parts.is_empty() && !parts.contains_key("roi_history") && !parts.contains_key("roi_deltas")
    {
        return Err(not("it has no `roi_history`".to_owned()));
    }
    RoiHistoryView::read(path).map(drop)
}

type FileStamp = (SystemTime, u64);

/// The history as it was read last, read again when the file has changed.
#[derive(Debug)]
pub(crate) struct HistoryCache {
    path: PathBuf,
    state: Arc<Mutex<HistoryCacheState>>,
}

#[derive(Debug, Default)]
struct HistoryCacheState {
    stamp: Option<FileStamp>,
    history: Arc<RoiHistoryView>,
    is_reading: bool,
    /// Forecasts take long enough to be remembered.
    forecasts: BTreeMap<Option<String>, Option<MetricForecast>>,
}

impl HistoryCache {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, state: Arc::default() }
    }

    pub(crate) fn history(&self) -> ServeResult<Arc<RoiHistoryView>> {
        let stamp = file_stamp(&self.path);
        let mut kept = self.lock();
        if kept.stamp == stamp || kept.is_reading {
            return Ok(Arc::clone(&kept.history));
        }
        if kept.stamp.is_none() || stamp.is_none_or(|(_, length)| length < BACKGROUND_READ_BYTES) {
            // Others wait: there is nothing to show yet, or reading takes only a moment.
            let history = RoiHistoryView::read(&self.path)?;
            return Ok(kept.replace_history(stamp, history));
        }
        kept.is_reading = true;
        drop(kept);
        let (path, shared) = (self.path.clone(), Arc::clone(&self.state));
        thread::spawn(move || {
            let read = RoiHistoryView::read(&path);
            let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
            kept.is_reading = false;
            match read {
                Ok(history) => drop(kept.replace_history(stamp, history)),
                Err(error) => tracing::warn!("{error}; what was read before is shown"),
            }
        });
        Ok(Arc::clone(&self.lock().history))
    }

    pub(crate) fn forecast(&self, metric: Option<&str>) -> ServeResult<Option<MetricForecast>> {
        let history = self.history()?;
        let key = metric.map(str::to_owned);
        if let Some(known) = self.lock().forecasts.get(&key) {
            return Ok(known.clone());
        }
        let made = history.forecast(metric);
        let mut kept = self.lock();
        if Arc::ptr_eq(&kept.history, &history) {
            kept.forecasts.insert(key, made.clone());
        }
        Ok(made)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HistoryCacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HistoryCacheState {
    fn replace_history(
        &mut self,
        stamp: Option<FileStamp>,
        history: RoiHistoryView,
    ) -> Arc<RoiHistoryView> {
        self.stamp = stamp;
        self.history = Arc::new(history);
        self.forecasts.clear();
        Arc::clone(&self.history)
    }
}

fn file_stamp(path: &Path) -> Option<FileStamp> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_list_is_kept() {
        let text =
            format!("{:?}", (0..MAX_VALUES_PER_LIST + 7).map(|n| n as f64).collect::<Vec<_>>());
        let tail: ListTail = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (tail.values.len(), tail.skipped_count, tail.first_cycle()),
            (MAX_VALUES_PER_LIST, 7, 8)
        );
        assert_eq!(tail.values[..2], [Some(7.0), Some(8.0)]);
    }

    #[test]
    fn a_list_is_numbers_and_gaps_and_nothing_else() {
        let read = |text: &str| serde_json::from_str::<ListTail>(text);
        let tail = read(" [ 1, null ,\n-2.5e-1 ] ").unwrap();
        assert_eq!((tail.values, tail.skipped_count), (vec![Some(1.0), None, Some(-0.25)], 0));
        assert_eq!(read("[ ]").unwrap(), ListTail::default());
        let parsed: ListTail = serde_json::from_value(serde_json::json!([0.5, 2])).unwrap();
        assert_eq!(parsed.values, [Some(0.5), Some(2.0)], "from wherever it comes");
        for bad in ["{}", "3", "[true]", "[[1, 2]]", r#"["1"]"#, r#"[1, {"a": [2]}]"#, "[1,]"] {
            read(bad).unwrap_err();
        }
    }

    #[test]
    fn the_last_entry_of_a_list_is_enough() {
        let read = |text: &str| serde_json::from_str::<LastHistoryEntry>(text);
        let last = read(r#"[{"synergy_roi": 1}, {"synergy_roi": -0.5, "gap": null} ]"#).unwrap();
        assert_eq!(last.0, BTreeMap::from([("synergy_roi".to_owned(), -0.5)]));
        let braced = read(r#"[{"a{b": 2.0}]"#).unwrap();
        assert_eq!(braced.0, BTreeMap::from([("a{b".to_owned(), 2.0)]));
        assert_eq!(read("[]").unwrap(), LastHistoryEntry::default());
        read("[3]").unwrap_err();
    }

    #[test]
    fn pairs_stay_pairs_when_lists_differ_in_length() {
        let list = |from: usize, count: usize| ListTail {
            values: (from..from + count).map(|n| Some(n as f64)).collect(),
            skipped_count: from,
        };
        let history = RoiHistoryView {
            predicted_roi: list(3, 5),
            actual_roi: list(0, 6),
            ..RoiHistoryView::default()
        };
        let pairs = history.pairs(None);
        assert_eq!(pairs.predicted, [Some(3.0), Some(4.0), Some(5.0)]);
        assert_eq!(pairs.actual, pairs.predicted);
        assert_eq!((pairs.first, pairs.mean_absolute_error()), (4, Some(0.0)));
        assert_eq!(history.pairs(Some("none")), ForecastPairs::default());
    }

    #[test]
    fn forecasts_are_those_that_the_command_line_tells() {
        let wave = |count: u32| -> Vec<f64> {
            (0..count).map(|step| (f64::from(step) * 0.7).sin() * 0.2 + 0.5).collect()
        };
        let cpu: Vec<f64> = (0..40_u32).map(|step| f64::from(step * 7 % 11)).collect();
        let roi: Vec<f64> = cpu.iter().zip(wave(40)).map(|(cpu, y)| 0.03 * cpu + y).collect();
        // More values than are kept, of another selection, and far from its values.
        let long = |values: &[f64]| [vec![9.0; MAX_VALUES_PER_LIST], values.to_vec()].concat();
        let text = serde_json::json!({
            "roi_history": long(&roi),
            "resource_history": {"cpu": long(&cpu)},
            "metrics_history": {"resilience": long(&wave(30))},
            "selection": "module a.py",
            "selection_began": {
                "roi_history": MAX_VALUES_PER_LIST,
                "resource_history": {"cpu": MAX_VALUES_PER_LIST},
                "metrics_history": {"resilience": MAX_VALUES_PER_LIST},
            },
        });
        let shown: RoiHistoryView = serde_json::from_value(text.clone()).unwrap();
        let expected =
            menace_track::comparison::keep_comparable(serde_json::from_value(text).unwrap());
        let mut expected = Tracker::new(expected);
        let outlook = ForecastOptions { horizon: FORECAST_CYCLES, ..ForecastOptions::default() };
        let of_roi = shown.forecast(None).unwrap();
        assert_eq!(of_roi.samples, 40);
        assert_eq!(Some(of_roi), expected.forecast_roi(outlook));
        let of_metric = shown.forecast(Some("resilience")).unwrap();
        assert_eq!(of_metric.samples, 30);
        assert_eq!(Some(of_metric), expected.predict_metric("resilience", outlook));
    }

    #[test]
    fn a_file_that_changes_is_read_again_and_a_damaged_one_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("roi_history.json");
        let cache = HistoryCache::new(path.clone());
        assert_eq!(*cache.history().unwrap(), RoiHistoryView::default(), "none yet");
        fs::write(&path, r#"{"roi_history": [0.5, null, 0.25], "others": {"x": [1]}}"#).unwrap();
        assert_eq!(cache.history().unwrap().roi_history.last(), Some(0.25));
        fs::write(&path, r#"{"roi_history": [0.5, 0.25, 0.125, 0.0625]}"#).unwrap();
        assert_eq!(cache.history().unwrap().roi_history.values.len(), 4);
        check_history(&path).unwrap();
        fs::write(&path, "{").unwrap();
        check_history(&path).unwrap_err();
        cache.history().unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{");
    }
}
