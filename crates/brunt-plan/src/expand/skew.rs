//! How the rate of a run is shared by its workloads.

/// What a workload says about its share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Claim {
    /// `skew=`; 0 is unset.
    pub(crate) skew: Option<f64>,
    /// Whether it has a rate of its own and so takes no share.
    pub(crate) own_rate: bool,
}

/// The share of each workload in percent, `None` for those with a rate of their own
/// (`docs/vdbench/raw.md` §8.11): what is given stays, the rest to 100 is divided equally among the others. When the
/// given ones already reach 100 the others get nothing, or less than nothing.
///
/// # Errors
/// The total, when every share is given and they do not add up to 100.
pub(crate) fn shares(claims: &[Claim]) -> Result<Vec<Option<f64>>, f64> {
    const TOLERANCE: f64 = 0.0001;
    let given = |claim: &Claim| claim.skew.filter(|s| *s != 0.0);
    let sharing = claims.iter().filter(|c| !c.own_rate);
    let total: f64 = sharing.clone().filter_map(given).sum();
    let unset = sharing.clone().filter(|c| given(c).is_none()).count();
    if unset == 0 && sharing.count() > 0 && (total - 100.0).abs() > TOLERANCE {
        return Err(total);
    }
    let rest = (100.0 - total) / unset.max(1) as f64;
    let rest = if rest.abs() < TOLERANCE { 0.0 } else { rest };
    Ok(claims.iter().map(|c| if c.own_rate { None } else { Some(given(c).unwrap_or(rest)) }).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claims(list: &[f64]) -> Vec<Claim> {
        list.iter().map(|s| Claim { skew: (*s != 0.0).then_some(*s), own_rate: false }).collect()
    }

    #[test]
    fn worked_examples_of_the_specification() {
        assert_eq!(shares(&claims(&[60.0, 0.0, 0.0])), Ok(vec![Some(60.0), Some(20.0), Some(20.0)]));
        assert_eq!(shares(&claims(&[60.0, 40.0, 0.0])), Ok(vec![Some(60.0), Some(40.0), Some(0.0)]));
        assert_eq!(shares(&claims(&[120.0, 0.0])), Ok(vec![Some(120.0), Some(-20.0)]));
        assert_eq!(shares(&claims(&[50.0])), Err(50.0));
        assert_eq!(shares(&claims(&[60.0, 60.0])), Err(120.0));
        assert_eq!(shares(&claims(&[0.0])), Ok(vec![Some(100.0)]));
        assert!(shares(&claims(&[33.33335, 33.33335, 33.33335])).is_ok());
    }

    #[test]
    fn workloads_with_a_rate_of_their_own_stay_outside() {
        let mut list = claims(&[0.0, 0.0, 0.0]);
        list[0].own_rate = true;
        assert_eq!(shares(&list), Ok(vec![None, Some(50.0), Some(50.0)]));
        assert_eq!(shares(&list[..1]), Ok(vec![None]));
    }

    proptest! {
        #[test]
        fn shares_add_up_to_a_hundred(given in prop::collection::vec(0.0f64..30.0, 0..4), unset in 1usize..5) {
            let mut list = claims(&given);
            list.extend(claims(&vec![0.0; unset]));
            let sum: f64 = shares(&list).unwrap().into_iter().flatten().sum();
            prop_assert!((sum - 100.0).abs() < 0.001, "{sum}");
        }
    }
}
