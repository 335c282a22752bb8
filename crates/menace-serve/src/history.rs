//! `roi_history.json`, its latest values only, and synergy beside it.
//!
//! The file grows by every cycle for ever: of each list the end is kept, so that memory does not
//! grow with it. Invariant: the file is read and never changed, not even a damaged one.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::SystemTime;

use menace_loop::run::Began;
use menace_track::Tracker;
use menace_track::stats::forecast::{Forecast, Outlook};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::error::{Error, Result};

/// Values of each list that are kept: more than a chart can show.
const KEPT: usize = 600;
/// Files above this are read again in the background, while pages show what was read before.
const LARGE: u64 = 4 << 20;
/// Cycles ahead.
const HORIZON: usize = 3;

/// The end of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tail {
    pub values: Vec<f64>,
    /// How many came before.
    pub before: usize,
}

/// The last entry of a list of numbers by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LastEntry(pub BTreeMap<String, f64>);

/// What pages show of the history.
#[expect(clippy::struct_field_names, reason = "the names are those of the file")]
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct History {
    pub cycles: u64,
    pub roi_history: Tail,
    pub roi_deltas: Tail,
    pub raroi_history: Tail,
    pub metrics_history: BTreeMap<String, Tail>,
    pub scenario_roi: BTreeMap<String, Tail>,
    pub scenario_roi_deltas: BTreeMap<String, Tail>,
    pub scenario_synergy: BTreeMap<String, LastEntry>,
    pub module_deltas: BTreeMap<String, Tail>,
    pub predicted_roi: Tail,
    pub actual_roi: Tail,
    pub predicted_metrics: BTreeMap<String, Tail>,
    pub actual_metrics: BTreeMap<String, Tail>,
    pub resource_history: BTreeMap<String, Tail>,
    /// How long the lists were when the cycles began that compare with the last one.
    pub selection_began: Value,
}

/// Forecasts and what came of them, in pairs.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Pairs {
    pub predicted: Vec<f64>,
    pub actual: Vec<f64>,
    /// The number of the first pair.
    #[serde(skip)]
    pub first: usize,
}

impl Tail {
    /// The cycle of the first value that was kept, counted from 1.
    pub(crate) fn first(&self) -> usize {
        self.before + 1
    }

    pub(crate) fn last(&self) -> Option<f64> {
        self.values.last().copied()
    }

    /// Without the first `count` of the whole list.
    fn since(&self, count: usize) -> Vec<f64> {
        self.values[count.saturating_sub(self.before).min(self.values.len())..].to_vec()
    }
}

impl Tail {
    /// Without the last `count`.
    fn until(&self, count: usize) -> Self {
        let kept = self.values.len().saturating_sub(count);
        Self { values: self.values[..kept].to_vec(), before: self.before }
    }
}

impl<'de> Deserialize<'de> for Tail {
    /// Only the end becomes numbers: a list may have millions, and they take their time.
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
        let before = (commas + 1).saturating_sub(KEPT);
        let start = match before {
            0 => 0,
            _ => memchr::memrchr_iter(b',', list.as_bytes())
                .nth(KEPT - 1)
                .map_or(0, |comma| comma + 1),
        };
        let number = |text: &str| serde_json::from_str::<Option<f64>>(text.trim());
        let values = list[start..].split(',').map(number).collect::<serde_json::Result<Vec<_>>>();
        let values = values.map_err(D::Error::custom)?;
        Ok(Self {
            values: values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect(),
            before,
        })
    }
}

impl<'de> Deserialize<'de> for LastEntry {
    /// The others are passed over: there may be one for every cycle.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        type Numbers = BTreeMap<String, Option<f64>>;
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let raw = raw.get();
        let end = raw.rfind('{').and_then(|start| raw[start..].trim_end().strip_suffix(']'));
        let last = if let Some(last) = end.and_then(|last| serde_json::from_str(last).ok()) {
            last
        } else {
            // It is empty, or a name has a brace in it.
            let all: Vec<Numbers> = serde_json::from_str(raw).map_err(D::Error::custom)?;
            all.into_iter().next_back().unwrap_or_default()
        };
        let numbers = last.into_iter().filter_map(|(name, value)| Some((name, value?)));
        Ok(Self(numbers.collect()))
    }
}

impl History {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let cannot = |source| Error::Read { path: path.to_owned(), source };
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(cannot(error)),
        };
        serde_json::from_slice(&bytes)
            .map_err(|error| Error::NotAHistory { path: path.to_owned(), why: error.to_string() })
    }

    /// Of ROI, or of a metric.
    pub(crate) fn pairs(&self, metric: Option<&str>) -> Pairs {
        let (predicted, actual) = match metric {
            None => (Some(&self.predicted_roi), Some(&self.actual_roi)),
            Some(name) => (self.predicted_metrics.get(name), self.actual_metrics.get(name)),
        };
        let (Some(predicted), Some(actual)) = (predicted, actual) else { return Pairs::default() };
        let start = predicted.before.max(actual.before);
        let end =
            (predicted.before + predicted.values.len()).min(actual.before + actual.values.len());
        let part = |tail: &Tail| {
            let from = start.saturating_sub(tail.before).min(tail.values.len());
            let to = end.saturating_sub(tail.before).clamp(from, tail.values.len());
            tail.values[from..to].to_vec()
        };
        Pairs { predicted: part(predicted), actual: part(actual), first: start + 1 }
    }

    /// ROI, or a metric; none where it was never measured.
    pub(crate) fn series(&self, metric: Option<&str>) -> Option<&Tail> {
        metric.map_or(Some(&self.roi_history), |name| self.metrics_history.get(name))
    }

    /// ROI and what its forecast needs, as they were before the last `cycles`.
    pub(crate) fn before(&self, cycles: usize) -> Self {
        let resources = self.resource_history.iter();
        Self {
            roi_history: self.roi_history.until(cycles),
            resource_history: resources
                .map(|(name, tail)| (name.clone(), tail.until(cycles)))
                .collect(),
            selection_began: self.selection_began.clone(),
            ..Self::default()
        }
    }

    /// As `menace roi forecast` and `menace roi predict-metric` tell it.
    pub(crate) fn forecast(&self, metric: Option<&str>) -> Option<Forecast> {
        let began = Began::read(&self.selection_began).unwrap_or_default();
        let since = |tail: &Tail, of: &BTreeMap<String, usize>, name: &str| {
            tail.since(of.get(name).copied().unwrap_or_default())
        };
        let mut known = menace_track::History::default();
        let values = self.series(metric)?;
        let values = match metric {
            None => values.since(began.roi_history),
            Some(name) => since(values, &began.metrics_history, name),
        };
        // One value has no direction: a line from it would look like knowledge.
        if values.len() < 2 {
            return None;
        }
        let outlook = Outlook { horizon: HORIZON, ..Outlook::default() };
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
        Tracker::new(known).forecast(outlook)
    }

    /// Everything that was recorded or forecast, some of it twice.
    pub(crate) fn named(&self) -> impl Iterator<Item = &String> {
        self.metrics_history.keys().chain(self.predicted_metrics.keys())
    }

    /// Whether this is a metric: documented, recorded or forecast.
    pub(crate) fn knows(&self, metric: &str) -> bool {
        let has = |lists: &BTreeMap<String, Tail>| lists.contains_key(metric);
        menace_track::metric(metric).is_some()
            || has(&self.metrics_history)
            || has(&self.predicted_metrics)
    }
}

impl Pairs {
    /// Mean absolute error; none without pairs.
    pub(crate) fn error(&self) -> Option<f64> {
        let errors =
            self.predicted.iter().zip(&self.actual).map(|(one, other)| (one - other).abs());
        let (sum, count) = errors
            .filter(|error| error.is_finite())
            .fold((0.0, 0u32), |(sum, count), error| (sum + error, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }
}

/// Refuses a file that is no history: a name that was mistaken shows at once.
pub fn check_history(path: &Path) -> Result<()> {
    let not = |why: String| Error::NotAHistory { path: path.to_owned(), why };
    let bytes = fs::read(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
    let parts: BTreeMap<String, &RawValue> =
        serde_json::from_slice(&bytes).map_err(|error| not(error.to_string()))?;
    if !parts.is_empty() && !parts.contains_key("roi_history") && !parts.contains_key("roi_deltas")
    {
        return Err(not("it has no `roi_history`".to_owned()));
    }
    History::read(path).map(drop)
}

type Stamp = (SystemTime, u64);

/// The history as it was read last, read again when the file has changed.
#[derive(Debug)]
pub(crate) struct Shelf {
    path: PathBuf,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Debug, Default)]
struct Kept {
    stamp: Option<Stamp>,
    history: Arc<History>,
    reading: bool,
    /// Forecasts take long enough to be remembered.
    forecasts: BTreeMap<Option<String>, Option<Forecast>>,
}

impl Shelf {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, kept: Arc::default() }
    }

    pub(crate) fn history(&self) -> Result<Arc<History>> {
        let stamp = stamp(&self.path);
        let mut kept = self.lock();
        if kept.stamp == stamp || kept.reading {
            return Ok(Arc::clone(&kept.history));
        }
        if kept.stamp.is_none() || stamp.is_none_or(|(_, length)| length < LARGE) {
            // Others wait: there is nothing to show them yet, or it will not take long.
            let history = History::read(&self.path)?;
            return Ok(kept.put(stamp, history));
        }
        kept.reading = true;
        drop(kept);
        let (path, shared) = (self.path.clone(), Arc::clone(&self.kept));
        thread::spawn(move || {
            let read = History::read(&path);
            let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
            kept.reading = false;
            match read {
                Ok(history) => drop(kept.put(stamp, history)),
                Err(error) => tracing::warn!("{error}; what was read before is shown"),
            }
        });
        Ok(Arc::clone(&self.lock().history))
    }

    pub(crate) fn forecast(&self, metric: Option<&str>) -> Result<Option<Forecast>> {
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn put(&mut self, stamp: Option<Stamp>, history: History) -> Arc<History> {
        self.stamp = stamp;
        self.history = Arc::new(history);
        self.forecasts.clear();
        Arc::clone(&self.history)
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_long_list_is_kept() {
        let text = format!("{:?}", (0..KEPT + 7).map(|n| n as f64).collect::<Vec<_>>());
        let tail: Tail = serde_json::from_str(&text).unwrap();
        assert_eq!((tail.values.len(), tail.before, tail.first()), (KEPT, 7, 8));
        assert_eq!(tail.values[..2], [7.0, 8.0]);
    }

    #[test]
    fn a_list_is_numbers_and_gaps_and_nothing_else() {
        let read = |text: &str| serde_json::from_str::<Tail>(text);
        let tail = read(" [ 1, null ,\n-2.5e-1 ] ").unwrap();
        assert_eq!((tail.values[0], tail.values[2], tail.before), (1.0, -0.25, 0));
        assert!(tail.values[1].is_nan());
        assert_eq!(read("[ ]").unwrap(), Tail::default());
        let parsed: Tail = serde_json::from_value(serde_json::json!([0.5, 2])).unwrap();
        assert_eq!(parsed.values, [0.5, 2.0], "from wherever it comes");
        for bad in ["{}", "3", "[true]", "[[1, 2]]", r#"["1"]"#, r#"[1, {"a": [2]}]"#, "[1,]"] {
            read(bad).unwrap_err();
        }
    }

    #[test]
    fn the_last_entry_of_a_list_is_enough() {
        let read = |text: &str| serde_json::from_str::<LastEntry>(text);
        let last = read(r#"[{"synergy_roi": 1}, {"synergy_roi": -0.5, "gap": null} ]"#).unwrap();
        assert_eq!(last.0, BTreeMap::from([("synergy_roi".to_owned(), -0.5)]));
        let braced = read(r#"[{"a{b": 2.0}]"#).unwrap();
        assert_eq!(braced.0, BTreeMap::from([("a{b".to_owned(), 2.0)]));
        assert_eq!(read("[]").unwrap(), LastEntry::default());
        read("[3]").unwrap_err();
    }

    #[test]
    fn pairs_stay_pairs_when_lists_differ_in_length() {
        let list = |from: usize, count: usize| Tail {
            values: (from..from + count).map(|n| n as f64).collect(),
            before: from,
        };
        let history =
            History { predicted_roi: list(3, 5), actual_roi: list(0, 6), ..History::default() };
        let pairs = history.pairs(None);
        assert_eq!(pairs.predicted, [3.0, 4.0, 5.0]);
        assert_eq!(pairs.actual, pairs.predicted);
        assert_eq!((pairs.first, pairs.error()), (4, Some(0.0)));
        assert_eq!(history.pairs(Some("none")), Pairs::default());
    }

    #[test]
    fn forecasts_are_those_that_the_command_line_tells() {
        let wave = |count: u32| -> Vec<f64> {
            (0..count).map(|step| (f64::from(step) * 0.7).sin() * 0.2 + 0.5).collect()
        };
        let cpu: Vec<f64> = (0..40_u32).map(|step| f64::from(step * 7 % 11)).collect();
        let roi: Vec<f64> = cpu.iter().zip(wave(40)).map(|(cpu, y)| 0.03 * cpu + y).collect();
        // More than is kept, of another selection, whose values are far away.
        let long = |values: &[f64]| [vec![9.0; KEPT], values.to_vec()].concat();
        let text = serde_json::json!({
            "roi_history": long(&roi),
            "resource_history": {"cpu": long(&cpu)},
            "metrics_history": {"resilience": long(&wave(30))},
            "selection": "module a.py",
            "selection_began": {
                "roi_history": KEPT,
                "resource_history": {"cpu": KEPT},
                "metrics_history": {"resilience": KEPT},
            },
        });
        let shown: History = serde_json::from_value(text.clone()).unwrap();
        let told = menace_loop::run::of_last_selection(serde_json::from_value(text).unwrap());
        let mut told = Tracker::new(told);
        let outlook = Outlook { horizon: HORIZON, ..Outlook::default() };
        let of_roi = shown.forecast(None).unwrap();
        assert_eq!(of_roi.samples, 40);
        assert_eq!(Some(of_roi), told.forecast(outlook));
        let of_metric = shown.forecast(Some("resilience")).unwrap();
        assert_eq!(of_metric.samples, 30);
        assert_eq!(Some(of_metric), told.predict_metric("resilience", outlook));
    }

    #[test]
    fn a_file_that_changes_is_read_again_and_a_damaged_one_is_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("roi_history.json");
        let shelf = Shelf::new(path.clone());
        assert_eq!(*shelf.history().unwrap(), History::default(), "none yet");
        fs::write(&path, r#"{"roi_history": [0.5, null, 0.25], "others": {"x": [1]}}"#).unwrap();
        assert_eq!(shelf.history().unwrap().roi_history.last(), Some(0.25));
        fs::write(&path, r#"{"roi_history": [0.5, 0.25, 0.125, 0.0625]}"#).unwrap();
        assert_eq!(shelf.history().unwrap().roi_history.values.len(), 4);
        check_history(&path).unwrap();
        fs::write(&path, "{").unwrap();
        check_history(&path).unwrap_err();
        shelf.history().unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{");
    }
}
