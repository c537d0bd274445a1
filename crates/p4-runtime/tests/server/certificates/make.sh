#!/bin/sh -e
# Makes the certificates of the tests anew, for a hundred years: sh make.sh, with OpenSSL 3.
authority() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 36500 -subj "/CN=$1" \
        -addext keyUsage=critical,keyCertSign -keyout "$1.authority" -out "$1.pem"
}
# NAME AUTHORITY SUBJECT
signed() {
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj "/CN=$1" \
        -addext "subjectAltName=$3" -keyout "$1.key" -out "$1.request"
    openssl x509 -req -in "$1.request" -CA "$2.pem" -CAkey "$2.authority" -days 36500 \
        -copy_extensions copy -out "$1.pem"
}
authority servers
authority clients
signed loopback servers IP:127.0.0.1
signed named servers DNS:switch.example
signed stranger servers DNS:controller.example
signed controller clients DNS:controller.example
rm ./*.request ./*.authority
