//! `linerate board image`: its arguments, and what it prints.

use super::board_equipment::{EquipmentArgs, notes};
use crate::args::output::OutputArgs;
use crate::args::values::size;
use crate::terminal;
use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;
use linerate_boards::{
    Addressing, BoardName, ImageOrder, KernelOption, MadeImage, OptionState, Order, Profile,
    make_image,
};
use linerate_model::ByteCount;
use linerate_model::exit::{ExitCode, Failure};
use serde_json::{Value, json};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Arguments of `board image`.
#[derive(Debug, Clone, Args)]
pub(super) struct ImageArgs {
    #[command(flatten)]
    equipment: EquipmentArgs,
    /// What the image is for: packages, and the kernel options that are looked for.
    #[arg(long, value_delimiter = ',', default_value = "measure", value_parser = PossibleValuesParser::new(Profile::names()))]
    profile: Vec<String>,
    /// The name that the board calls itself.
    #[arg(long, default_value = "linerate")]
    name: BoardName,
    /// Address of the board's first interface, with the length of its prefix [default: asked for by DHCP].
    #[arg(long, value_name = "ADDRESS/LENGTH", value_parser = prefixed)]
    address: Option<String>,
    /// The way to other networks.
    #[arg(long, value_name = "ADDRESS", requires = "address")]
    gateway: Option<IpAddr>,
    /// Keys that may log in as root by ssh [default: no ssh; the serial console has a shell].
    #[arg(long, value_name = "FILE")]
    authorized_keys: Option<PathBuf>,
    /// Size of the image, a power of two [default: the least that holds it].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    size: Option<ByteCount>,
    /// Word for the kernel's command line, such as `isolcpus=2`; once for each.
    #[arg(long, value_name = "WORD")]
    kernel_option: Vec<String>,
    /// linerate for the board, as for `board up`.
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
}

/// An address with the length of its prefix.
fn prefixed(text: &str) -> Result<String, String> {
    let parts = text.split_once('/').and_then(|(address, length)| {
        let address: IpAddr = address.parse().ok()?;
        let length: u8 = length.parse().ok()?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        (length <= most).then(|| format!("{address}/{length}"))
    });
    parts.ok_or_else(|| "an address with the length of its prefix is like 192.0.2.7/24".to_owned())
}

impl ImageArgs {
    /// Makes the image, and says what is in it.
    pub(super) fn run(&self, output: &OutputArgs) -> Result<()> {
        let Some(path) = &output.output else {
            let message = "`linerate board image` writes a file: name it with -o sd.img";
            return Err(Failure::new(ExitCode::Usage, message).into());
        };
        let order = self.order(path)?;
        let made = make_image(&order, &self.equipment.places()?, &mut notes(output))?;
        if output.json || output.stream {
            let document = document(&order, &made);
            return terminal::print_line(&serde_json::to_string_pretty(&document)?);
        }
        print(&order, &made)
    }

    fn order(&self, path: &Path) -> Result<ImageOrder, Failure> {
        let usual = Order::new(self.name.clone(), self.equipment.equipment()?);
        let profiles = self.profile.iter().filter_map(|name| Profile::find(name));
        Ok(ImageOrder {
            board: Order {
                kernel_options: self.kernel_option.clone(),
                agent: self.agent.clone(),
                ..usual
            },
            profiles: profiles.collect(),
            address: match &self.address {
                None => Addressing::Dhcp,
                Some(address) => Addressing::Fixed {
                    address: address.clone(),
                    gateway: self.gateway.map(|gateway| gateway.to_string()),
                },
            },
            authorized_keys: self.authorized_keys.clone(),
            size: self.size,
            output: path.to_owned(),
        })
    }
}

fn print(order: &ImageOrder, made: &MadeImage) -> Result<()> {
    terminal::print_line(&format!(
        "{}: {}, {}, Linux {}, {} packages",
        order.output.display(),
        made.size,
        order.board.equipment.machine,
        made.kernel,
        made.packages
    ))?;
    terminal::print_line(&format!("  bill of materials  {}", made.bill.display()))?;
    for profile in &order.profiles {
        for state in [
            OptionState::Present,
            OptionState::Module,
            OptionState::Absent,
        ] {
            let names = names(&made.options, profile.name, state);
            if !names.is_empty() {
                let (profile, many) = (profile.name, names.len());
                terminal::print_line(&format!(
                    "  kernel options of {profile}, {state} ({many}): {}",
                    names.join(", ")
                ))?;
            }
        }
    }
    terminal::print_line(&format!("  in QEMU  {}", made.emulation.join(" ")))
}

fn names(options: &[KernelOption], profile: &str, state: OptionState) -> Vec<&'static str> {
    let all = options.iter();
    let those = all.filter(|option| option.profile == profile && option.state == state);
    those.map(|option| option.name).collect()
}

fn document(order: &ImageOrder, made: &MadeImage) -> Value {
    let machine = order.board.equipment.machine;
    json!({
        "image": order.output,
        "size_bytes": made.size,
        "machine": machine.name,
        "architecture": machine.arch,
        "kernel_release": made.kernel,
        "packages": made.packages,
        "bill_of_materials": made.bill,
        "kernel_options": made.options,
        "emulation": made.emulation,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_length_of_its_prefix() {
        assert_eq!(prefixed("10.1.2.3/24").as_deref(), Ok("10.1.2.3/24"));
        assert_eq!(prefixed("fd00::1/64").as_deref(), Ok("fd00::1/64"));
        for text in [
            "10.1.2.3",
            "10.1.2.3/33",
            "10.1.2/24",
            "10.1.2.3/24 quiet",
            "/24",
        ] {
            assert!(prefixed(text).is_err(), "{text}");
        }
    }
}
