//! Renders pages: templates, and the values passed to them.
//!
//! Invariant: everything that is put into a template is escaped and cleaned, but for charts, which
//! did that themselves.

use std::sync::LazyLock;

use minijinja::{
    AutoEscape, Environment, Error as JinjaError, ErrorKind, Output, State, UndefinedBehavior,
    Value,
};
use serde::Serialize;

use crate::error::{ServeError, ServeResult};
use crate::text;

pub(crate) const STYLE_SHEET: &str = include_str!("../assets/style.css");
pub(crate) const DASHBOARD_SCRIPT: &str = include_str!("../assets/dashboard.js");
pub(crate) const ICON_SVG: &str = include_str!("../assets/icon.svg");

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

static TEMPLATE_ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(build_environment);

fn build_environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    // A field that a view does not have is an error, not a blank.
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_formatter(format_value);
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.add_filter("num", |value: Value| format_number(&value, text::format_number));
    environment.add_filter("amount", |value: Value| format_number(&value, text::format_amount));
    environment.add_filter("signed", |value: Value| format_number(&value, text::format_signed));
    environment.add_filter("percent", |value: f64| format!("{:.1} %", 100.0 * value));
    environment.add_filter("count", |value: u64| text::format_thousands(value));
    environment
        .add_filter("counted", |value: u64, one: String| text::format_grouped_count(value, &one));
    environment.add_filter("bytes", |value: u64| text::format_bytes(value));
    environment.add_filter("ms", |value: f64| text::format_millis(value));
    environment.add_filter("url", |value: String| text::percent_encode(&value));
    environment.add_filter("cut", |value: String, most: usize| text::truncate(&value, most));
    environment.add_filter("words", |value: String| value.replace('_', " "));
    for (name, source) in TEMPLATES {
        if let Err(error) = environment.add_template(name, source) {
            // The test that parses all of them fails first.
            tracing::error!(name, %error, "a template cannot be read");
        }
    }
    environment
}

/// A number that is none becomes a dash.
fn format_number(
    value: &Value,
    format: fn(f64) -> String,
) -> std::result::Result<String, JinjaError> {
    if value.is_undefined() {
        return Err(ErrorKind::UndefinedError.into());
    }
    Ok(f64::try_from(value.clone()).map_or_else(|_| "–".to_owned(), format))
}

fn format_value(
    out: &mut Output<'_>,
    _: &State<'_, '_>,
    value: &Value,
) -> std::result::Result<(), JinjaError> {
    if value.is_none() {
        return Ok(());
    }
    let written = if value.is_safe() {
        out.write_str(value.as_str().unwrap_or_default())
    } else {
        out.write_str(&text::escape(&value.to_string()))
    };
    written.map_err(|error| JinjaError::new(ErrorKind::WriteFailure, error.to_string()))
}

pub(crate) fn render(name: &str, view: impl Serialize) -> ServeResult<String> {
    let cannot = |source| ServeError::RenderPage { name: name.to_owned(), source };
    let template = TEMPLATE_ENVIRONMENT.get_template(name).map_err(cannot)?;
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
    fn a_field_that_a_view_lacks_is_an_error() {
        let mut environment = build_environment();
        for template in [
            "{{ view.missing }}",
            "{{ view.missing|num }}",
            "{{ view.missing|signed }}",
            "{% if view.missing %}{% endif %}",
            "{% if not view.missing %}{% endif %}",
            "{% for row in view.missing %}{% endfor %}",
        ] {
            environment.add_template("t", template).unwrap();
            let view = minijinja::context! { view => minijinja::context! { present => 1 } };
            let error = environment.get_template("t").unwrap().render(view).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::UndefinedError, "{template}: {error}");
        }
    }

    #[test]
    fn what_is_put_in_is_text_unless_it_is_a_chart() {
        let mut environment = build_environment();
        environment.add_template("t", "{{ bad }}|{{ good }}|{{ none }}|{{ n|num }}").unwrap();
        let view = minijinja::context! {
            bad => "<b>\u{1b}&\"",
            good => Value::from_safe_string("<svg></svg>".into()),
            none => (),
            n => (),
        };
        let page = environment.get_template("t").unwrap().render(view).unwrap();
        assert_eq!(page, "&lt;b&gt;\\x1b&amp;&quot;|<svg></svg>||–");
    }
}
