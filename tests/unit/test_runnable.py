"""What no sandbox can run: commands that need the network, an init system, a screen."""

import pytest

from procexec.execute.runnable import needs_network


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("git clone https://git.example.test/x.git", "git.example.test"),
        ("git clone -b main https://git.example.test/x d", "git.example.test"),
        ("git clone git@example.test:me/x.git", "example.test"),
        ("git clone ssh://git@example.test:2222/x", "example.test"),
        ("git submodule add https://example.test/x", "example.test"),
        ("git push https://user:pw@example.test/x main", "example.test"),
        ("curl -fsSL -o f https://example.test/", "example.test"),
        ("cd x && sudo -u dev wget http://example.test/f", "example.test"),
        ("env A=1 /usr/bin/curl https://example.test", "example.test"),
        ("curl https://<host>/x", "<host>"),
        ("ssh -p 22 me@example.test ls", "example.test"),
        ("scp f me@example.test:/srv/", "example.test"),
        ("rsync -a a/ example.test:b/", "example.test"),
    ],
)
def test_a_command_that_talks_to_a_host_needs_the_network(text: str, host: str) -> None:
    assert needs_network(text) == host


@pytest.mark.parametrize(
    "text",
    [
        "git clone /srv/x.git",
        "git clone ../x.git",
        "git clone file:///srv/x.git",
        "git remote add origin https://example.test/x.git",
        "git config remote.origin.url https://example.test/x.git",
        "git push origin main:topic",
        "git fetch origin a:b",
        "git show HEAD:app.py",
        "git commit -m 'see https://example.test/1'",
        "echo https://example.test/",
        "curl http://127.0.0.1:8000/",
        "curl http://localhost/",
        "curl 'http://[::1]:80/'",
        "curl http://sandbox/x",
        "docker run -p 80:80 img",
        "scp C:/f /tmp",
        "ssh me@localhost",
        "",
    ],
)
def test_a_command_that_stays_at_home_needs_none(text: str) -> None:
    assert needs_network(text) == ""
