//! Simulated devices: `lun=sim:NAME` with their keys in `misc=` (`docs/vdbench/decisions.md`).

use brunt_parm::misc::sim_key;

use crate::work::SimSpec;

/// What begins the path of a simulated device.
pub(crate) const PREFIX: &str = "sim:";

/// Keys of a simulated device, behind `sim.NAME.`.
pub(crate) const KEYS: [&str; 9] = ["hit", "miss", "jitter", "errors", "freeze", "size", "clock", "raw", "hitarea"];

/// Size of a simulated device that says nothing.
const DEFAULT_SIZE: u64 = 1 << 30;

/// The name of a simulated device, when a path is one.
pub(crate) fn name_of(lun: &str) -> Option<&str> {
    lun.strip_prefix(PREFIX)
}

/// The device called `name`, made from all keys of `misc=`. `size` and `hit_area` are those of the SD.
///
/// # Errors
/// A sentence that names the key and what is wrong with its value.
pub(crate) fn spec(name: &str, misc: &[(String, String)], size: Option<u64>, hit_area: u64) -> Result<SimSpec, String> {
    let mut spec = SimSpec {
        size: size.unwrap_or(DEFAULT_SIZE),
        hit_area,
        hit_ns: 0,
        miss_ns: 0,
        jitter_ns: 0,
        error_rate: 0.0,
        freeze: None,
        virtual_clock: false,
        raw: true,
    };
    let mut miss_given = false;
    for (key, value) in misc {
        if let Some((_, field)) = sim_key(key).filter(|(device, _)| *device == name) {
            set(&mut spec, field, value).map_err(|why| format!("misc={key}={value}: {why}"))?;
            miss_given |= field == "miss";
        }
    }
    if !miss_given {
        spec.miss_ns = spec.hit_ns;
    }
    Ok(spec)
}

/// Puts one value in.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn set(spec: &mut SimSpec, field: &str, value: &str) -> Result<(), String> {
    match field {
        "hit" => spec.hit_ns = time_ns(value)?,
        "miss" => spec.miss_ns = time_ns(value)?,
        "jitter" => spec.jitter_ns = time_ns(value)?,
        "errors" => spec.error_rate = fraction(value)?,
        "freeze" => {
            let (every, length) = value.split_once('/').ok_or("two times are needed, as in 10s/500m")?;
            let (every_ns, length_ns) = (time_ns(every)?, time_ns(length)?);
            if length_ns >= every_ns {
                return Err(format!(
                    "this is a freeze of {length} every {every}: it must be over before the next begins, as in 10s/500m"
                ));
            }
            spec.freeze = Some((every_ns, length_ns));
        }
        "size" => spec.size = bytes(value)?,
        "hitarea" => spec.hit_area = bytes(value)?,
        "clock" => {
            spec.virtual_clock = match value {
                "virtual" => true,
                "real" => false,
                _ => return Err("it is virtual or real".to_owned()),
            }
        }
        "raw" => {
            spec.raw = match value {
                "yes" => true,
                "no" => false,
                _ => return Err("it is yes or no".to_owned()),
            }
        }
        _ => return Err(format!("a simulated device has no key `{field}`; it has {}", KEYS.join(", "))),
    }
    Ok(())
}

/// A time: plain or `u` are microseconds, `n` nanoseconds, `m` milliseconds, `s` seconds.
fn time_ns(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.chars().last() {
        Some('n') => (&text[..text.len() - 1], 1.0),
        Some('u') => (&text[..text.len() - 1], 1e3),
        Some('m') => (&text[..text.len() - 1], 1e6),
        Some('s') => (&text[..text.len() - 1], 1e9),
        _ => (text, 1e3),
    };
    const LONGEST_NS: f64 = 86_400e9;
    match digits.parse::<f64>() {
        Ok(n) if n >= 0.0 && n * unit <= LONGEST_NS => Ok((n * unit).round() as u64),
        _ => Err("a time is a number with n, u, m or s (39u, 2m, 1s), at most a day".to_owned()),
    }
}

/// A share: `0.001` or `0.1%`.
fn fraction(text: &str) -> Result<f64, String> {
    let (digits, unit) = text.strip_suffix('%').map_or((text, 1.0), |t| (t, 100.0));
    match digits.parse::<f64>() {
        Ok(n) if (0.0..=1.0).contains(&(n / unit)) => Ok(n / unit),
        _ => Err("it is a fraction from 0 to 1 or a percentage (0.1%)".to_owned()),
    }
}

/// A size with k, m, g or t and an optional b.
fn bytes(text: &str) -> Result<u64, String> {
    let lower = text.to_ascii_lowercase();
    let trimmed = lower.strip_suffix('b').unwrap_or(&lower);
    let (digits, unit) = match trimmed.chars().last() {
        Some('k') => (&trimmed[..trimmed.len() - 1], 1u64 << 10),
        Some('m') => (&trimmed[..trimmed.len() - 1], 1 << 20),
        Some('g') => (&trimmed[..trimmed.len() - 1], 1 << 30),
        Some('t') => (&trimmed[..trimmed.len() - 1], 1 << 40),
        _ => (trimmed, 1),
    };
    const LARGEST: f64 = (1u64 << 60) as f64;
    match digits.parse::<f64>() {
        Ok(n) if n >= 0.0 && n * unit as f64 <= LARGEST => Ok((n * unit as f64) as u64),
        _ => Err("a size is a number with k, m, g or t (64m), at most 1024 pebibytes".to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn misc(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn a_device_without_keys_is_a_raw_gibibyte_in_real_time() {
        let spec = spec("a", &[], None, 1 << 20).unwrap();
        assert_eq!((spec.size, spec.hit_area, spec.raw, spec.virtual_clock), (1 << 30, 1 << 20, true, false));
    }

    #[test]
    fn every_key_is_read() {
        let keys = misc(&[
            ("sim.a.hit", "39"),
            ("sim.a.miss", "2m"),
            ("sim.a.jitter", "500n"),
            ("sim.a.errors", "0.1%"),
            ("sim.a.freeze", "10s/500m"),
            ("sim.a.size", "64m"),
            ("sim.a.clock", "virtual"),
            ("sim.a.raw", "no"),
            ("sim.a.hitarea", "8mb"),
            ("sim.b.hit", "1s"),
        ]);
        let spec = spec("a", &keys, Some(1), 2).unwrap();
        assert_eq!(
            spec,
            SimSpec {
                size: 64 << 20,
                hit_area: 8 << 20,
                hit_ns: 39_000,
                miss_ns: 2_000_000,
                jitter_ns: 500,
                error_rate: 0.001,
                freeze: Some((10_000_000_000, 500_000_000)),
                virtual_clock: true,
                raw: false,
            }
        );
    }

    #[test]
    fn without_a_miss_time_everything_takes_the_hit_time() {
        assert_eq!(spec("a", &misc(&[("sim.a.hit", "39u")]), None, 0).unwrap().miss_ns, 39_000);
    }

    #[test]
    fn bad_values_say_what_is_expected() {
        for (key, value) in [
            ("hit", "fast"),
            ("hit", "-1"),
            ("hit", "é"),
            ("hit", ""),
            ("errors", "2"),
            ("freeze", "1s"),
            ("freeze", "1s/2s"),
            ("size", "1e30"),
            ("clock", "wall"),
            ("banana", "1"),
        ] {
            let mut spec = spec("a", &[], None, 0).unwrap();
            assert!(set(&mut spec, key, value).is_err(), "{key}={value}");
        }
    }
}
