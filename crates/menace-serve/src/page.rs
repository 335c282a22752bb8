//! Templates, and how values get into them.
//!
//! Invariant: everything that is put into a template is escaped and cleaned, but for charts, which
//! did that themselves.

use std::sync::LazyLock;

use minijinja::{AutoEscape, Environment, Error as JinjaError, ErrorKind, Output, State, Value};
use serde::Serialize;

use crate::error::{Error, Result};
use crate::text;

pub(crate) const STYLE: &str = include_str!("../assets/style.css");
pub(crate) const SCRIPT: &str = include_str!("../assets/dashboard.js");
pub(crate) const ICON: &str = include_str!("../assets/icon.svg");

const TEMPLATES: &[(&str, &str)] = &[
    ("base.html", include_str!("../templates/base.html")),
    ("compare.html", include_str!("../templates/compare.html")),
    ("error.html", include_str!("../templates/error.html")),
    ("failure.html", include_str!("../templates/failure.html")),
    ("failures.html", include_str!("../templates/failures.html")),
    ("forecasts.html", include_str!("../templates/forecasts.html")),
    ("login.html", include_str!("../templates/login.html")),
    ("module.html", include_str!("../templates/module.html")),
    ("modules.html", include_str!("../templates/modules.html")),
    ("overview.html", include_str!("../templates/overview.html")),
    ("parts.html", include_str!("../templates/parts.html")),
    ("report.html", include_str!("../templates/report.html")),
    ("runs.html", include_str!("../templates/runs.html")),
    ("scenarios.html", include_str!("../templates/scenarios.html")),
    ("section.html", include_str!("../templates/section.html")),
    ("settings.html", include_str!("../templates/settings.html")),
    ("synergy.html", include_str!("../templates/synergy.html")),
];

static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(environment);

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.set_formatter(put);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.add_filter("num", |value: Value| number(&value, text::number));
    environment.add_filter("amount", |value: Value| number(&value, text::amount));
    environment.add_filter("signed", |value: Value| number(&value, text::signed));
    environment.add_filter("percent", |value: f64| format!("{:.1} %", 100.0 * value));
    environment.add_filter("count", |value: u64| text::thousands(value));
    environment.add_filter("counted", |value: u64, one: String| text::counted(value, &one));
    environment.add_filter("bytes", |value: u64| text::bytes(value));
    environment.add_filter("ms", |value: f64| text::milliseconds(value));
    environment.add_filter("url", |value: String| text::percent(&value));
    environment.add_filter("cut", |value: String, most: usize| text::cut(&value, most));
    environment.add_filter("words", |value: String| value.replace('_', " "));
    for (name, source) in TEMPLATES {
        if let Err(error) = environment.add_template(name, source) {
            // Found by the test that renders every one of them.
            tracing::error!(name, %error, "a template cannot be read");
        }
    }
    environment
}

/// Numbers that there are none of become a dash.
fn number(value: &Value, told: fn(f64) -> String) -> String {
    f64::try_from(value.clone()).map_or_else(|_| "–".to_owned(), told)
}

fn put(
    out: &mut Output<'_>,
    _: &State<'_, '_>,
    value: &Value,
) -> std::result::Result<(), JinjaError> {
    if value.is_undefined() || value.is_none() {
        return Ok(());
    }
    let written = if value.is_safe() {
        out.write_str(value.as_str().unwrap_or_default())
    } else {
        out.write_str(&text::escaped(&value.to_string()))
    };
    written.map_err(|error| JinjaError::new(ErrorKind::WriteFailure, error.to_string()))
}

pub(crate) fn render(name: &str, view: impl Serialize) -> Result<String> {
    let cannot = |source| Error::Page { name: name.to_owned(), source };
    let template = ENVIRONMENT.get_template(name).map_err(cannot)?;
    template.render(view).map_err(cannot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_sound() {
        for (name, source) in TEMPLATES {
            Environment::new().add_template(name, source).unwrap();
        }
    }

    #[test]
    fn what_is_put_in_is_text_unless_it_is_a_chart() {
        let mut environment = environment();
        environment.add_template("t", "{{ bad }}|{{ good }}|{{ none }}|{{ n|num }}").unwrap();
        let view = minijinja::context! {
            bad => "<b>\u{1b}&\"",
            good => Value::from_safe_string("<svg></svg>".into()),
            none => (),
            n => (),
        };
        let page = environment.get_template("t").unwrap().render(view).unwrap();
        assert_eq!(page, "&lt;b&gt;\u{fffd}&amp;&quot;|<svg></svg>||–");
    }
}
