//! What has to hold for every value.

mod generate;
mod notation;
mod source;
