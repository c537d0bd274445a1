# Nix, built from the repository: pkgs.callPackage ./ci/recipes/package.nix { }. Not tested by this project: see README.md.
{ lib, rustPlatform, cmake }:

rustPlatform.buildRustPackage {
  pname = "linerate";
  version = "0.1.0";
  src = lib.cleanSource ../..;
  cargoLock.lockFile = ../../Cargo.lock;
  cargoBuildFlags = [ "-p" "linerate-cli" "-p" "linerate-p4-cli" "-p" "linerate-web" ];
  nativeBuildInputs = [ cmake ];
  # Its tests make namespaces and open ports.
  doCheck = false;
  meta = {
    description = "How fast a network path is, where it stops, and why";
    license = with lib.licenses; [ mit asl20 ];
    platforms = lib.platforms.linux;
    mainProgram = "linerate";
  };
}
