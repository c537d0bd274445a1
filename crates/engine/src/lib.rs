//! Moves traffic: workload, arrival, stop, datapath and peer are five values given to one loop.
#![forbid(unsafe_code)]
