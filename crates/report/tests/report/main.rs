//! The report as its readers get it: golden texts and data, hostile strings, a real browser.
#![forbid(unsafe_code)]

#[cfg(test)]
mod accessible;
#[cfg(test)]
mod bounds;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod comparison;
#[cfg(test)]
mod devices;
#[cfg(test)]
mod footprint;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod messages;
#[cfg(test)]
mod path;
#[cfg(test)]
mod pictures;
#[cfg(test)]
mod poison;
#[cfg(test)]
mod runs;
#[cfg(test)]
mod sampled;
#[cfg(test)]
mod studies;
#[cfg(test)]
mod vendored;
