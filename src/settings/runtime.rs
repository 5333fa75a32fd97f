//! CONFIG GET and CONFIG SET.

use super::spec::{Change, Spec};
use super::value::{Source, show};
use super::{Found, Settings, find, table};
use crate::store::glob;
use std::collections::HashSet;

/// What the connection that sends CONFIG SET may do at this moment.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    /// enable-protected-configs allows this connection to change protected settings.
    pub protected_allowed: bool,
    /// The data set is being loaded.
    pub loading: bool,
}

/// Why CONFIG SET changed nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetError {
    Unknown(Vec<u8>),
    Failed { name: Vec<u8>, reason: String },
    Loading,
}

impl SetError {
    /// The error line without `-` and line end. A name may hold any bytes.
    pub fn wire_text(&self) -> Vec<u8> {
        match self {
            SetError::Unknown(name) => {
                let text: &[u8] = b"ERR Unknown option or number of arguments for CONFIG SET - '";
                [text, name, b"'"].concat()
            }
            SetError::Failed { name, reason } => {
                let text: &[u8] = b"ERR CONFIG SET failed (possibly related to argument '";
                [text, name, b"') - ", reason.as_bytes()].concat()
            }
            SetError::Loading => b"LOADING Redis is loading the dataset in memory".to_vec(),
        }
    }
}

/// The words of a value that came as one text, as CONFIG SET cuts it: at each blank,
/// without quotes.
pub(super) fn command_words(spec: &Spec, text: &[u8]) -> Vec<Vec<u8>> {
    match (spec.kind.takes_many(), text) {
        (true, []) => Vec::new(),
        (true, _) => text
            .split(|&byte| byte == b' ')
            .map(<[u8]>::to_vec)
            .collect(),
        (false, _) => vec![text.to_vec()],
    }
}

impl Settings {
    /// The names and values that match any of the patterns, each name once. A name
    /// without `*`, `?` and `[` is looked up as it is, and answered as it was spelled.
    pub fn config_get(&self, patterns: &[&[u8]]) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut seen = HashSet::new();
        let mut answer = Vec::new();
        let mut add = |shown: &[u8], found: Found| {
            if seen.insert(found.shown) {
                answer.push((shown.to_vec(), show(found.spec, self.value(found))));
            }
        };
        for &pattern in patterns {
            if !pattern
                .iter()
                .any(|byte| matches!(byte, b'*' | b'?' | b'['))
            {
                if let Some(found) = find(pattern) {
                    add(pattern, found);
                }
                continue;
            }
            for (index, spec) in table::rows().enumerate().filter(|(_, spec)| !spec.hidden) {
                for shown in std::iter::once(spec.name).chain(spec.alias) {
                    if glob::matches(pattern, shown.as_bytes(), true) {
                        add(shown.as_bytes(), Found { spec, shown, index });
                    }
                }
            }
        }
        answer
    }

    /// Works out CONFIG SET without touching these settings: the new settings, and the
    /// names whose value is another than before, in the order given.
    pub fn propose(
        &self,
        pairs: &[(&[u8], &[u8])],
        access: Access,
    ) -> Result<(Settings, Vec<&'static str>), SetError> {
        let found = self.check_names(pairs, access)?;
        let mut proposed = self.clone();
        let mut changed = Vec::new();
        for (found, (_, text)) in found.iter().zip(pairs) {
            let words = command_words(found.spec, text);
            proposed
                .store(*found, &words, Source::Command)
                .map_err(|reason| SetError::Failed {
                    name: found.shown.into(),
                    reason,
                })?;
            if proposed.value(*found) != self.value(*found) {
                changed.push(found.spec.name);
            }
        }
        Ok((proposed, changed))
    }

    /// CONFIG SET: all pairs or none. `apply` gives one changed setting to the running
    /// server; when it refuses one, those already applied are applied again from the
    /// settings as they were, and nothing changes.
    pub fn config_set(
        &mut self,
        pairs: &[(&[u8], &[u8])],
        access: Access,
        mut apply: impl FnMut(&'static str, &Settings) -> Result<(), String>,
    ) -> Result<Vec<&'static str>, SetError> {
        let (proposed, changed) = self.propose(pairs, access)?;
        for (done, name) in changed.iter().enumerate() {
            let Err(reason) = apply(name, &proposed) else {
                continue;
            };
            for undone in &changed[..done] {
                // The old value was in force a moment ago; if it is refused now, there
                // is no better value to fall back to.
                let _ = apply(undone, self);
            }
            return Err(SetError::Failed {
                name: name.as_bytes().to_vec(),
                reason,
            });
        }
        *self = proposed;
        Ok(changed)
    }

    fn check_names(
        &self,
        pairs: &[(&[u8], &[u8])],
        access: Access,
    ) -> Result<Vec<Found>, SetError> {
        let mut names: Vec<Found> = Vec::with_capacity(pairs.len());
        for (name, _) in pairs {
            let failed = |reason: &str| SetError::Failed {
                name: name.to_vec(),
                reason: reason.into(),
            };
            let found = find(name).ok_or_else(|| SetError::Unknown(name.to_vec()))?;
            match found.spec.change {
                Change::AtStart => return Err(failed("can't set immutable config")),
                Change::Protected | Change::ProtectedNotWhileLoading
                    if !access.protected_allowed =>
                {
                    return Err(failed("can't set protected config"));
                }
                Change::NotWhileLoading | Change::ProtectedNotWhileLoading if access.loading => {
                    return Err(SetError::Loading);
                }
                _ => {}
            }
            // Redis keeps the alias of a setting apart from its name here.
            if names.iter().any(|other| other.shown == found.shown) {
                return Err(failed("duplicate parameter"));
            }
            names.push(found);
        }
        Ok(names)
    }
}

/// Whether the value of a setting must not be shown in logs, MONITOR and SLOWLOG.
pub fn is_secret(name: &[u8]) -> bool {
    find(name).is_some_and(|found| found.spec.secret)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Access = Access {
        protected_allowed: true,
        loading: false,
    };

    fn pairs<'a>(texts: &[(&'a str, &'a str)]) -> Vec<(&'a [u8], &'a [u8])> {
        texts
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .collect()
    }

    #[test]
    fn all_or_nothing() {
        let mut settings = Settings::default();
        let before = settings.clone();
        let refused =
            settings.config_set(&pairs(&[("hz", "20"), ("timeout", "x")]), FREE, |_, _| {
                panic!("nothing may be applied")
            });
        assert!(matches!(refused, Err(SetError::Failed { .. })));
        assert_eq!(settings, before);
        let changed = settings
            .config_set(&pairs(&[("hz", "20"), ("timeout", "0")]), FREE, |_, _| {
                Ok(())
            })
            .unwrap();
        assert_eq!(changed, ["hz"]);
        assert_eq!(settings.hz, 20);
    }

    #[test]
    fn a_refused_application_is_rolled_back() {
        let mut settings = Settings::default();
        let before = settings.clone();
        let mut applied = Vec::new();
        let result = settings.config_set(
            &pairs(&[("hz", "20"), ("port", "7000"), ("timeout", "5")]),
            FREE,
            |name, new| {
                applied.push((name, new.get(name).unwrap()));
                let reason = "Unable to listen on this port. Check server logs.";
                if name == "port" {
                    Err(reason.into())
                } else {
                    Ok(())
                }
            },
        );
        let error = result.unwrap_err();
        assert_eq!(
            String::from_utf8(error.wire_text()).unwrap(),
            "ERR CONFIG SET failed (possibly related to argument 'port') - \
             Unable to listen on this port. Check server logs."
        );
        let expected = [("hz", "20"), ("port", "7000"), ("hz", "10")];
        assert_eq!(
            applied,
            expected.map(|(name, value)| (name, value.to_string()))
        );
        assert_eq!(settings, before);
    }

    #[test]
    fn protected_and_loading() {
        let mut settings = Settings::default();
        let guarded = Access {
            protected_allowed: false,
            loading: false,
        };
        let set = |settings: &mut Settings, name, value, access| {
            let result = settings.config_set(&pairs(&[(name, value)]), access, |_, _| Ok(()));
            result
                .map(|_| ())
                .map_err(|error| String::from_utf8(error.wire_text()).unwrap())
        };
        let refused = set(&mut settings, "dbfilename", "x.rdb", guarded).unwrap_err();
        assert!(refused.ends_with("can't set protected config"), "{refused}");
        assert_eq!(set(&mut settings, "dbfilename", "x.rdb", FREE), Ok(()));
        let loading = Access {
            protected_allowed: true,
            loading: true,
        };
        let refused = set(&mut settings, "appendonly", "yes", loading).unwrap_err();
        assert_eq!(refused, "LOADING Redis is loading the dataset in memory");
        let refused = set(&mut settings, "dir", "/no/such/folder", FREE).unwrap_err();
        assert!(
            refused.ends_with("- No such file or directory"),
            "{refused}"
        );
        assert_eq!(set(&mut settings, "dir", "/", FREE), Ok(()));
        assert_eq!(settings.get("dir").unwrap(), "/");
    }

    #[test]
    fn settings_from_inside_may_be_immutable() {
        let mut settings = Settings::default();
        assert_eq!(settings.set_from_inside("port", "7123"), Ok(()));
        assert_eq!(settings.port, 7123);
        assert_eq!(settings.set_from_inside("databases", "4"), Ok(()));
        assert_eq!(settings.databases, 4);
        assert!(settings.set_from_inside("databases", "0").is_err());
    }

    #[test]
    fn passwords_are_secret() {
        assert!(is_secret(b"RequirePass") && is_secret(b"masterauth"));
        assert!(!is_secret(b"maxmemory") && !is_secret(b"nothing"));
    }
}
