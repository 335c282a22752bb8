//! How quickly a large store is shown: `cargo xtask bench serve [RUNS]`.
//!
//! A hundred calls in every run; 100,000 runs without another number. The last one is large: 5,000
//! sections under twelve scenarios. The data is made once and kept below the target directory. The
//! server runs in a process of its own, so that its memory is its own; every address is requested
//! over a connection, once after the start and then twenty times more, and then by four clients at
//! once. The benchmark fails when an answer, the first one included, takes longer than its limit,
//! or the server uses more memory or writes more than allowed.

#![allow(clippy::disallowed_methods, reason = "tests and benchmarks make the files they read")]
#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use menace_model::Failure;
use menace_serve::{AccessPolicy, DashboardServer, DataSource, HttpServer, ListenAddress};
use menace_store::{MetricsDatabase, Store, SynergyHistory};
use rusqlite::Connection;

#[path = "../tests/large/mod.rs"]
mod large;

use large::{DATABASE_URL, large_failure, large_report};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const SERVE_FLAG: &str = "--menace-serve";
const ROUNDS_PER_ADDRESS: usize = 20;
/// Clients that send requests at the same time, each for every address.
const CLIENT_COUNT: usize = 4;
/// Modules of the last run, of ten sections each.
const LAST_RUN_MODULES: u32 = 500;
const MAX_MEMORY_MB: u64 = 300;
const MAX_REPORT_BYTES: usize = 5_000_000;

/// Addresses, and how long each may take at most.
const ADDRESS_LIMITS_MS: &[(&str, &str, u64)] = &[
    ("overview", "", 100),
    ("/metrics", "metrics", 50),
    ("an old run", "runs/r-00000007", 500),
    ("runs, first page", "runs", 500),
    ("runs, last page", "runs?page=2000", 500),
    ("runs, by ROI, page 1,000", "runs?sort=roi&dir=desc&page=1000", 500),
    ("runs, a search", "runs?q=0042", 500),
    ("runs compared", "compare?a=r-00000001&b=r-00000002", 500),
    ("modules", "modules?sort=roi&dir=desc", 500),
    ("a module", "module?path=shop/large_1.py", 500),
    ("a section with its calls", "section?id=shop/large_1.py::function_13", 500),
    ("a module of an old run", "module?path=shop/module_1.py&run=r-00000500", 500),
    ("failures", "failures", 500),
    ("failures, gone ones too, by section", "failures?gone=1&sort=section&dir=asc&page=300", 500),
    ("failures, searched in vain", "failures?gone=1&q=nothing+has+this", 500),
    ("failures of one run", "failures?run=r-00000500", 500),
    ("a failure", "failures/f0000000007", 500),
    ("scenarios", "scenarios", 500),
    ("scenarios of an old run", "scenarios?run=r-00000500", 500),
    ("forecasts", "forecasts", 500),
    ("forecasts of a metric", "forecasts?metric=reliability", 500),
    ("synergy", "synergy", 500),
    ("settings", "settings", 500),
    ("/roi", "roi", 500),
    ("/roi_data", "roi_data", 500),
    ("/metrics/security_score", "metrics/security_score", 500),
    ("/plots/predictions.png", "plots/predictions.png", 500),
    ("10,000 failures as CSV", "failures.csv", 500),
];

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next().as_deref() == Some(SERVE_FLAG) {
        return serve(Path::new(&arguments.next().ok_or("a directory is needed")?));
    }
    let mut arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let runs: u64 = arguments.next().map_or(Ok(100_000), |runs| runs.parse())?;
    let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("serve-{runs}"));
    if !home.join("complete").exists() {
        let _ = fs::remove_dir_all(&home);
        let started = Instant::now();
        generate(&home, runs)?;
        fs::write(home.join("complete"), "")?;
        println!("made {runs} runs in {:.0} s", started.elapsed().as_secs_f64());
    }
    let bytes = fs::metadata(home.join("menace.db"))?.len();
    println!("{runs} runs, {} calls, {} MB of database\n", runs * 100, bytes >> 20);
    let mut beyond = measure_pages(&home)?;
    beyond.extend(measure_large_report()?);
    if beyond.is_empty() { Ok(()) } else { Err(format!("beyond: {}", beyond.join(", ")).into()) }
}

/// What is beyond its limit.
fn measure_pages(home: &Path) -> Result<Vec<String>> {
    let started = Instant::now();
    let mut server = Command::new(std::env::current_exe()?)
        .arg(SERVE_FLAG)
        .arg(home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = server.stdout.take().ok_or("its output is piped")?;
    let url = BufReader::new(output).lines().next().ok_or("it says where it is")??;
    println!("it listens after {:.0} ms", 1000.0 * started.elapsed().as_secs_f64());
    let agent = ureq::Agent::new_with_defaults();
    println!("{:<44}{:>10}{:>10}{:>10}{:>10}", "", "first ms", "median", "worst", "at most");
    let mut beyond = Vec::new();
    for (name, path, most) in ADDRESS_LIMITS_MS {
        let ask = || -> Result<Duration> {
            let started = Instant::now();
            let mut answer =
                agent.get(format!("{url}{path}")).header("accept", "text/html").call()?;
            answer.body_mut().with_config().limit(256 << 20).read_to_vec()?;
            Ok(started.elapsed())
        };
        let first = ask()?;
        let mut times = (0..ROUNDS_PER_ADDRESS).map(|_| ask()).collect::<Result<Vec<_>>>()?;
        times.sort_unstable();
        let ms = |time: Duration| 1000.0 * time.as_secs_f64();
        let worst = times[ROUNDS_PER_ADDRESS - 1];
        println!(
            "{name:<44}{:>10.1}{:>10.1}{:>10.1}{most:>10}",
            ms(first),
            ms(times[ROUNDS_PER_ADDRESS / 2]),
            ms(worst)
        );
        let worst = ms(worst.max(first));
        if worst > *most as f64 {
            beyond.push(format!("{name} ({worst:.0} ms of {most})"));
        }
    }
    beyond.extend(measure_concurrent_clients(&url)?);
    let status = fs::read_to_string(format!("/proc/{}/status", server.id()))?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let peak: u64 = peak.trim().trim_end_matches(" kB").trim().parse()?;
    let peak = peak >> 10;
    println!("{:<44}{peak:>10}{MAX_MEMORY_MB:>30}", "peak memory of the server, MB");
    if peak > MAX_MEMORY_MB {
        beyond.push(format!("memory ({peak} MB of {MAX_MEMORY_MB})"));
    }
    drop(server.stdin.take());
    server.wait()?;
    Ok(beyond)
}

/// What is beyond its limit when several clients request every address. They share the processors:
/// an address may take as much longer as there are more clients than processors.
fn measure_concurrent_clients(url: &str) -> Result<Vec<String>> {
    type AddressTimes = std::result::Result<Vec<(usize, Duration)>, ureq::Error>;
    let ask = |client: usize| -> AddressTimes {
        let agent = ureq::Agent::new_with_defaults();
        let mut times = Vec::new();
        for at in 0..ADDRESS_LIMITS_MS.len() {
            // Each begins elsewhere: otherwise all would ask for the same.
            let place =
                (at + client * ADDRESS_LIMITS_MS.len() / CLIENT_COUNT) % ADDRESS_LIMITS_MS.len();
            let started = Instant::now();
            let address = format!("{url}{}", ADDRESS_LIMITS_MS[place].1);
            let mut answer = agent.get(address).header("accept", "text/html").call()?;
            answer.body_mut().with_config().limit(256 << 20).read_to_vec()?;
            times.push((place, started.elapsed()));
        }
        Ok(times)
    };
    let mut worst = [Duration::ZERO; ADDRESS_LIMITS_MS.len()];
    std::thread::scope(|scope| -> Result<()> {
        let clients: Vec<_> =
            (0..CLIENT_COUNT).map(|client| scope.spawn(move || ask(client))).collect();
        for client in clients {
            for (place, time) in client.join().map_err(|_| "a client has panicked")?? {
                worst[place] = worst[place].max(time);
            }
        }
        Ok(())
    })?;
    let processors = std::thread::available_parallelism()?.get().min(CLIENT_COUNT);
    println!("{CLIENT_COUNT} clients at once, on {processors} processors");
    let mut beyond = Vec::new();
    for ((name, _, most), worst) in ADDRESS_LIMITS_MS.iter().zip(worst) {
        let (worst, most) =
            (1000.0 * worst.as_secs_f64(), *most * CLIENT_COUNT as u64 / processors as u64);
        if ["overview", "/metrics"].contains(name) || worst > 200.0 {
            println!("{name:<44}{worst:>30.1}{most:>10}");
        }
        if worst > most as f64 {
            beyond.push(format!("{name} for {CLIENT_COUNT} at once ({worst:.0} ms of {most})"));
        }
    }
    Ok(beyond)
}

/// Serves until its standard input is closed.
fn serve(home: &Path) -> Result<()> {
    let library =
        Arc::new(DataSource::new(menace_serve::DataLocations::from_data_dir(home, DATABASE_URL)));
    menace_serve::warm_up(&library);
    let host = std::net::IpAddr::from([127, 0, 0, 1]);
    let access = AccessPolicy::new(host, None, false)?;
    let settings =
        menace_settings::Settings::resolve(&menace_settings::SettingsSources::default())?;
    let settings = settings.entries().collect();
    let routes = DashboardServer { data_source: library, settings, access }.routes();
    let server = HttpServer::start(ListenAddress { host, port: 0 }, None, routes)?;
    println!("{}", server.url());
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    Ok(())
}

/// The report of a run of 20,000 calls; what is beyond its limit.
fn measure_large_report() -> Result<Option<String>> {
    let home = tempfile::tempdir()?;
    let graph = large::make_large_run(home.path())?;
    let library = DataSource::new(menace_serve::DataLocations::from_data_dir(
        &home.path().join("data"),
        DATABASE_URL,
    ));
    let started = Instant::now();
    let page = menace_serve::render_report(&library, None, Some(&graph))?;
    println!(
        "\nreport of 20,000 calls with 400 failures: {:.2} MB (at most 5), made in {:.0} ms",
        page.len() as f64 / 1e6,
        1000.0 * started.elapsed().as_secs_f64()
    );
    let bytes = page.len();
    fs::write(PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("large-report.html"), page)?;
    Ok((bytes > MAX_REPORT_BYTES)
        .then(|| format!("the report ({bytes} bytes of {MAX_REPORT_BYTES})")))
}

fn generate(home: &Path, runs: u64) -> Result<()> {
    fs::create_dir_all(home)?;
    drop(Store::open(home, DATABASE_URL)?);
    let database = Connection::open(home.join("menace.db"))?;
    database.pragma_update(None, "journal_mode", "OFF")?;
    database.pragma_update(None, "synchronous", "OFF")?;
    database.pragma_update(None, "cache_size", -400_000)?;
    let example = large_failure("f0", 0);
    let sql = include_str!("serve/generate.sql")
        .replace("{runs}", &runs.to_string())
        .replace("@CALL@", &serde_json::to_string(&example.call)?.replace('\'', "''"))
        .replace("@OUTCOME@", &serde_json::to_string(&example.outcome)?.replace('\'', "''"));
    database.execute_batch(&format!("BEGIN; {sql} COMMIT;"))?;
    // The facts of runs come from their summaries, as they do when runs end.
    let failures: Vec<Failure> =
        (0..3).map(|number| large_failure(&format!("f{number}"), number)).collect();
    let small = serde_json::to_string(&large_report("@ID@", 5, &failures))?;
    let last = i64::try_from(runs)?;
    let sum_up = "UPDATE runs SET summary = replace(?1, '@ID@', id) WHERE key <> ?2";
    database.execute(sum_up, (small, last))?;
    let large =
        serde_json::to_string(&large_report(&format!("r-{runs:08}"), LAST_RUN_MODULES, &failures))?;
    database.execute("UPDATE runs SET summary = ?1 WHERE key = ?2", (large, last))?;
    drop(database);
    write_metrics_db(home, runs)?;
    write_history(home, runs as usize)?;
    let (mut synergy, _) = SynergyHistory::open(&home.join("synergy_history.db"))?;
    let entries: Vec<_> = (0..runs)
        .map(|run| {
            let value = (run as f64).sin();
            BTreeMap::from([
                ("synergy_roi".to_owned(), value),
                ("synergy_reliability".to_owned(), -value),
            ])
        })
        .collect();
    synergy.append(&entries)?;
    Ok(())
}

/// `metrics.db`: every metric of every run, those of modules and scenarios of the last thousand,
/// and the gauges of others.
fn write_metrics_db(home: &Path, runs: u64) -> Result<()> {
    let path = home.join("metrics.db");
    drop(MetricsDatabase::open(&path)?);
    let database = Connection::open(&path)?;
    database.pragma_update(None, "journal_mode", "OFF")?;
    database.pragma_update(None, "synchronous", "OFF")?;
    let names: Vec<&str> = menace_track::METRICS.iter().map(|metric| metric.name).collect();
    let gauges = menace_serve::prometheus::METRIC_DECLARATIONS.iter();
    let gauges = gauges
        .filter(|gauge| gauge.origin == menace_serve::prometheus::MetricNameOrigin::Documented);
    let gauges: Vec<&str> = gauges.map(|gauge| gauge.name).collect();
    let sql = include_str!("serve/measure.sql")
        .replace("{runs}", &runs.to_string())
        .replace("@METRICS@", &serde_json::to_string(&names)?)
        .replace("@GAUGES@", &serde_json::to_string(&gauges)?);
    Ok(database.execute_batch(&format!("BEGIN; {sql} COMMIT;"))?)
}

/// As many cycles as runs, in a file that has all of them.
fn write_history(home: &Path, cycles: usize) -> Result<()> {
    let wave = |phase: f64| -> Vec<f64> {
        let at = |cycle: usize| 0.6 + 0.1 * (cycle as f64 / 50.0 + phase).sin();
        (0..cycles).map(|cycle| (at(cycle) * 1e6).round() / 1e6).collect()
    };
    let metrics: BTreeMap<&str, Vec<f64>> = menace_track::METRICS
        .iter()
        .enumerate()
        .map(|(number, metric)| (metric.name, wave(number as f64)))
        .collect();
    let modules: BTreeMap<String, Vec<f64>> = (0..5)
        .map(|number| (format!("shop/module_{number}.py"), wave(f64::from(number))))
        .collect();
    let few: BTreeMap<&str, Vec<f64>> =
        ["reliability", "security_score"].into_iter().map(|name| (name, wave(0.5))).collect();
    let history = serde_json::json!({
        "cycles": cycles,
        "roi_history": wave(0.0), "roi_deltas": wave(0.1), "raroi_history": wave(0.2),
        "module_roi": modules, "module_deltas": modules, "metrics_history": metrics,
        "scenario_roi": {"normal": wave(0.3), "hostile_input": wave(0.4)},
        "predicted_roi": wave(0.5), "actual_roi": wave(0.6),
        "predicted_metrics": few, "actual_metrics": few,
    });
    fs::write(home.join("roi_history.json"), serde_json::to_vec(&history)?)?;
    Ok(())
}
