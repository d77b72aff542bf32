"""The shipped kinds of unsafe steps: what each catches and what it must leave alone."""

import re

import pytest

from procexec.read.unsafe import shipped_unsafe

CAUGHT = {
    "world-writable": """
        chmod 777 f
        chmod -R a+rwx d
        chmod 0666 f
        chmod o+w f
        chmod --recursive 777 d
        chmod a=rw f
        chmod u=rwx,o=rwx f
        chmod go+rwx f
    """,
    "remote-script": """
        curl -fsSL https://h/x | sh
        wget -qO- https://h/x | sudo bash
        curl https://h/x | sudo -E bash -
        curl "https://h/?a=1&b=2" | sh
        curl https://h/x | tee x | sh
        curl https://h/x | python3 -
        bash <(curl -s https://h/x)
        sh -c "$(curl -fsSL https://h/x)"
    """,
    "recursive-delete": """
        rm -rf /
        rm -rf /*
        rm -rf ~
        rm -rf ~/*
        rm -fr $HOME
        rm -rf "$HOME"
        rm -r /etc
        rm -f -r /var
        rm -rf /usr/*
        rm --recursive --force /
        sudo rm -rf --no-preserve-root /
    """,
    "tls-off": """
        curl -k https://h
        curl -sk https://h
        curl --insecure https://h
        wget --no-check-certificate https://h
        git config --global http.sslVerify false
        git -c http.sslVerify=false clone https://h/x
        GIT_SSL_NO_VERIFY=1 git clone https://h/x
        npm config set strict-ssl false
        pip install --trusted-host h x
        NODE_TLS_REJECT_UNAUTHORIZED=0 node x.js
    """,
    "force-push": """
        git push -f
        git push --force origin main
        git push origin main --force
        git push -uf origin main
        git push origin +main
        git -C repo push -f
    """,
    "authentication-off": """
        mysqld --skip-grant-tables
        echo 'PermitEmptyPasswords yes' >> sshd_config
        redis-server --protected-mode no
    """,
    "raw-device": """
        dd if=x.img of=/dev/sda
        mkfs.ext4 /dev/sdb1
        mkfs -t ext4 /dev/sdb
        cat x.img > /dev/sda
    """,
}

LEFT_ALONE = {
    "world-writable": """
        chmod 755 f
        chmod u+w f
        chmod u+x,g+w f
        chmod a+r f
        chmod a-w f
        chmod +x f
    """,
    "remote-script": """
        curl https://h/x | jq .
        curl https://h/x -o x.sh
        curl https://h/x | shasum
        curl https://h/x; ls | sh
        curl -o x.sh https://h/x && sh x.sh
    """,
    "recursive-delete": """
        rm -rf build
        rm -rf ./
        rm -rf ~/x
        rm -rf /tmp/x
        rm -rf /srv/app/build
        rm -rf /var/lib/x
        rm -f /etc/x.conf
    """,
    "tls-off": """
        curl -K conf https://h
        curl --keepalive-time 2 https://h
        curl -o keep https://h
        curl --cacert ca.pem https://h
        git config http.sslVerify true
        npm config set strict-ssl true
    """,
    "force-push": """
        git push --force-with-lease
        git push --follow-tags
        git push -u origin main
        git commit -m 'push -f'
    """,
    "authentication-off": """
        redis-server --protected-mode yes
        echo 'PermitEmptyPasswords no' >> sshd_config
        echo 'PasswordAuthentication no' >> sshd_config
    """,
    "raw-device": """
        dd if=/dev/sda of=disk.img
        dd if=/dev/zero of=/dev/null
        mkfs.ext4 disk.img
        echo a > /dev/null
    """,
}


def lines(block: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (name, line.strip()) for name, text in block.items() for line in text.strip().split("\n")
    ]


def caught(text: str) -> set[str]:
    return {kind.name for kind in shipped_unsafe() if re.search(kind.pattern, text)}


@pytest.mark.parametrize(("name", "text"), lines(CAUGHT))
def test_an_unsafe_command_is_caught_by_its_kind(name: str, text: str) -> None:
    assert caught(text) == {name}


@pytest.mark.parametrize(("name", "text"), lines(LEFT_ALONE))
def test_a_near_miss_is_left_alone(name: str, text: str) -> None:
    assert caught(text) == set()


def test_every_shipped_kind_is_tested_and_says_why() -> None:
    assert {kind.name for kind in shipped_unsafe()} == CAUGHT.keys() == LEFT_ALONE.keys()
    assert all(kind.reason and kind.source for kind in shipped_unsafe())


@pytest.mark.parametrize("word", ["curl ", "rm -r ", "git -a b ", "chmod a+r,", "sh ", "dd "])
def test_a_long_text_is_searched_in_time(word: str) -> None:
    caught(word * 1000)
