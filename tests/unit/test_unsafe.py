"""The kinds of unsafe steps, shipped and of products: what each catches and what it must leave alone."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from procexec.model.document import Severity, Unsafe
from procexec.model.step import (
    Action,
    Command,
    FileEdit,
    FileWrite,
    Input,
    Manual,
    Place,
    Session,
)
from procexec.read.sandboxes import read_sandboxes
from procexec.read.unsafe import shipped_unsafe
from procexec.shell.unsafe import hits

ROOT = Path(__file__).parents[2]

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
        mkdir -m 777 d
        install -m 0666 f /srv/f
        umask 000
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
        curl https://h/x | sudo -u root bash
        curl https://h/x | env A=1 sh
        curl https://h/x | /bin/sh
        wget -O - https://h/x | perl
        source <(curl -s https://h/x)
        . <(curl -s https://h/x)
        eval "$(wget -qO- https://h/x)"
        bash -s -- < <(curl -s https://h/x)
        iwr https://h/x | iex
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
        rm -rf build /
        rm -rf ../..
        find / -name core -delete
        find ~ -type f -exec rm {} +
        find /etc -name '*.bak' | xargs rm -f
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
        curl --proxy-insecure https://h
        git config http.sslVerify 0
        npm_config_strict_ssl=false npm ci
        PYTHONHTTPSVERIFY=0 python3 x.py
        requests.get(url, verify=False)
        https.request({ rejectUnauthorized: false })
        kubectl --insecure-skip-tls-verify get pods
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
        passwd -d web
        mongod --noauth
        xhost +
        jupyter notebook --NotebookApp.token=''
        docker run -e POSTGRES_HOST_AUTH_METHOD=trust x
    """,
    "raw-device": """
        dd if=x.img of=/dev/sda
        mkfs.ext4 /dev/sdb1
        mkfs -t ext4 /dev/sdb
        cat x.img > /dev/sda
    """,
    "unset-variable-delete": """
        rm -rf "$DIR/"
        rm -rf $DIR/*
        rm -rf "${DIR}"/*
    """,
    "host-key-unchecked": """
        ssh -o StrictHostKeyChecking=no h
        scp -o UserKnownHostsFile=/dev/null f h:
        echo 'StrictHostKeyChecking no' >> ~/.ssh/config
    """,
    "package-signature-off": """
        apt-get install --allow-unauthenticated x
        dnf install --nogpgcheck x
        echo 'deb [trusted=yes] https://h/ ./' > x.list
        sed -i 's/gpgcheck=1/gpgcheck=0/' x.repo
    """,
    "root-granted": """
        usermod -aG docker web
        sudo gpasswd -a web sudo
        adduser web sudo
        echo 'web ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/web
    """,
    "setuid": """
        chmod u+s tool
        chmod 4755 tool
        chmod +s tool
        install -m 4755 tool /usr/local/bin/tool
    """,
    "firewall-off": """
        ufw disable
        iptables -F
        iptables -P INPUT ACCEPT
        systemctl disable --now firewalld
        nft flush ruleset
    """,
    "access-control-off": """
        setenforce 0
        sed -i 's/^SELINUX=.*/SELINUX=disabled/' /etc/selinux/config
        aa-teardown
        systemctl stop apparmor
    """,
    "secret-on-command-line": """
        mysql -u app -psecret shop
        redis-cli -a secret ping
        pg_dump --password=secret x
        PGPASSWORD=secret psql -h h
        export PGPASSWORD=secret
        curl -u web:secret https://h
        curl --user "web:secret" https://h
        psql postgresql://app:secret@h/shop
        openssl rsa -in k -passin pass:secret
        sshpass -p secret ssh h
        htpasswd -b file web secret
        docker login -u web -p secret
        echo web:secret | chpasswd
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
        chmod 1777 d
        mkdir -m 775 d
        umask 022
        umask 0002
    """,
    "remote-script": """
        curl https://h/x | jq .
        curl https://h/x -o x.sh
        curl https://h/x | shasum
        curl https://h/x; ls | sh
        curl -o x.sh https://h/x && sh x.sh
        curl https://h/x | python3 -m json.tool
        curl https://h/x | perl -pe 's/a/b/'
        curl https://h/x | node -p 1
        curl https://h/x | tar -xz
        bash deploy.sh "$(date)"
        source <(kubectl completion bash)
    """,
    "recursive-delete": """
        rm -rf build
        rm -rf ./
        rm -rf ~/x
        rm -rf /tmp/x
        rm -rf /srv/app/build
        rm -rf /var/lib/x
        rm -f /etc/x.conf
        rm -rf ../old
        rm -rf ./build *.o
        find . -name '*.pyc' -delete
        find /var/log/app -name '*.gz' -delete
        find / -name core
    """,
    "tls-off": """
        curl -K conf https://h
        curl --keepalive-time 2 https://h
        curl -o keep https://h
        curl --cacert ca.pem https://h
        git config http.sslVerify true
        npm config set strict-ssl true
        curl -k https://localhost/
        pip install --trusted-host localhost x
        requests.get(url, verify="ca.pem")
        NODE_TLS_REJECT_UNAUTHORIZED=1 node x.js
        openssl s_client -connect h:443
    """,
    "force-push": """
        git push --force-with-lease
        git push --follow-tags
        git push -u origin main
        git commit -m 'push -f'
    """,
    "authentication-off": """
        echo 'PermitEmptyPasswords no' >> sshd_config
        echo 'PasswordAuthentication no' >> sshd_config
        passwd -l web
        mongod --auth
        xhost +si:localuser:web
        docker run -e POSTGRES_HOST_AUTH_METHOD=scram-sha-256 x
    """,
    "raw-device": """
        dd if=/dev/sda of=disk.img
        dd if=/dev/zero of=/dev/null
        mkfs.ext4 disk.img
        echo a > /dev/null
    """,
    "unset-variable-delete": """
        rm -rf "$DIR"
        rm -rf "${DIR:?}/"
        rm -rf "$DIR/build"
        rm -f "$DIR/"x
    """,
    "host-key-unchecked": """
        ssh -o StrictHostKeyChecking=accept-new h
        ssh -o StrictHostKeyChecking=yes h
        ssh -o UserKnownHostsFile=hosts h
        ssh-keyscan h >> ~/.ssh/known_hosts
    """,
    "package-signature-off": """
        echo 'deb [signed-by=/usr/share/keyrings/h.gpg] https://h/ ./' > x.list
        apt-get install x
        echo gpgcheck=1 >> x.repo
    """,
    "root-granted": """
        usermod -aG www-data web
        adduser web
        gpasswd -d web docker
        groupadd docker
        echo 'web ALL=(root) /usr/bin/systemctl' > /etc/sudoers.d/web
    """,
    "setuid": """
        chmod g+s shared
        chmod 2775 shared
        chmod 0755 tool
        chmod u-s tool
    """,
    "firewall-off": """
        ufw allow 443/tcp
        iptables -A INPUT -p tcp --dport 443 -j ACCEPT
        systemctl restart firewalld
        iptables -L
    """,
    "access-control-off": """
        setenforce 1
        getenforce
        systemctl reload apparmor
        setsebool -P httpd_can_network_connect on
    """,
    "secret-on-command-line": """
        mysql -u app -p shop
        mysql -P 3306 -u app
        redis-cli -a "$PASSWORD" ping
        redis-cli -p 6380 ping
        psql --password shop
        pg_dump --password=$PASSWORD x
        PGPASSWORD="$(cat secret)" psql
        PGPASSWORD=<password> psql
        PGPASSWORD= psql
        curl -u web https://h
        curl -u web:$PASSWORD https://h
        curl https://h:8443/a@b
        git clone ssh://git@h:22/x
        psql postgresql://app@h/shop
        psql postgresql://app:$PASSWORD@h/shop
        openssl rsa -in k -passin pass: -out x
        openssl rsa -in k -passin file:secret
        openssl rsa -in k -passin env:SECRET
        htpasswd -c file web
        htpasswd -B file web
        docker login -u web --password-stdin
    """,
}


PRODUCTS_CAUGHT = {
    "git": {
        "any-owner-is-safe": """
            git config --global safe.directory '*'
            git config --global --add safe.directory "*"
            git -c safe.directory=* status
        """,
        "stored-credentials": """
            git config --global credential.helper store
            git config credential.helper 'store --file x'
            git -c credential.helper=store pull
        """,
        "untracked-files-deleted": """
            git clean -fdx
            git clean -f -d -X
            git -C repo clean -xdf
        """,
    },
    "sqlite3": {
        "writable-schema": """
            PRAGMA writable_schema=ON;
            pragma writable_schema = 1;
            PRAGMA writable_schema=RESET;
        """,
        "journal-off": """
            PRAGMA journal_mode=OFF;
            pragma synchronous = 0;
            PRAGMA synchronous=off;
        """,
        "data-dropped": """
            DROP TABLE contacts;
            sqlite3 app.db "drop table if exists x;"
            DELETE FROM contacts;
        """,
    },
    "openssl": {
        "readable-private-key": """
            chmod 644 server.key
            chmod a+r server.key
            chmod +r ca.key
        """,
        "weak-key": """
            openssl genrsa -out k.pem 1024
            openssl req -newkey rsa:1024 -nodes -out r
            openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:512
        """,
    },
    "redis": {
        "protection-off": """
            redis-cli config set protected-mode no
            protected-mode no
            bind 0.0.0.0
        """,
        "no-password": """
            ACL SETUSER app on nopass ~* +@all
            redis-cli config set requirepass ""
            user default on nopass ~* &* +@all
            requirepass ''
        """,
        "data-dropped": """
            redis-cli FLUSHALL
            flushdb
            redis-cli -n 2 FLUSHDB ASYNC
        """,
    },
    "nginx": {
        "no-tls-verification": """
            proxy_ssl_verify off;
            proxy_ssl_verify  off;
            location / { proxy_ssl_verify off; }
        """,
        "workers-as-root": """
            user root;
            user root root;
            user  root;
        """,
        "folders-listed": """
            autoindex on;
            location /files/ { autoindex on; }
            autoindex  on;
        """,
        "old-tls": """
            ssl_protocols TLSv1 TLSv1.2;
            ssl_protocols TLSv1.1 TLSv1.2 TLSv1.3;
            ssl_protocols SSLv3;
        """,
    },
    "postgresql": {
        "superuser-for-an-application": """
            ALTER ROLE app SUPERUSER;
            CREATE USER app WITH SUPERUSER PASSWORD 'x';
            createuser -s app
            createuser --superuser app
        """,
        "trust-authentication": """
            host all all 127.0.0.1/32 trust
            local all all trust
            initdb -A trust data
            initdb --auth-local=trust data
            sed -i 's/peer/trust/' pg_hba.conf
        """,
        "durability-off": """
            ALTER SYSTEM SET fsync = off;
            full_page_writes = off
            pg_resetwal -f data
        """,
        "granted-to-all": """
            GRANT ALL ON SCHEMA public TO PUBLIC;
            grant select on all tables in schema public to public;
            GRANT CREATE ON DATABASE shop TO PUBLIC;
        """,
        "data-dropped": """
            DROP DATABASE shop;
            dropdb shop
            drop schema public cascade;
            TRUNCATE orders;
        """,
    },
    "django": {
        "break-system-packages": """
            pip install --break-system-packages x
            pip3 install --user --break-system-packages x
            sudo pip install x --break-system-packages
        """,
        "clear-without-asking": """
            python manage.py collectstatic --clear --noinput
            python manage.py collectstatic --no-input -c
            ./manage.py collectstatic --clear --no-input
        """,
        "debug-in-use": """
            DEBUG = True
            DEBUG=True
            DEBUG = True  # for now
        """,
        "any-host": """
            ALLOWED_HOSTS = ["*"]
            ALLOWED_HOSTS = ['example.com', '*']
            ALLOWED_HOSTS=('*',)
        """,
        "forgery-protection-off": """
            @csrf_exempt
            path("x/", csrf_exempt(view))
            CSRF_TRUSTED_ORIGINS = ["https://*"]
        """,
        "data-dropped": """
            python manage.py flush --no-input
            ./manage.py flush
            python manage.py migrate shop zero
        """,
    },
    "alembic": {
        "break-system-packages": """
            pip install --break-system-packages x
            pip3 install --user --break-system-packages x
            sudo pip install x --break-system-packages
        """,
        "data-dropped": """
            alembic downgrade base
            alembic -c a.ini downgrade base
            op.drop_table("users")
        """,
    },
    "poetry": {
        "break-system-packages": """
            pip install --break-system-packages x
            pip3 install --user --break-system-packages x
            sudo pip install x --break-system-packages
        """,
        "certificate-unchecked": """
            poetry config certificates.private.cert false
            poetry config --local certificates.private.cert false
            poetry config certificates.my-repo.cert false
        """,
        "secret-on-command-line": """
            poetry config http-basic.private web secret
            poetry config pypi-token.pypi pypi-secret
            poetry config --local http-basic.private web 'secret'
        """,
    },
    "eslint": {
        "breaking-updates": """
            npm audit fix --force
            npm audit fix --omit=dev --force
            sudo npm audit fix --force
        """,
    },
}

PRODUCTS_LEFT_ALONE = {
    "git": """
        git config --global --add safe.directory /srv/repo
        git config --global credential.helper cache
        git config credential.helper osxkeychain
        git clean -n -x
        git clean -fd
        git -C repo clean -i
        git config --get-all safe.directory
        git config --unset safe.directory
        git config credential.helper
    """,
    "sqlite3": """
        PRAGMA writable_schema=OFF;
        PRAGMA journal_mode=WAL;
        PRAGMA synchronous=NORMAL;
        ALTER TABLE contacts DROP COLUMN fax;
        DELETE FROM contacts WHERE id = 1;
        DROP INDEX by_name;
        PRAGMA writable_schema;
        PRAGMA journal_mode;
        PRAGMA synchronous=FULL;
    """,
    "openssl": """
        chmod 600 server.key
        chmod 644 server.crt
        chmod u+r server.key
        openssl genrsa -out k.pem 2048
        openssl req -newkey rsa:4096 -out r
        openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072
    """,
    "redis": """
        protected-mode yes
        bind 127.0.0.1 -::1
        bind 10.0.0.5
        ACL SETUSER app on >secret ~app:* +get
        requirepass secret
        redis-cli config get requirepass
        user app on #ab12 ~* +@read
        redis-cli DEL key
        UNLINK key
        redis-cli DBSIZE
    """,
    "nginx": """
        proxy_ssl_verify on;
        proxy_ssl_verify_depth 2;
        user www-data;
        user nginx root;
        root /srv/www;
        autoindex off;
        autoindex_exact_size on;
        index index.html;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_protocols TLSv1.3;
        ssl_prefer_server_ciphers on;
        proxy_ssl_verify on; # not off
    """,
    "postgresql": """
        ALTER ROLE app NOSUPERUSER;
        CREATE USER app PASSWORD 'x';
        createuser --no-superuser app
        host all all 127.0.0.1/32 scram-sha-256
        local all all peer
        initdb --auth=scram-sha-256 data
        ALTER SYSTEM SET fsync = on;
        full_page_writes = on
        pg_resetwal -n data
        GRANT SELECT ON orders TO report;
        REVOKE ALL ON SCHEMA public FROM PUBLIC;
        GRANT app TO publisher;
        CREATE DATABASE shop;
        DROP INDEX by_name;
        ALTER TABLE t DROP COLUMN x;
    """,
    "django": """
        pip install --user x
        pip install --break-nothing x
        python3 -m pip install x
        python manage.py collectstatic --clear
        python manage.py collectstatic --noinput
        python manage.py collectstatic
        DEBUG = False
        DEBUG_TOOLBAR = True
        TEMPLATE_DEBUG = True
        ALLOWED_HOSTS = ["example.com"]
        ALLOWED_HOSTS = []
        ALLOWED_HOSTS = [".example.com"]
        @csrf_protect
        CSRF_TRUSTED_ORIGINS = ["https://*.example.com"]
        from x import csrf_exempt
        python manage.py migrate shop 0001
        python manage.py migrate
        python manage.py sqlflush
    """,
    "alembic": """
        pip install --user x
        pip install --break-nothing x
        python3 -m pip install x
        alembic downgrade -1
        alembic upgrade head
        op.drop_column("users", "x")
    """,
    "poetry": """
        pip install --user x
        pip install --break-nothing x
        python3 -m pip install x
        poetry config certificates.private.cert /etc/ca.pem
        poetry config certificates.private.client-cert c.pem
        poetry config certificates.private.cert
        poetry config http-basic.private web
        poetry config pypi-token.pypi "$TOKEN"
        poetry config http-basic.private web <password>
    """,
    "eslint": """
        npm audit fix
        npm audit --omit=dev
        npm install --force
    """,
}


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().split("\n")]


def all_lines(block: dict[str, str]) -> list[tuple[str, str]]:
    return [(name, line) for name, text in block.items() for line in lines(text)]


def names(text: str, kinds: Sequence[Unsafe] = shipped_unsafe()) -> set[str]:
    return {hit.kind.name for hit in hits(Command(text=text), kinds)}


def kinds_of(product: str) -> list[tuple[Unsafe, ...]]:
    """Return the kinds of a product's sandboxes, version by version."""
    folders, errors = read_sandboxes(ROOT / "sandboxes")
    assert not errors
    return [f.spec.unsafe for (name, _), f in folders.items() if name == product]


@pytest.mark.parametrize(("name", "text"), all_lines(CAUGHT))
def test_an_unsafe_command_is_caught_by_its_kind(name: str, text: str) -> None:
    assert names(text) == {name}


@pytest.mark.parametrize(("name", "text"), all_lines(LEFT_ALONE))
def test_a_near_miss_is_left_alone(name: str, text: str) -> None:
    assert names(text) == set()


@pytest.mark.parametrize("product", PRODUCTS_CAUGHT)
def test_a_product_s_own_kinds_catch_theirs_on_every_version(product: str) -> None:
    wanted = [({n}, line) for n, text in PRODUCTS_CAUGHT[product].items() for line in lines(text)]

    for kinds in kinds_of(product):
        assert [(names(line, kinds), line) for _, line in wanted] == wanted


@pytest.mark.parametrize("product", PRODUCTS_LEFT_ALONE)
def test_a_product_s_own_kinds_leave_near_misses_alone(product: str) -> None:
    near = lines(PRODUCTS_LEFT_ALONE[product])

    for kinds in kinds_of(product):
        assert [(line, found) for line in near if (found := names(line, kinds))] == []


def test_every_kind_is_tested_three_times_each_way_and_says_why() -> None:
    assert {kind.name for kind in shipped_unsafe()} == CAUGHT.keys() == LEFT_ALONE.keys()
    folders, _ = read_sandboxes(ROOT / "sandboxes")
    for (product, _), folder in folders.items():
        own = folder.spec.unsafe
        assert {kind.name for kind in own} == PRODUCTS_CAUGHT[product].keys(), product
        assert len(lines(PRODUCTS_LEFT_ALONE[product])) >= 3 * len(own), product
        assert all(kind.reason and kind.source for kind in own)
    tables = [*CAUGHT.values(), *LEFT_ALONE.values()]
    tables += [text for block in PRODUCTS_CAUGHT.values() for text in block.values()]
    assert [text for text in tables if len(lines(text)) < 3] == []
    assert all(kind.reason and kind.source for kind in shipped_unsafe())


def test_what_is_fine_for_a_try_is_a_risk_only() -> None:
    warned = {kind.name for kind in shipped_unsafe() if kind.severity is Severity.WARN}

    assert warned == {"secret-on-command-line", "unset-variable-delete"}


# --- in which actions ---------------------------------------------------------------------------

KIND = Unsafe(name="open-door", pattern=r"door\s+open", reason="anybody can come in")
NOT_IN_FILES = Unsafe(name="shout", pattern="door", reason="it is loud", in_files=False)


@pytest.mark.parametrize(
    "action",
    [
        Command(text="set door  open"),
        Session(program="house", lines=("look", "door open")),
        FileWrite(path="house.conf", content="light on\ndoor open\n"),
        FileEdit(path="house.conf", place=Place.AFTER, content="door open", anchor="light"),
        FileEdit(path="house.conf", place=Place.SET, content="open", anchor="door"),
        FileEdit(path="house.conf", place=Place.UNCOMMENT, anchor="#door open"),
    ],
)
def test_commands_sessions_and_what_is_written_to_files_count(action: Action) -> None:
    assert [hit.words for hit in hits(action, [KIND])] == ["door open"]


@pytest.mark.parametrize(
    "action",
    [
        Manual(text="leave the door open"),
        Input(keys=("door open",)),
        FileEdit(path="house.conf", place=Place.DELETE, anchor="door open"),
    ],
)
def test_prose_replies_and_what_is_deleted_do_not_count(action: Action) -> None:
    assert list(hits(action, [KIND])) == []


def test_a_kind_of_commands_does_not_count_in_files() -> None:
    assert names("door", [NOT_IN_FILES]) == {"shout"}
    assert list(hits(FileWrite(path="x", content="door"), [NOT_IN_FILES])) == []


def test_every_place_of_a_kind_in_a_text_is_found_once() -> None:
    kind = Unsafe(name="d", pattern=r"rm \w+", reason="gone")

    found = [hit.words for hit in hits(Command(text="rm a; rm b; rm a"), [kind])]

    assert found == ["rm a", "rm b"]


def test_a_text_of_many_pieces_is_searched_to_its_end() -> None:
    text = "true\n" * 20_000 + "chmod 777 f"

    assert names(text) == {"world-writable"}


HARD = (
    "curl ", "rm -r ", "rm -r a ", "git -a b ", "chmod a+r,", "sh ", "dd ", "sudo -a b ", "curl x | sudo a=b ",
    "find / ", "mysql -", "a://b", "htpasswd -b ", "echo a", "A_TOKEN", "install -m ", "--password",
    "usermod ", "bash -a ", "[trusted", "GRANT ", "git clean ", "ssl_protocols ", "poetry config ",
)  # fmt: skip


@pytest.mark.parametrize("word", HARD)
def test_a_long_text_is_searched_in_time(word: str) -> None:
    folders, _ = read_sandboxes(ROOT / "sandboxes")
    own = {kind.pattern: kind for f in folders.values() for kind in f.spec.unsafe}
    began = time.process_time()

    names(word * (16_000 // len(word)), [*shipped_unsafe(), *own.values()])

    assert time.process_time() - began < 10
