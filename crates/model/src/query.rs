//! The part of an address that follows its question mark: `name=value&name=value`.

use std::path::PathBuf;

/// The parameters of an address, in their order.
#[derive(Debug, Clone)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads `name=value&name=value`; why it cannot be.
    pub fn read(query: &str) -> Result<Self, String> {
        let parts = query.split('&').filter(|part| !part.is_empty());
        let pair = |part: &str| {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("\"{part}\" is not name=value"))?;
            Ok((key.to_owned(), value.to_owned()))
        };
        parts.map(pair).collect::<Result<_, _>>().map(Self)
    }

    /// The value of `key`, which is then used up.
    pub fn take(&mut self, key: &str) -> Option<String> {
        let position = self.0.iter().position(|(found, _)| found == key)?;
        Some(self.0.remove(position).1)
    }

    /// The address of a device in the network under test, which is then used up.
    pub fn host(&mut self) -> Result<String, String> {
        let host = self.take("host");
        let host = host.ok_or("host=, the board's address in the network, is missing")?;
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c == '/') {
            return Err(format!("\"{host}\" is not a host's name or address"));
        }
        Ok(host)
    }

    /// The value of `key`, a number above zero, or `otherwise`.
    pub fn number<N>(&mut self, key: &str, otherwise: N) -> Result<N, String>
    where
        N: std::str::FromStr + Default + PartialEq,
    {
        let Some(text) = self.take(key) else {
            return Ok(otherwise);
        };
        let number = text.parse().ok().filter(|n| *n != N::default());
        number.ok_or_else(|| format!("{key}={text} is not a number in its range"))
    }

    /// Refuses what nobody has taken; `known` is what there may be.
    pub fn end(self, known: &[&str]) -> Result<(), String> {
        let Some((key, _)) = self.0.first() else {
            return Ok(());
        };
        Err(format!(
            "there is no {key}=; there are {}",
            known.join(", ")
        ))
    }
}

/// The serial line that an address names before its question mark.
pub fn device(place: &str) -> Result<PathBuf, String> {
    if !place.starts_with('/') {
        return Err("a serial line is a path such as /dev/ttyUSB0, after two slashes".to_owned());
    }
    Ok(PathBuf::from(place))
}
