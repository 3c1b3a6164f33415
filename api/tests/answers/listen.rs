//! The live sockets, over real connections.

mod audio;
mod documented;
mod doors;
mod ends;
mod engine;
mod faults;
mod hostile;
mod life;
mod line;
mod webhook;
