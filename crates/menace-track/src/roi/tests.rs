use super::*;
use crate::series::assert_close;

fn profile(yaml: &str) -> Result<RoiProfile, RoiProfileError> {
    let profiles =
        RoiProfiles::parse(&format!("profiles:\n  mine:\n    {yaml}\n"), &["cpu_delta"])?;
    profiles.get("mine").cloned()
}

fn metrics(values: &[(&str, f64)]) -> MetricValues {
    values.iter().copied().collect()
}

#[test]
fn roi_is_the_sum_of_its_terms() {
    let profile = profile(
        "{weights: {reliability: 0.5, throughput: 0.25, risk_index: -0.25}, scales: {throughput: \
         10}}",
    )
    .unwrap();
    let values = metrics(&[("reliability", 0.8), ("throughput", 30.0), ("risk_index", 0.4)]);
    let roi = compute_roi(&profile, &values).unwrap();
    assert_close(roi.value, 0.4 + 0.75 * 0.25 - 0.1);
    let term = &roi.terms[2];
    assert_eq!((term.metric.as_str(), term.value), ("throughput", Some(30.0)));
    assert_close(term.scaled.unwrap(), 0.75);
    assert_close(roi.terms.iter().map(|term| term.contribution).sum(), roi.value);
}

#[test]
fn what_is_missing_leaves_its_weight_to_the_others() {
    let profile =
        profile("weights: {reliability: 0.5, resilience: 0.3, risk_index: -0.2}").unwrap();
    let roi =
        compute_roi(&profile, &metrics(&[("reliability", 1.0), ("risk_index", 0.5)])).unwrap();
    assert_close(roi.value, 0.5 / 0.7 - 0.1 / 0.7);
    let missing = roi.terms.iter().find(|term| term.metric == "resilience").unwrap();
    assert_eq!((missing.value, missing.scaled), (None, None));
    assert_close(missing.weight, 0.0);
}

#[test]
fn without_a_known_metric_there_is_no_roi() {
    let profile = profile("weights: {reliability: 1.0}").unwrap();
    assert_eq!(compute_roi(&profile, &metrics(&[("resilience", 1.0)])), None);
}

#[test]
fn a_veto_caps_roi_at_zero() {
    let yaml = "{weights: {reliability: 0.5, risk_index: -0.5}, vetoes: [safety_rating < 0.5]}";
    let profile = profile(yaml).unwrap();
    let of = |values: &[(&str, f64)]| compute_roi(&profile, &metrics(values)).unwrap();
    let vetoed = of(&[("reliability", 1.0), ("safety_rating", 0.4)]);
    assert_close(vetoed.value, 0.0);
    assert_eq!(vetoed.vetoes, ["safety_rating < 0.5"]);
    assert_close(of(&[("reliability", 1.0), ("safety_rating", 0.5)]).value, 1.0);
    let below = of(&[("reliability", 0.0), ("risk_index", 1.0), ("safety_rating", 0.0)]);
    assert_close(below.value, -0.5);
}

#[test]
fn all_comparisons_are_understood() {
    let one = metrics(&[("reliability", 1.0)]);
    let applies = |text: &str| text.parse::<RoiVeto>().unwrap().applies(&one);
    assert!(applies("reliability <= 1") && applies("reliability>=1"));
    assert!(!applies("reliability < 1") && !applies("reliability > 1"));
    assert!(!applies("resilience < 1"), "what was not measured is not vetoed");
}

#[test]
fn bad_profiles_are_refused_with_the_way_out() {
    let error_of = |yaml: &str| profile(yaml).unwrap_err().to_string();
    insta::assert_snapshot!(
        [
            error_of("weights: {reliability: 0.5, resilience: 0.4}"),
            error_of("weights: {relaibility: 1.0}"),
            error_of("weights: {colour: 1.0}"),
            error_of("weights: {risk_index: 1.0}"),
            error_of("weights: {reliability: -1.0}"),
            error_of("weights: {throughput: 1.0}"),
            error_of("{weights: {throughput: 1.0}, scales: {throughput: 0}}"),
            error_of("{weights: {reliability: 1.0}, vetoes: [reliability is low]}"),
            error_of("{weights: {reliability: 1.0}, vetoes: [colour < 1]}"),
            error_of("{weights: {reliability: 1.0}, prices: {kwh: -1}}"),
            error_of("{weights: {reliability: 1.0}, budget: {per_call: 0}}"),
            error_of("{weights: {reliability: .nan}}"),
            RoiProfiles::shipped().get("fast").unwrap_err().to_string(),
        ]
        .join("\n")
    );
}

#[test]
fn what_is_no_profile_is_refused() {
    assert!(matches!(RoiProfiles::parse("profiles: 3", &[]), Err(RoiProfileError::Yaml(_))));
    assert!(matches!(
        profile("{weights: {reliability: 1.0}, wieghts: {}}"),
        Err(RoiProfileError::Yaml(_))
    ));
    assert!(RoiProfiles::parse("# nothing yet\n", &[]).unwrap().iter().next().is_none());
}

#[test]
fn metrics_of_plugins_may_have_weights() {
    let profile = profile("{weights: {cpu_delta: -1.0}, scales: {cpu_delta: 50}}").unwrap();
    assert_close(compute_roi(&profile, &metrics(&[("cpu_delta", 50.0)])).unwrap().value, -0.5);
    assert_close(compute_roi(&profile, &metrics(&[("cpu_delta", -50.0)])).unwrap().value, 0.5);
}

#[test]
fn a_users_profile_takes_the_place_of_a_shipped_one() {
    let user = RoiProfiles::parse("profiles: {default: {weights: {reliability: 1}}}", &[]).unwrap();
    let profiles = RoiProfiles::shipped().with_overrides(user);
    assert_eq!(profiles.get("default").unwrap().weights().count(), 1);
    assert!(profiles.get("performance").is_ok());
}

#[test]
fn severities_go_from_the_nearest_to_the_default() {
    let table = ImpactTable::parse(
        "default: 0.3\nshop/cart.py: 0.7\nshop.tax: 0.6\n\"shop/**\": 0.4\ncritical: 0.95\n",
    )
    .unwrap();
    assert_close(table.severity("shop/cart.py", "shop.cart"), 0.7);
    assert_close(table.severity("shop/tax.py", "shop.tax"), 0.6);
    assert_close(table.severity("shop/other.py", "shop.other"), 0.4);
    assert_close(table.severity("shop/payment.py", "shop.payment"), 1.0);
    assert_close(table.severity("main.py", "main"), 0.3);
    assert_close(table.severity("critical", "critical"), 0.95);
    assert_close(table.severity("experimental", "experimental"), 0.2);
    assert_close(table.severity("critical.py", "critical"), 0.3);
}

#[test]
fn bad_severities_are_refused() {
    let error_of = |yaml: &str| ImpactTable::parse(yaml).unwrap_err().to_string();
    assert_eq!(
        error_of("a.py: 1.5"),
        "the impact table gives 1.5 to `a.py`: it must be from 0 to 1"
    );
    assert!(error_of("\"a[\": 0.5").starts_with("`a[` of the impact table is no glob"));
    assert!(error_of("a.py: high").starts_with("cannot read the impact table"));
}

#[test]
fn raroi_is_roi_less_the_risk() {
    let risk =
        RoiRisk { rollback_probability: 0.5, impact_severity: 0.4, stability: 0.9, safety: 0.5 };
    assert_close(compute_raroi(0.6, &risk), 0.6 * 0.8 * 0.9 * 0.5);
    assert_close(compute_raroi(0.6, &RoiRisk::default()), 0.6);
}

#[test]
fn stability_looks_at_the_last_ten_deltas() {
    assert_close(RoiRisk::compute_stability(&[]), 1.0);
    assert_close(RoiRisk::compute_stability(&[0.4]), 1.0);
    assert_close(RoiRisk::compute_stability(&[0.2, -0.2]), 0.8);
    let mut calm = vec![5.0];
    calm.extend([0.1; 10]);
    assert_close(RoiRisk::compute_stability(&calm), 1.0);
    assert_close(RoiRisk::compute_stability(&[9.0, -9.0]), 0.0);
}

#[test]
fn a_profile_that_was_written_down_is_read_as_it_was() {
    for profile in RoiProfiles::shipped().iter() {
        let read = RoiProfile::from_json(profile.name(), &profile.to_json());
        assert_eq!(read.as_ref(), Ok(profile));
    }
}
