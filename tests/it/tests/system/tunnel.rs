//! A company's network: a proxy that tunnels (CONNECT) and remembers whom it was asked for, and behind it a model
//! server with a certificate of the company's own authority.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// A name that no resolver knows: only the proxy leads there.
pub(crate) const MODELS: &str = "models.invalid";

/// A proxy, and the authority that the server behind it is known by.
pub(crate) struct Tunnel {
    /// Where the proxy listens.
    pub(crate) addr: SocketAddr,
    /// The authority's certificate, in PEM.
    pub(crate) authority: PathBuf,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.authority);
    }
}

impl Tunnel {
    /// One that leads [`MODELS`] to `plain`, a server without TLS on this machine, and refuses everything else.
    pub(crate) async fn to(plain: SocketAddr) -> Self {
        let (authority, acceptor) = certificates();
        let (listener, addr) = listen().await;
        let file =
            std::env::temp_dir().join(format!("listen-authority-{}-{}.pem", std::process::id(), addr.port()));
        std::fs::write(&file, authority).expect("a file can be written");
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let heard = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, heard) = (acceptor.clone(), Arc::clone(&heard));
                tokio::spawn(async move { serve(stream, acceptor, plain, &heard).await });
            }
        });
        Self { addr, authority: file, asked }
    }

    /// The first lines of what the proxy was asked, without their versions.
    pub(crate) fn requests(&self) -> Vec<String> {
        let mut asked = self.asked.lock().expect("no thread panicked").clone();
        asked.sort_unstable();
        asked.dedup();
        asked
    }
}

async fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address is free");
    let addr = listener.local_addr().expect("a listener has an address");
    (listener, addr)
}

/// One connection of the proxy: for [`MODELS`] it is a server with TLS, any other host is answered as unknown.
async fn serve(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    plain: SocketAddr,
    heard: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let mut first = String::new();
    stream.read_line(&mut first).await.ok()?;
    let mut line = String::new();
    while stream.read_line(&mut line).await.ok()? > 2 {
        line.clear();
    }
    let asked = first.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    let is_known = asked == format!("CONNECT {MODELS}:443");
    heard.lock().ok()?.push(asked);
    let answer: &[u8] = if is_known { b"HTTP/1.1 200 OK\r\n\r\n" } else { b"HTTP/1.1 502 Nobody\r\n\r\n" };
    stream.write_all(answer).await.ok()?;
    if is_known {
        let mut within = acceptor.accept(stream).await.ok()?;
        let mut server = TcpStream::connect(plain).await.ok()?;
        copy_bidirectional(&mut within, &mut server).await.ok()?;
    }
    Some(())
}

/// An authority's certificate in PEM, and a server that shows one of [`MODELS`] which it signed.
fn certificates() -> (String, TlsAcceptor) {
    let key = KeyPair::generate().expect("a key");
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages.push(KeyUsagePurpose::KeyCertSign);
    let pem = authority.self_signed(&key).expect("a certificate").pem();
    let servers_key = KeyPair::generate().expect("a key");
    let server = CertificateParams::new(vec![MODELS.to_owned()]).expect("a name");
    let server = server.signed_by(&servers_key, &Issuer::new(authority, key)).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring knows them")
        .with_no_client_auth()
        .with_single_cert(
            vec![server.der().clone()],
            PrivateKeyDer::try_from(servers_key.serialize_der()).expect("a key"),
        )
        .expect("key and certificate belong together");
    (pem, TlsAcceptor::from(Arc::new(config)))
}
