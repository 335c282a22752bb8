use menace_model::*;
use menace_sandbox::*;
fn main() {
    if init::requested() {
        init::run();
    }
    let a: Vec<String> = std::env::args().collect();
    let repo = std::path::PathBuf::from(&a[1]);
    let sources: Vec<_> = harness_sources()
        .iter()
        .map(|(n, t)| interpreter::Source { name: n.to_string(), text: t.to_string() })
        .collect();
    let python = std::path::PathBuf::from(&a[4]);
    let search = interpreter::Search {
        python: Some(&python),
        repository: &repo,
        path: std::ffi::OsStr::new("/usr/bin"),
        home: None,
        sources: &sources,
        cache: None,
    };
    let i = interpreter::Interpreter::find(&search).unwrap();
    let mut o = Options::new(repo, i);
    if let Some(t) = a.get(5) {
        o.tier = Some(match t.as_str() {
            "root" => Tier::Root,
            "user" => Tier::UserNamespaces,
            "landlock" => Tier::Landlock,
            _ => Tier::Unsafe,
        });
    }
    let b = LocalBackend::new(o).unwrap();
    let m = ModuleRef { name: a[2].clone(), path: None };
    let mut w = b.warm(&WarmSpec::new(Some(m.clone()))).unwrap();
    let call = Call {
        target: Target { module: m, qualname: a[3].clone(), how: How::Function },
        receiver: None,
        args: vec![],
        kwargs: vec![],
        seed: 1,
        limits: Limits::default(),
    };
    let n: usize = a.get(6).map_or(1, |n| n.parse().unwrap());
    for _ in 0..n.min(1) {
        println!("{}", serde_json::to_string_pretty(&w.run(&call).unwrap()).unwrap());
    }
    let mut t = Vec::new();
    let mut tot = Vec::new();
    for _ in 1..n {
        let s = std::time::Instant::now();
        let o = w.run(&call).unwrap();
        t.push(s.elapsed().as_micros());
        tot.push((o.runtime_metrics.total_ms * 1000.0) as u64);
    }
    t.sort();
    tot.sort();
    if n > 1 {
        println!(
            "median us {} p90 {} total median {}",
            t[t.len() / 2],
            t[t.len() * 9 / 10],
            tot[tot.len() / 2]
        );
    }
}
