//! The page to speak to and the chat: their files, as they are served below `/live`. `page.js` and `chat.js` are what a user
//! sees and does, `socket.js` the protocol, `microphone.js` the audio. Nothing comes from elsewhere.

/// What a browser may do with it: its own script, style and socket.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// Every file: where it is served, what it is, and its text.
pub(crate) const FILES: [(&str, &str, &str); 8] = [
    ("/live", HTML, include_str!("page.html")),
    ("/live/style.css", STYLE, include_str!("style.css")),
    ("/live/page.js", SCRIPT, include_str!("page.js")),
    ("/live/socket.js", SCRIPT, include_str!("socket.js")),
    ("/live/microphone.js", SCRIPT, include_str!("microphone.js")),
    ("/live/chat", HTML, include_str!("chat.html")),
    ("/live/chat.css", STYLE, include_str!("chat.css")),
    ("/live/chat.js", SCRIPT, include_str!("chat.js")),
];

/// The frames of the sockets, as AsyncAPI 3.
pub(crate) const FRAMES: &str = include_str!("../asyncapi.json");
