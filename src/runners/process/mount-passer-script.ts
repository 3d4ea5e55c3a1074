/**
 * Python. Reads a line of JSON per request: clones the mount of a directory, without a place in any mount namespace, and
 * sends its descriptor to a template, because Node can neither clone mounts nor send descriptors. Keeps each connection open
 * until the host releases it. Exits with the host, which closes its standard input.
 */
export const mountPasserScript = `
import ctypes, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
OPEN_TREE, OPEN_TREE_CLONE, AT_FDCWD = 428, 1, -100
held = {}

def give(directory, path, ticket):
    mount = libc.syscall(OPEN_TREE, AT_FDCWD, os.fsencode(directory), OPEN_TREE_CLONE | os.O_CLOEXEC)
    if mount < 0: raise OSError(ctypes.get_errno(), "open_tree: " + os.strerror(ctypes.get_errno()))
    try:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(20)
        connection.connect(path)
        socket.send_fds(connection, [ticket.encode()], [mount])
        if connection.recv(1) != b"1": raise OSError("the template did not take the mount")
        held[ticket] = connection
    finally:
        os.close(mount)

for line in sys.stdin:
    request = json.loads(line)
    ticket = request["ticket"]
    if "directory" not in request:
        held.pop(ticket).close()
        continue
    try:
        give(request["directory"], request["socket"], ticket)
        answer = {"ticket": ticket}
    except Exception as error:
        answer = {"ticket": ticket, "error": str(error)}
    print(json.dumps(answer), flush=True)
`;
