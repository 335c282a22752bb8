//! Who is let in, and what browsers are told.

use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use menace_serve::{Access, Error};
use tower::ServiceExt;

use crate::pages::PAGES;
use crate::sample::{Answer, PLAIN, TOKEN, World, ask, browse, fetch, get, guarding};

#[test]
fn other_machines_need_a_token() {
    for host in
        [IpAddr::V4(Ipv4Addr::UNSPECIFIED), "192.168.1.5".parse().unwrap(), "::".parse().unwrap()]
    {
        assert!(matches!(Access::new(host, None, true), Err(Error::NoToken { .. })), "{host}");
    }
    for host in ["127.0.0.1", "127.0.0.9", "::1"] {
        Access::new(host.parse().unwrap(), None, false).unwrap();
    }
}

#[test]
fn without_a_token_nothing_is_told() {
    let world = World::new(PLAIN);
    let routes = world.guarded();
    for path in PAGES.iter().chain(&[
        "/roi",
        "/metrics",
        "/events",
        "/modules.csv",
        "/plots/roi.png",
        "/weights",
    ]) {
        let answer = fetch(&routes, path);
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
        assert_eq!(answer.header(header::WWW_AUTHENTICATE), "Bearer", "{path}");
        let wrong = get(path).header(header::AUTHORIZATION, "Bearer a token of some lengtH");
        assert_eq!(
            ask(&routes, wrong.body(Body::empty()).unwrap()).status,
            StatusCode::UNAUTHORIZED
        );
    }
    let sent = browse(&routes, "/failures?q=x");
    assert_eq!(sent.status, StatusCode::SEE_OTHER);
    assert_eq!(sent.header(header::LOCATION), "/login?next=/failures%3Fq%3Dx");
}

#[test]
fn a_program_shows_the_token_with_each_request() {
    let world = World::new(PLAIN);
    let routes = world.guarded();
    let request = get("/metrics").header(header::AUTHORIZATION, format!("Bearer {TOKEN}"));
    assert_eq!(ask(&routes, request.body(Body::empty()).unwrap()).status, StatusCode::OK);
}

fn log_in(routes: &axum::Router, token: &str) -> Answer {
    ask(routes, login(token))
}

fn login(token: &str) -> Request<Body> {
    let form = format!("token={}&next=%2Ffailures", token.replace(' ', "+"));
    let request = Request::post("/login")
        .header(header::HOST, "example.org")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    request.body(Body::from(form)).unwrap()
}

#[test]
fn many_who_guess_at_once_learn_no_more_than_one_who_does() {
    const PAUSE: Duration = Duration::from_millis(60);
    let bearer = |token: &str| {
        let request = get("/roi").header(header::AUTHORIZATION, format!("Bearer {token}"));
        request.body(Body::empty()).unwrap()
    };
    let world = World::new(PLAIN);
    let routes = world.dashboard(guarding(false).pausing(PAUSE));
    // The right one is the last in line, and learns nothing before its turn.
    let wrong = "guess of some length";
    for last in [bearer(TOKEN), login(TOKEN)] {
        let guesses = [bearer(wrong), login(wrong), bearer(wrong), login(wrong), last];
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
        assert!(waited >= 4 * PAUSE, "{waited:?}");
    }
}

#[test]
fn the_cookie_stays_on_encrypted_connections_where_there_are_any() {
    let world = World::new(PLAIN);
    for is_secure in [true, false] {
        let answer = log_in(&world.dashboard(guarding(is_secure)), TOKEN);
        let cookie = answer.header(header::SET_COOKIE);
        let flags: Vec<&str> = cookie.split("; ").skip(1).collect();
        assert_eq!(flags.contains(&"Secure"), is_secure, "{cookie}");
    }
}

#[test]
fn a_person_gets_a_cookie_that_scripts_and_other_sites_cannot_use() {
    let world = World::new(PLAIN);
    let routes = world.guarded();
    assert_eq!(browse(&routes, "/login").status, StatusCode::OK);
    let wrong = log_in(&routes, "guess of some length");
    assert_eq!(wrong.status, StatusCode::UNAUTHORIZED);
    assert_eq!(wrong.header(header::SET_COOKIE), "");

    let right = log_in(&routes, TOKEN);
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
    let request = get("/failures").header(header::COOKIE, format!("other=1; {pair}"));
    assert_eq!(ask(&routes, request.body(Body::empty()).unwrap()).status, StatusCode::OK);
    // Who came in can go, and the cookie goes with them; where nobody has to log in, nobody is offered to.
    let request = get("/").header(header::COOKIE, pair).header(header::ACCEPT, "text/html");
    let page = ask(&routes, request.body(Body::empty()).unwrap());
    assert!(page.text().contains("<a href=\"/logout\">"), "{}", page.text());
    assert!(!browse(&world.routes(), "/").text().contains("/logout"));
    let request = get("/logout").header(header::COOKIE, pair);
    let left = ask(&routes, request.body(Body::empty()).unwrap());
    assert!(left.header(header::SET_COOKIE).contains("Max-Age=0"));
    assert_eq!(left.header(header::LOCATION), "/login");
    let forged = get("/failures").header(header::COOKIE, pair.replace('.', ".0"));
    assert_eq!(ask(&routes, forged.body(Body::empty()).unwrap()).status, StatusCode::UNAUTHORIZED);
}

#[test]
fn a_name_that_somebody_points_here_gets_nothing() {
    let world = World::new(PLAIN);
    let routes = world.routes();
    let asked = |host: &str| {
        let request = Request::get("/roi").header(header::HOST, host);
        ask(&routes, request.body(Body::empty()).unwrap()).status
    };
    for host in ["localhost", "localhost:8002", "127.0.0.1:8002", "[::1]:8002", "LOCALHOST"] {
        assert_eq!(asked(host), StatusCode::OK, "{host}");
    }
    for host in ["evil.example", "evil.example:8002", "localhost.evil.example", "10.0.0.1", ""] {
        assert_eq!(asked(host), StatusCode::MISDIRECTED_REQUEST, "{host}");
    }
}

#[test]
fn browsers_are_told_to_run_nothing_else() {
    let world = World::new(PLAIN);
    let routes = world.routes();
    for path in ["/", "/nothing", "/roi", "/assets/style.css"] {
        let answer = browse(&routes, path);
        let policy = answer.header(header::CONTENT_SECURITY_POLICY);
        assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
        assert_eq!(answer.header(header::X_CONTENT_TYPE_OPTIONS), "nosniff", "{path}");
    }
    for path in PAGES {
        let page = browse(&routes, path);
        assert!(!page.text().contains("style=\""), "{path}: the policy forbids such styles");
        assert!(!page.text().contains("<style"), "{path}");
    }
}

#[test]
fn a_huge_body_is_refused() {
    let world = World::new(PLAIN);
    let routes = world.guarded();
    let request = Request::post("/login")
        .header(header::HOST, "localhost")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    let body = Body::from(format!("token={}", "x".repeat(1 << 20)));
    let answer = ask(&routes, request.body(body).unwrap());
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    let post = Request::post("/failures").header(header::HOST, "localhost");
    let post = post.header(header::AUTHORIZATION, format!("Bearer {TOKEN}"));
    let refused = ask(&routes, post.body(Body::empty()).unwrap());
    assert_eq!(refused.status, StatusCode::METHOD_NOT_ALLOWED, "nothing can be changed");
}
