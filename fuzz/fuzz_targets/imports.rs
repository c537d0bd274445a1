//! Whatever a log holds, every format refuses it or makes runs of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_model::spec::Transport;
use linerate_store::import::{ALL, HgrmHint, Hints, Line, TimeUnit, UnitStep, import_with};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, log)) = data.split_first() else {
        return;
    };
    let hints = Hints {
        zperf_units: [None, Some(UnitStep::Binary), Some(UnitStep::Decimal)][usize::from(choice) % 3],
        hgrm: (choice & 0x80 != 0).then_some(HgrmHint {
            transport: Transport::Udp,
            unit: TimeUnit::Micros,
        }),
        link_speed: None,
    };
    let both = [data, log].map(|log| ("log".to_owned(), log.to_vec()));
    for files in [&both[..1], &both[1..], &both[..]] {
        if let Err(error) = import_with(files, &hints) {
            assert!(!error.to_string().is_empty());
        }
    }
    // Also those that would not have recognised it.
    let text = String::from_utf8_lossy(data);
    for format in ALL {
        let mut reader = (format.reader)("log", &hints);
        for (index, text) in text.split('\n').enumerate() {
            reader.take(&Line {
                number: index + 1,
                text,
                writer: None,
                is_rest: false,
                has_end: true,
                is_last: false,
            });
        }
        reader.finish();
    }
});
