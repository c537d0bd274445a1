//! The data plane, as the executor's room has it.

pub use linerate_p4::{DataPlane, InjectError, Job, Plane};
