//! TLS.

use super::Section;
use crate::settings::spec::{INT_MAX, PORT_MAX, Spec};

pub(super) const TLS: Section = Section {
    title: "TLS",
    rows: &[
        Spec::integer("tls-port", (0, PORT_MAX), "0", "Port for TLS; 0 is none."),
        Spec::optional("tls-cert-file", "Certificate of the server."),
        Spec::optional("tls-key-file", "Key of the certificate."),
        Spec::optional("tls-key-file-pass", "Password of the key.").secret(),
        Spec::optional(
            "tls-client-cert-file",
            "Certificate for outgoing connections.",
        ),
        Spec::optional("tls-client-key-file", "Key for outgoing connections."),
        Spec::optional("tls-client-key-file-pass", "Password of that key.").secret(),
        Spec::optional("tls-dh-params-file", "Parameters for Diffie-Hellman."),
        Spec::optional("tls-ca-cert-file", "Certificates of trusted authorities."),
        Spec::optional(
            "tls-ca-cert-dir",
            "Folder of certificates of trusted authorities.",
        ),
        Spec::choice(
            "tls-auth-clients",
            &["no", "yes", "optional"],
            "yes",
            "Whether clients must show a certificate.",
        ),
        Spec::switch("tls-replication", "no", "Whether replication uses TLS."),
        Spec::switch("tls-cluster", "no", "Whether the cluster bus uses TLS."),
        Spec::optional("tls-protocols", "Versions of TLS that are spoken."),
        Spec::optional("tls-ciphers", "Ciphers up to TLS 1.2."),
        Spec::optional("tls-ciphersuites", "Cipher suites of TLS 1.3."),
        Spec::switch(
            "tls-prefer-server-ciphers",
            "no",
            "Whether the server's order of ciphers counts.",
        ),
        Spec::switch(
            "tls-session-caching",
            "yes",
            "Whether TLS sessions are resumed.",
        ),
        Spec::integer(
            "tls-session-cache-size",
            (0, INT_MAX),
            "20480",
            "TLS sessions kept.",
        ),
        Spec::integer(
            "tls-session-cache-timeout",
            (0, INT_MAX),
            "300",
            "Seconds for which a TLS session is kept.",
        ),
    ],
};
