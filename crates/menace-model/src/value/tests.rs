//! Properties of all values.

mod generate;
mod notation;
mod source;
