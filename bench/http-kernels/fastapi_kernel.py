# A sandbox with the usual design: POST /exec with FastAPI, and an IPython kernel that keeps the variables.
#   fastapi_kernel.py usual|process|shell tcp PORT | unix PATH
# "usual": the kernel is a separate process, used through jupyter_client as notebooks do; it can be interrupted.
# "process": the same without its history, which programs do not need.
# "shell": IPython's shell in the server's own process. It is faster, but nothing can stop a run.
import asyncio
import os
import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

kind, where, place = sys.argv[1:4]


class Code(BaseModel):
    code: str
    timeout: float = 30


class KernelProcess:
    has_history = kind == "usual"

    async def start(self):
        from jupyter_client.manager import start_new_async_kernel

        arguments = [] if self.has_history else ["--HistoryManager.enabled=False"]
        self.manager, self.client = await start_new_async_kernel(extra_arguments=arguments)

    async def run(self, code, timeout):
        asked = self.client.execute(code, store_history=self.has_history)
        out, status = [], "ok"
        while True:
            message = await self.client.get_iopub_msg(timeout=timeout)
            if message["parent_header"].get("msg_id") != asked:
                continue
            content = message["content"]
            if message["msg_type"] == "stream":
                out.append(content["text"])
            elif message["msg_type"] == "execute_result":
                out.append(content["data"]["text/plain"])
            elif message["msg_type"] == "error":
                status = content["ename"] + ": " + content["evalue"]
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return {"status": status, "output": "".join(out)}


class Shell:
    async def start(self):
        from IPython.core.interactiveshell import InteractiveShell
        from traitlets.config import Config

        self.shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))

    async def run(self, code, timeout):
        from IPython.utils.capture import capture_output

        with capture_output() as captured:
            result = self.shell.run_cell(code, store_history=False)
        return {"status": "ok" if result.success else repr(result.error_in_exec), "output": captured.stdout}


kernel = Shell() if kind == "shell" else KernelProcess()
app = FastAPI()
turn = asyncio.Lock()


@app.on_event("startup")
async def startup():
    await kernel.start()
    os.write(1, b"ready\n")


@app.post("/exec")
async def execute(request: Code):
    async with turn:
        return await kernel.run(request.code, request.timeout)


address = {"uds": place} if where == "unix" else {"host": "0.0.0.0", "port": int(place)}
uvicorn.run(app, log_level="error", access_log=False, **address)
