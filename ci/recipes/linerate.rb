# Homebrew on Linux. Not tested by this project: see README.md.
class Linerate < Formula
  desc "How fast a network path is, where it stops, and why"
  homepage "https://example.org/linerate"
  version "0.1.0"
  license any_of: ["MIT", "Apache-2.0"]
  depends_on :linux

  on_intel do
    url "https://example.org/linerate/linerate-0.1.0-x86-64.tar.xz"
    sha256 "put the line of SHA256SUMS here"
  end
  on_arm do
    url "https://example.org/linerate/linerate-0.1.0-aarch64.tar.xz"
    sha256 "put the line of SHA256SUMS here"
  end

  def install
    bin.install Dir["bin/*"]
    (prefix/"lib/linerate").install "lib/linerate/agents"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install Dir["share/bash-completion/completions/*"]
    zsh_completion.install Dir["share/zsh/vendor-completions/*"]
    fish_completion.install Dir["share/fish/vendor_completions.d/*"]
    doc.install Dir["share/doc/linerate/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/linerate --version")
  end
end
