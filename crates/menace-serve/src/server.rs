//! Connections: their number, timeouts, TLS, and shutdown.
//!
//! `http` answers the requests. Invariants: no port is open beyond this machine without a token; a
//! client that is slow, silent or does not read loses its connection; dropping an [`HttpServer`]
//! closes its port, after sending the last events to clients.

use std::net::{IpAddr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

use crate::error::{ServeError, ServeResult};
use crate::write_timeout::WriteTimeoutStream;

/// The largest head of a request.
const MAX_REQUEST_HEAD_BYTES: usize = 16 << 10;
/// Threads for queries of the store; more would only wait for the disk.
const BLOCKING_THREADS: usize = 8;
/// Time for answers in progress at shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// Announces the shutdown, so that event streams can end, too.
#[derive(Debug, Clone)]
pub(crate) struct ShutdownSignal(watch::Receiver<bool>);

impl ShutdownSignal {
    /// Returns when the server shuts down.
    pub(crate) async fn wait(&mut self) {
        // A sender that is gone has ended, too.
        let _ = self.0.wait_for(|stop| *stop).await;
    }
}

/// Limits for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// The most connections at a time; others wait in the kernel's queue.
    pub max_connections: usize,
    /// How long a client may leave an answer unread.
    pub write_timeout: Duration,
    /// From the first byte of a request to the end of its headers.
    pub head_timeout: Duration,
    /// Time for the TLS handshake.
    pub handshake_timeout: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        let timeout = Duration::from_secs(10);
        Self {
            max_connections: 128,
            write_timeout: timeout,
            head_timeout: timeout,
            handshake_timeout: timeout,
        }
    }
}

/// The address to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListenAddress {
    pub host: IpAddr,
    /// 0 for any free port.
    pub port: u16,
}

/// A certificate and its key, in files.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// Answers until it is dropped.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    is_secure: bool,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl HttpServer {
    pub fn start(
        address: ListenAddress,
        tls: Option<&TlsFiles>,
        routes: Router,
    ) -> ServeResult<Self> {
        Self::start_with_limits(address, tls, routes, ConnectionLimits::default())
    }

    /// Starts a server with these limits.
    pub fn start_with_limits(
        address: ListenAddress,
        tls: Option<&TlsFiles>,
        routes: Router,
        limits: ConnectionLimits,
    ) -> ServeResult<Self> {
        let requested = SocketAddr::new(address.host, address.port);
        let listen = |source| ServeError::Listen { address: requested.to_string(), source };
        let acceptor = tls.map(tls_acceptor).transpose()?;
        let is_secure = acceptor.is_some();
        let listener = TcpListener::bind(requested).map_err(listen)?;
        listener.set_nonblocking(true).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(BLOCKING_THREADS)
            .build()
            .map_err(ServeError::Runtime)?;
        let (stop, stopped) = watch::channel(false);
        let thread = thread::Builder::new()
            .name("menace-serve".into())
            .spawn(move || {
                runtime.block_on(accept_connections(listener, acceptor, routes, limits, stopped));
                // Queries in progress are not waited for.
                runtime.shutdown_background();
            })
            .map_err(ServeError::Runtime)?;
        Ok(Self { address, is_secure, stop, thread: Some(thread) })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address for a browser.
    pub fn url(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip(match address.ip() {
                IpAddr::V4(_) => IpAddr::from([127, 0, 0, 1]),
                IpAddr::V6(_) => IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]),
            });
        }
        format!("{scheme}://{address}/")
    }

    /// Waits until the process is ended from outside.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            // The thread ends with the process.
            let _ = thread.join();
        }
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept_connections(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    routes: Router,
    limits: ConnectionLimits,
    mut stopped: watch::Receiver<bool>,
) {
    let listener = match tokio::net::TcpListener::from_std(listener) {
        Ok(listener) => listener,
        Err(error) => return tracing::error!(%error, "cannot listen"),
    };
    let routes = routes.layer(Extension(ShutdownSignal(stopped.clone())));
    let places = Arc::new(Semaphore::new(limits.max_connections));
    loop {
        let place = {
            let stop = pin!(stopped.wait_for(|stop| *stop));
            match race_with_stop(pin!(Arc::clone(&places).acquire_owned()), stop).await {
                Some(Ok(place)) => place,
                _ => break,
            }
        };
        let stream = {
            let stop = pin!(stopped.wait_for(|stop| *stop));
            let next = pin!(listener.accept());
            match race_with_stop(next, stop).await {
                Some(Ok((stream, _))) => stream,
                Some(Err(error)) => {
                    // Probably there are no free descriptors at the moment.
                    tracing::debug!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
                None => break,
            }
        };
        let (routes, tls, stopped) = (routes.clone(), tls.clone(), stopped.clone());
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = serve_connection(stream, tls, routes, limits, stopped).await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    // No new connection is accepted; open ones end by themselves, or are closed.
    drop(listener);
    let all = u32::try_from(limits.max_connections).unwrap_or(u32::MAX);
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, places.acquire_many(all)).await;
}

/// The result of `next`, unless `stop` is ready first.
async fn race_with_stop<T>(
    next: impl Future<Output = T> + Unpin,
    stop: impl Future + Unpin,
) -> Option<T> {
    let (mut next, mut stop) = (next, stop);
    std::future::poll_fn(|context| {
        use std::task::Poll;
        if std::pin::Pin::new(&mut stop).poll(context).is_ready() {
            return Poll::Ready(None);
        }
        std::pin::Pin::new(&mut next).poll(context).map(Some)
    })
    .await
}

type ConnectionError = Box<dyn std::error::Error + Send + Sync>;

async fn serve_connection(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    routes: Router,
    limits: ConnectionLimits,
    stopped: watch::Receiver<bool>,
) -> std::result::Result<(), ConnectionError> {
    stream.set_nodelay(true)?;
    let stream = WriteTimeoutStream::new(stream, limits.write_timeout);
    match tls {
        None => serve_requests(stream, routes, limits, stopped).await,
        Some(tls) => {
            let stream =
                tokio::time::timeout(limits.handshake_timeout, tls.accept(stream)).await??;
            serve_requests(stream, routes, limits, stopped).await
        }
    }
}

async fn serve_requests(
    stream: impl AsyncRead + AsyncWrite + Unpin + 'static,
    routes: Router,
    limits: ConnectionLimits,
    mut stopped: watch::Receiver<bool>,
) -> std::result::Result<(), ConnectionError> {
    let service = TowerToHyperService::new(routes);
    let answering = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head_timeout)
        .max_buf_size(MAX_REQUEST_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service);
    let (mut answering, stop) = (pin!(answering), pin!(stopped.wait_for(|stop| *stop)));
    if let Some(result) = race_with_stop(answering.as_mut(), stop).await {
        return Ok(result?);
    }
    // Answers in progress are completed before the connection is closed.
    answering.as_mut().graceful_shutdown();
    Ok(answering.await?)
}

fn tls_acceptor(tls: &TlsFiles) -> ServeResult<TlsAcceptor> {
    let bad = |path: &Path, why: String| ServeError::Certificate { path: path.to_owned(), why };
    let certificates = CertificateDer::pem_file_iter(&tls.certificate)
        .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
        .map_err(|error| bad(&tls.certificate, error.to_string()))?;
    if certificates.is_empty() {
        return Err(bad(&tls.certificate, "there is none in it".into()));
    }
    let key =
        PrivateKeyDer::from_pem_file(&tls.key).map_err(|error| bad(&tls.key, error.to_string()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| bad(&tls.certificate, error.to_string()))?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| bad(&tls.certificate, error.to_string()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
