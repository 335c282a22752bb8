//! A browser and its user actions: the `WebDriver` protocol, as much of it as is needed.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Until something shows; a busy machine is slow.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);

pub(crate) struct BrowserSession {
    driver: Child,
    session: String,
    agent: ureq::Agent,
    _profile: tempfile::TempDir,
}

impl BrowserSession {
    pub(crate) fn open() -> Self {
        let mut driver = Command::new("chromedriver")
            .args(["--port=0", "--allowed-ips=127.0.0.1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver is there: `cargo xtask test` installs it");
        let lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines
            .map(Result::unwrap)
            .find_map(|line| {
                let rest = line.strip_prefix("ChromeDriver was started successfully on port ")?;
                Some(rest.trim_end_matches('.').to_owned())
            })
            .expect("chromedriver says where it is");
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_mins(1)))
            .build()
            .new_agent();
        let profile = tempfile::tempdir().unwrap();
        let directory = format!("--user-data-dir={}", profile.path().display());
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--window-size=1280,1000",
            &directory,
        ];
        let wanted = json!({"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        }}});
        let mut browser = Self {
            driver,
            session: format!("http://127.0.0.1:{port}/session"),
            agent,
            _profile: profile,
        };
        let opened = browser.post("", wanted);
        let id = opened["sessionId"].as_str().unwrap_or_else(|| panic!("no browser: {opened}"));
        browser.session = format!("{}/{id}", browser.session);
        browser
    }

    fn post(&self, path: &str, body: Value) -> Value {
        let mut answer =
            self.agent.post(format!("{}{path}", self.session)).send_json(body).unwrap();
        let answer: Value = answer.body_mut().read_json().unwrap();
        answer["value"].clone()
    }

    fn get(&self, path: &str) -> Value {
        let mut answer = self.agent.get(format!("{}{path}", self.session)).call().unwrap();
        let answer: Value = answer.body_mut().with_config().limit(64 << 20).read_json().unwrap();
        answer["value"].clone()
    }

    pub(crate) fn open_url(&self, url: &str) {
        let gone = self.post("/url", json!({"url": url}));
        assert_eq!(gone, Value::Null, "{url}");
    }

    /// Runs a script in the page and returns what it returns.
    pub(crate) fn run_script(&self, script: &str) -> Value {
        let answer = self.post("/execute/sync", json!({"script": script, "args": []}));
        assert!(answer.get("error").is_none(), "{script}: {answer}");
        answer
    }

    /// The same for a script that ends by calling its last argument.
    pub(crate) fn run_async_script(&self, script: &str) -> Value {
        self.post("/execute/async", json!({"script": script, "args": []}))
    }

    fn find(&self, css: &str) -> Option<String> {
        let found = self.post("/element", json!({"using": "css selector", "value": css}));
        let (_, id) = found.as_object()?.iter().find(|(key, _)| key.starts_with("element-"))?;
        Some(id.as_str()?.to_owned())
    }

    fn element(&self, css: &str) -> String {
        let started = Instant::now();
        loop {
            if let Some(id) = self.find(css) {
                return id;
            }
            assert!(started.elapsed() < WAIT_TIMEOUT, "no {css} at {}", self.url());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn click(&self, css: &str) {
        let id = self.element(css);
        let clicked = self.post(&format!("/element/{id}/click"), json!({}));
        assert_eq!(clicked, Value::Null, "{css}");
    }

    /// Types into a field; `\n` is the return key.
    pub(crate) fn type_text(&self, css: &str, text: &str) {
        let id = self.element(css);
        let typed = self
            .post(&format!("/element/{id}/value"), json!({"text": text.replace('\n', "\u{e007}")}));
        assert_eq!(typed, Value::Null, "{css}");
    }

    /// Presses a key wherever the focus is.
    pub(crate) fn press(&self, key: &str) {
        let keys = json!([{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]);
        self.post("/actions", json!({"actions": [{"type": "key", "id": "keys", "actions": keys}]}));
    }

    pub(crate) fn text(&self, css: &str) -> String {
        let id = self.element(css);
        self.get(&format!("/element/{id}/text")).as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn url(&self) -> String {
        self.get("/url").as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the address has this in it: for pages that run no scripts.
    pub(crate) fn wait_for_url(&self, part: &str) {
        let started = Instant::now();
        while !self.url().contains(part) {
            assert!(started.elapsed() < WAIT_TIMEOUT, "{part} was not reached from {}", self.url());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until a script says so.
    pub(crate) fn wait_for_script(&self, what: &str, script: &str) {
        let started = Instant::now();
        while self.run_script(script) != Value::Bool(true) {
            assert!(started.elapsed() < WAIT_TIMEOUT, "{what} did not happen at {}", self.url());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn set_dark_mode(&self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": value}]);
        self.devtools_command("Emulation.setEmulatedMedia", &json!({"features": features}));
    }

    /// From now on pages run none of theirs.
    pub(crate) fn disable_scripts(&self) {
        self.devtools_command("Emulation.setScriptExecutionDisabled", &json!({"value": true}));
    }

    /// As wide as this, and as a phone is.
    pub(crate) fn set_phone_width(&self, width: u32) {
        let size = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        self.devtools_command("Emulation.setDeviceMetricsOverride", &size);
    }

    pub(crate) fn devtools_command(&self, command: &str, parameters: &Value) -> Value {
        self.post("/goog/cdp/execute", json!({"cmd": command, "params": parameters}))
    }

    /// What the browser complained about since it was asked last.
    pub(crate) fn console_errors(&self) -> Vec<String> {
        let entries = self.post("/se/log", json!({"type": "browser"}));
        let entries = entries.as_array().cloned().unwrap_or_default();
        let is_bad =
            |entry: &Value| ["SEVERE", "WARNING"].map(Value::from).contains(&entry["level"]);
        entries
            .iter()
            .filter(|entry| is_bad(entry))
            .map(|entry| entry["message"].to_string())
            .collect()
    }

    /// Keeps what is to be seen, all of the page.
    pub(crate) fn save_screenshot(&self, name: &str) {
        let size =
            "return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]";
        let size = self.run_script(size);
        let (width, height) = (size[0].as_f64().unwrap(), size[1].as_f64().unwrap().min(6000.0));
        let clip = json!({"x": 0, "y": 0, "width": width, "height": height, "scale": 1});
        let parameters = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let taken = self.devtools_command("Page.captureScreenshot", &parameters);
        let bytes = decode_base64(taken["data"].as_str().expect("a picture"));
        assert!(bytes.starts_with(b"\x89PNG"));
        let directory = target_dir().join("screenshots");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(format!("{name}.png")), bytes).unwrap();
    }
}

impl Drop for BrowserSession {
    fn drop(&mut self) {
        // Closes the browser, too.
        let _ = self.agent.delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Where Cargo builds.
pub(crate) fn target_dir() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).parent().expect("it is below target").to_owned()
}

/// The accessibility checks of axe-core.
pub(crate) fn axe_script() -> String {
    let path = target_dir().join("tools/axe-core/axe.min.js");
    std::fs::read_to_string(&path)
        .unwrap_or_else(|_| panic!("no {}: run `cargo xtask test`", path.display()))
}

fn decode_base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut out = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0);
    for value in text.bytes().filter_map(digit) {
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}
