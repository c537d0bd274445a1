use super::*;
use aws_lc_rs::encoding::AsDer as _;
use aws_lc_rs::rsa::{KeySize, PrivateDecryptingKey};
use std::sync::OnceLock;

const AT: u64 = 1_800_000_000;
/// SHA-256 of `{mario}rossi`, as in iperf3's manual.
const MARIO: &str = "mario,bf7a49a846d44b454a5d11e7acfaf13d138bbe0b7483aa3e050879700572709b";

/// Public and private half of a key, in X.509 and PKCS#8 form.
fn halves() -> &'static (Vec<u8>, Vec<u8>) {
    static KEY: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    KEY.get_or_init(|| {
        let key = PrivateDecryptingKey::generate(KeySize::Rsa2048).unwrap();
        let public = key.public_key().as_der().unwrap().as_ref().to_vec();
        (public, key.as_der().unwrap().as_ref().to_vec())
    })
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

fn public_pem() -> String {
    pem("PUBLIC KEY", &halves().0)
}

fn private_pem() -> String {
    pem("PRIVATE KEY", &halves().1)
}

fn login(password: &str, padding: Padding) -> Login {
    Login::new("mario", password, &public_pem(), padding).unwrap()
}

fn logins(padding: Padding) -> Logins {
    Logins::new(&format!("# users\n\n{MARIO}\n"), &private_pem(), padding).unwrap()
}

const BOTH: [Padding; 2] = [Padding::Oaep, Padding::Pkcs1];

#[test]
fn a_user_of_the_list_is_let_in_with_its_password_and_at_its_time() {
    for padding in BOTH {
        let gate = logins(padding);
        let admit = |password: &str, at| {
            let token = login(password, padding).token(at).unwrap();
            gate.admit(&token, AT)
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
    let token = login("rossi", Padding::Pkcs1).token(AT).unwrap();
    for token in [token.as_str(), "", "AAAA", "?", &"A".repeat(4096)] {
        let admitted = gate.admit(token, AT);
        assert_eq!(admitted, Err(LoginError::Unreadable), "{token}");
    }
}

#[test]
fn time_goes_on_in_a_session() {
    let began = MonoInstant::from_nanos(5);
    let moment = |unix| Moment {
        unix: Duration::from_secs(unix),
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
    // PKCS#1 is what the other forms of a key of 2048 bits hold, behind their head.
    let (public, private) = halves();
    let public = pem("RSA PUBLIC KEY", &public[24..]);
    let known = Login::new("mario", "rossi", &public, Padding::Oaep).unwrap();
    assert_eq!(known, login("rossi", Padding::Oaep));
    let private = pem("RSA PRIVATE KEY", &private[26..]);
    let known = Logins::new(MARIO, &private, Padding::Oaep).unwrap();
    assert_eq!(known, logins(Padding::Oaep));
    let error = Login::new("mario", "rossi", "not a key", Padding::Oaep).unwrap_err();
    assert!(error.to_string().contains("openssl"), "{error}");
    assert!(Logins::new(MARIO, &public, Padding::Oaep).is_err());
}

#[test]
fn a_list_names_its_wrong_line() {
    let pem = private_pem();
    for wrong in ["mario", "mario,1234", "mario,é", &MARIO.replace('b', "x")] {
        let error = Logins::new(&format!("{MARIO}\n{wrong}"), &pem, Padding::Oaep);
        assert_eq!(error, Err(LoginError::Line { line: 2 }), "{wrong}");
    }
}

#[test]
fn what_cannot_be_told_is_refused_and_nothing_is_shown() {
    let pem = public_pem();
    for (user, password) in [("", "x"), ("a\nb", "x"), ("a", "")] {
        let error = Login::new(user, password, &pem, Padding::Oaep).unwrap_err();
        assert!(matches!(error, LoginError::Text { .. }), "{error}");
    }
    let long = login(&"x".repeat(200), Padding::Oaep);
    assert!(matches!(long.token(AT), Err(LoginError::TooLong { .. })));
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
