//! Which requests are let in, and which headers browsers get.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use menace_serve::{AccessPolicy, ServeError};
use tower::ServiceExt;

use crate::pages::PAGE_PATHS;
use crate::sample::{
    PLAIN_TEXT, SampleData, TEST_TOKEN, TestResponse, fetch_as_browser, fetch_as_program,
    get_request, send_request, token_access,
};

#[test]
fn other_machines_need_a_token() {
    for host in
        [IpAddr::V4(Ipv4Addr::UNSPECIFIED), "192.168.1.5".parse().unwrap(), "::".parse().unwrap()]
    {
        assert!(
            matches!(AccessPolicy::new(host, None, true), Err(ServeError::NoToken { .. })),
            "{host}"
        );
    }
    for host in ["127.0.0.1", "127.0.0.9", "::1"] {
        AccessPolicy::new(host.parse().unwrap(), None, false).unwrap();
    }
}

#[test]
fn without_a_token_every_request_is_unauthorized() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.guarded_routes();
    for path in PAGE_PATHS.iter().chain(&[
        "/roi",
        "/metrics",
        "/events",
        "/modules.csv",
        "/plots/roi.png",
        "/weights",
    ]) {
        let answer = fetch_as_program(&routes, path);
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(answer.header(header::WWW_AUTHENTICATE), "Bearer", "{path}");
        let wrong =
            get_request(path).header(header::AUTHORIZATION, "Bearer a token of some lengtH");
        assert_eq!(
            send_request(&routes, wrong.body(Body::empty()).unwrap()).status,
            StatusCode::UNAUTHORIZED
        );
    }
    let sent = fetch_as_browser(&routes, "/failures?q=x");
    assert_eq!(sent.status, StatusCode::SEE_OTHER);
    assert_eq!(sent.header(header::LOCATION), "/login?next=/failures%3Fq%3Dx");
}

#[test]
fn a_program_shows_the_token_with_each_request() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.guarded_routes();
    let request =
        get_request("/metrics").header(header::AUTHORIZATION, format!("Bearer {TEST_TOKEN}"));
    assert_eq!(send_request(&routes, request.body(Body::empty()).unwrap()).status, StatusCode::OK);
}

fn log_in(routes: &axum::Router, token: &str) -> TestResponse {
    send_request(routes, login_request(token))
}

fn login_request(token: &str) -> Request<Body> {
    let form = format!("token={}&next=%2Ffailures", token.replace(' ', "+"));
    let request = Request::post("/login")
        .header(header::HOST, "example.org")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    request.body(Body::from(form)).unwrap()
}

#[test]
fn parallel_guesses_learn_no_more_than_single_ones() {
    const WRONG_TOKEN_PAUSE: Duration = Duration::from_millis(60);
    let bearer = |token: &str| {
        let request = get_request("/roi").header(header::AUTHORIZATION, format!("Bearer {token}"));
        request.body(Body::empty()).unwrap()
    };
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.dashboard(token_access(false).with_wrong_token_pause(WRONG_TOKEN_PAUSE));
    // The right one is the last in line, and learns nothing before its turn.
    let wrong = "guess of some length";
    for last in [bearer(TEST_TOKEN), login_request(TEST_TOKEN)] {
        let guesses =
            [bearer(wrong), login_request(wrong), bearer(wrong), login_request(wrong), last];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let started = Instant::now();
        let (status, waited) = runtime.block_on(async {
            let asked = guesses.map(|guess| {
                let answer = routes.clone().oneshot(guess);
                tokio::spawn(async move { (answer.await.unwrap().status(), started.elapsed()) })
            });
            let mut last = None;
            for answer in asked {
                last = Some(answer.await.unwrap());
            }
            last.unwrap()
        });
        assert!([StatusCode::OK, StatusCode::SEE_OTHER].contains(&status), "{status}");
        assert!(waited >= 4 * WRONG_TOKEN_PAUSE, "{waited:?}");
    }
}

#[test]
fn the_cookie_stays_on_encrypted_connections_where_there_are_any() {
    let world = SampleData::new(PLAIN_TEXT);
    for is_secure in [true, false] {
        let answer = log_in(&world.dashboard(token_access(is_secure)), TEST_TOKEN);
        let cookie = answer.header(header::SET_COOKIE);
        let flags: Vec<&str> = cookie.split("; ").skip(1).collect();
        assert_eq!(flags.contains(&"Secure"), is_secure, "{cookie}");
    }
}

#[test]
fn a_person_gets_a_cookie_that_scripts_and_other_sites_cannot_use() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.guarded_routes();
    assert_eq!(fetch_as_browser(&routes, "/login").status, StatusCode::OK);
    let wrong = log_in(&routes, "guess of some length");
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert_eq!(wrong.header(header::SET_COOKIE), "");

    let right = log_in(&routes, TEST_TOKEN);
    assert_eq!(
        (right.status, right.header(header::LOCATION)),
        (StatusCode::SEE_OTHER, "/failures")
    );
    let cookie = right.header(header::SET_COOKIE);
    for flag in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(flag), "{cookie}");
    }
    assert!(!cookie.contains("token"), "{cookie}");
    let pair = cookie.split(';').next().unwrap();
    let request = get_request("/failures").header(header::COOKIE, format!("other=1; {pair}"));
    assert_eq!(send_request(&routes, request.body(Body::empty()).unwrap()).status, StatusCode::OK);
    // A logout deletes the cookie; where no login is needed, no page offers a logout.
    let request = get_request("/").header(header::COOKIE, pair).header(header::ACCEPT, "text/html");
    let page = send_request(&routes, request.body(Body::empty()).unwrap());
    assert!(page.text().contains("<a href=\"/logout\">"), "{}", page.text());
    assert!(!fetch_as_browser(&world.routes(), "/").text().contains("/logout"));
    let request = get_request("/logout").header(header::COOKIE, pair);
    let left = send_request(&routes, request.body(Body::empty()).unwrap());
    assert!(left.header(header::SET_COOKIE).contains("Max-Age=0"));
    assert_eq!(left.header(header::LOCATION), "/login");
    let forged = get_request("/failures").header(header::COOKIE, pair.replace('.', ".0"));
    assert_eq!(
        send_request(&routes, forged.body(Body::empty()).unwrap()).status,
        StatusCode::UNAUTHORIZED
    );
}

#[test]
fn a_foreign_host_name_gets_no_data() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    let asked = |host: &str| {
        let request = Request::get("/roi").header(header::HOST, host);
        send_request(&routes, request.body(Body::empty()).unwrap()).status
    };
    for host in ["localhost", "localhost:8002", "127.0.0.1:8002", "[::1]:8002", "LOCALHOST"] {
        assert_eq!(asked(host), StatusCode::OK, "{host}");
    }
    for host in ["evil.example", "evil.example:8002", "localhost.evil.example", "10.0.0.1"] {
        assert_eq!(asked(host), StatusCode::MISDIRECTED_REQUEST, "{host}");
    }
}

#[test]
fn a_request_names_exactly_one_host_also_with_a_token() {
    let world = SampleData::new(PLAIN_TEXT);
    for routes in [world.routes(), world.guarded_routes()] {
        let asked = |address: &str, hosts: &[&str]| {
            let named = |request: axum::http::request::Builder, host: &&str| {
                request.header(header::HOST, *host)
            };
            let request = hosts.iter().fold(Request::get(address), named);
            send_request(&routes, request.body(Body::empty()).unwrap()).status
        };
        for hosts in [
            &[][..],
            &[""],
            &["localhost", "localhost"],
            &["localhost", "evil.example"],
            &["me@localhost"],
            &["localhost:port"],
            &["[::1]evil.example"],
            &["local host"],
            &[":8002"],
        ] {
            assert_eq!(asked("/health", hosts), StatusCode::BAD_REQUEST, "{hosts:?}");
        }
        let whole = "http://evil.example/health";
        assert_eq!(asked(whole, &["localhost"]), StatusCode::BAD_REQUEST);
        assert_eq!(asked("http://localhost/health", &["localhost"]), StatusCode::OK);
    }
}

#[test]
fn the_security_policy_allows_no_foreign_scripts_and_styles() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.routes();
    for path in ["/", "/nothing", "/roi", "/assets/style.css"] {
        let answer = fetch_as_browser(&routes, path);
        let policy = answer.header(header::CONTENT_SECURITY_POLICY);
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(answer.header(header::X_CONTENT_TYPE_OPTIONS), "nosniff", "{path}");
    }
    for path in PAGE_PATHS {
        let page = fetch_as_browser(&routes, path);
        assert!(!page.text().contains("style=\""), "{path}: the policy forbids such styles");
        assert!(!page.text().contains("<style"), "{path}");
    }
}

#[test]
fn a_huge_body_is_refused() {
    let world = SampleData::new(PLAIN_TEXT);
    let routes = world.guarded_routes();
    let request = Request::post("/login")
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    let body = Body::from(format!("token={}", "x".repeat(1 << 20)));
    let answer = send_request(&routes, request.body(body).unwrap());
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    let post = Request::post("/failures").header(header::HOST, "localhost");
    let post = post.header(header::AUTHORIZATION, format!("Bearer {TEST_TOKEN}"));
    let refused = send_request(&routes, post.body(Body::empty()).unwrap());
    assert_eq!(refused.status, StatusCode::METHOD_NOT_ALLOWED, "nothing can be changed");
}
