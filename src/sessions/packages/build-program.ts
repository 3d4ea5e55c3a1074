/** Names in the workspace of a build. */
export const sdistName = "sdist.tar.gz";
export const wheelDirectory = "wheel";
export const needsName = "needs.json";

/**
 * Runs in the cell of a build: unpacks the source, asks its backend for a wheel (PEP 517), and puts that into the workspace.
 * Everything here is at the mercy of the package; the host believes nothing of what it leaves.
 */
export const buildProgram = `def build():
    import importlib, json, os, shutil, sys, tarfile, tempfile
    backend, backend_path, may_ask = json.loads(sys.argv[1])
    sys.argv = sys.argv[:1]
    home = os.getcwd()
    work = tempfile.mkdtemp()
    with tarfile.open(os.path.join(home, "${sdistName}"), "r:gz") as archive:
        archive.extractall(work, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    tops = [name for name in os.listdir(work) if os.path.isdir(os.path.join(work, name))]
    if len(tops) != 1:
        raise SystemExit("the source distribution does not have one directory at its top")
    source = os.path.join(work, tops[0])
    os.chdir(source)
    sys.path[:0] = [os.path.join(source, name) for name in backend_path]
    # for programs that the backend starts
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    module, _, attribute = backend.partition(":")
    hooks = importlib.import_module(module)
    for name in attribute.split(".") if attribute else []:
        hooks = getattr(hooks, name)
    if may_ask and hasattr(hooks, "get_requires_for_build_wheel"):
        needs = list(hooks.get_requires_for_build_wheel(None))
        if needs:
            with open(os.path.join(home, "${needsName}"), "w") as file:
                json.dump(needs, file)
            return
    out = tempfile.mkdtemp()
    wheel = os.path.basename(hooks.build_wheel(out))
    os.makedirs(os.path.join(home, "${wheelDirectory}"), exist_ok=True)
    shutil.copyfile(os.path.join(out, wheel), os.path.join(home, "${wheelDirectory}", wheel))
build()
`;
