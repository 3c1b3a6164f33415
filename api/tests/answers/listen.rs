//! The live sockets, over real connections.

mod audio;
mod doors;
mod ends;
mod engine;
mod life;
mod line;
mod webhook;
