//! Registers of devices, each 32 bits wide.

/// A block of registers at a fixed address.
#[derive(Debug, Clone, Copy)]
pub struct Registers(usize);

impl Registers {
    /// The block at `address`.
    ///
    /// # Safety
    /// A device's registers begin there, as long as the program runs; what is read and written beyond its last one is
    /// the caller's fault too.
    pub const unsafe fn at(address: usize) -> Self {
        Self(address)
    }

    /// Reads the register at `offset`.
    pub fn read(self, offset: usize) -> u32 {
        let register = core::ptr::with_exposed_provenance::<u32>(self.0 + offset);
        // SAFETY: a register of the device, by the contract of `at`.
        unsafe { register.read_volatile() }
    }

    /// Writes the register at `offset`.
    pub fn write(self, offset: usize, value: u32) {
        let register = core::ptr::with_exposed_provenance_mut::<u32>(self.0 + offset);
        // SAFETY: a register of the device, by the contract of `at`.
        unsafe { register.write_volatile(value) }
    }
}
