use super::*;
use rsa::pkcs1::{EncodeRsaPrivateKey as _, EncodeRsaPublicKey as _};
use rsa::pkcs8::{EncodePrivateKey as _, EncodePublicKey as _, LineEnding};
use std::sync::OnceLock;

const AT: u64 = 1_800_000_000;
/// SHA-256 of `{mario}rossi`, as in iperf3's manual.
const MARIO: &str = "mario,bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b";

/// A key that is large enough for tests only: quickly made.
fn key() -> &'static RsaPrivateKey {
    static KEY: OnceLock<RsaPrivateKey> = OnceLock::new();
    KEY.get_or_init(|| RsaPrivateKey::new(&mut Expanded::new(&[1; SEED]), 1024).unwrap())
}

fn login(password: &str, padding: Padding) -> Login {
    let pem = key()
        .to_public_key()
        .to_public_key_pem(LineEnding::LF)
        .unwrap();
    Login::new("mario", password, &pem, padding).unwrap()
}

fn logins(padding: Padding) -> Logins {
    let pem = key().to_pkcs8_pem(LineEnding::LF).unwrap();
    Logins::new(&format!("# users\n\n{MARIO}\n"), &pem, padding).unwrap()
}

const BOTH: [Padding; 2] = [Padding::Oaep, Padding::Pkcs1];

#[test]
fn a_user_of_the_list_is_let_in_with_its_password_and_at_its_time() {
    for padding in BOTH {
        let gate = logins(padding);
        let admit = |password: &str, at| {
            let token = login(password, padding).token(at, &[2; SEED]).unwrap();
            gate.admit(&token, AT, &[3; SEED])
        };
        for at in [AT, AT - 10, AT + 10] {
            assert_eq!(admit("rossi", at), Ok("mario".to_owned()));
        }
        assert_eq!(
            admit("rossi", AT - 11),
            Err(LoginError::Skew { seconds: 11 })
        );
        assert_eq!(
            admit("rossi", AT + 11),
            Err(LoginError::Skew { seconds: 11 })
        );
        let user = "mario".to_owned();
        assert_eq!(admit("verdi", AT), Err(LoginError::Wrong { user }));
    }
}

#[test]
fn another_padding_key_or_text_is_unreadable() {
    let gate = logins(Padding::Oaep);
    let token = login("rossi", Padding::Pkcs1)
        .token(AT, &[2; SEED])
        .unwrap();
    for token in [token.as_str(), "", "AAAA", "?", &"A".repeat(4096)] {
        let admitted = gate.admit(token, AT, &[3; SEED]);
        assert_eq!(admitted, Err(LoginError::Unreadable), "{token}");
    }
}

#[test]
fn time_goes_on_in_a_session() {
    let (began, seed) = (MonoInstant::from_nanos(5), [4; SEED]);
    let moment = |unix| Moment {
        unix: Duration::from_secs(unix),
        seed,
    };
    let shown = LoginAttempt {
        login: Arc::new(login("rossi", Padding::Oaep)),
        moment: moment(AT),
    };
    let gate = Gate {
        logins: Arc::new(logins(Padding::Oaep)),
        moment: moment(AT + 60),
    };
    let token = shown
        .token(began, began.after(Duration::from_mins(1)))
        .unwrap();
    assert_eq!(
        gate.admit(Some(&token), began, began),
        Ok("mario".to_owned())
    );
    let token = shown.token(began, began).unwrap();
    assert!(gate.admit(Some(&token), began, began).is_err());
    assert_eq!(gate.admit(None, began, began), Err(LoginError::Nothing));
}

#[test]
fn keys_of_both_forms_are_read_and_others_are_told_with_a_remedy() {
    let public = key().to_public_key().to_pkcs1_pem(LineEnding::LF).unwrap();
    Login::new("mario", "rossi", &public, Padding::Oaep).unwrap();
    let private = key().to_pkcs1_pem(LineEnding::LF).unwrap();
    Logins::new(MARIO, &private, Padding::Oaep).unwrap();
    let error = Login::new("mario", "rossi", "not a key", Padding::Oaep).unwrap_err();
    assert!(error.to_string().contains("openssl"), "{error}");
    assert!(Logins::new(MARIO, &public, Padding::Oaep).is_err());
}

#[test]
fn a_list_names_its_wrong_line() {
    let pem = key().to_pkcs8_pem(LineEnding::LF).unwrap();
    for wrong in ["mario", "mario,1234", "mario,é", &MARIO.replace('b', "x")] {
        let error = Logins::new(&format!("{MARIO}\n{wrong}"), &pem, Padding::Oaep);
        assert_eq!(error, Err(LoginError::Line { line: 2 }), "{wrong}");
    }
}

#[test]
fn what_cannot_be_told_is_refused_and_nothing_is_shown() {
    let pem = key()
        .to_public_key()
        .to_public_key_pem(LineEnding::LF)
        .unwrap();
    for (user, password) in [("", "x"), ("a\nb", "x"), ("a", "")] {
        let error = Login::new(user, password, &pem, Padding::Oaep).unwrap_err();
        assert!(matches!(error, LoginError::Text { .. }), "{error}");
    }
    let long = login(&"x".repeat(200), Padding::Oaep);
    assert!(matches!(
        long.token(AT, &[0; SEED]),
        Err(LoginError::TooLong { .. })
    ));
    let shown = format!(
        "{:?} {:?}",
        login("rossi", Padding::Oaep),
        logins(Padding::Oaep)
    );
    assert!(
        !shown.contains("rossi") && !shown.contains("bf7a"),
        "{shown}"
    );
}
