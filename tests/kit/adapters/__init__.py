"""The conformance table of the adapters: the same scenarios through every framework.

A *scenario* belongs to no framework: hooks, prompts, the model's replies, the expected result. A
*harness* plays it in one framework, with the framework's own fake model, in each of its *modes*
(plain and async calls, streams). A cell of the table is measured: ✓ if the check holds in every
mode. If the framework cannot carry an effect, the harness declares a limit and says why. A declared
limit must really fail in the modes it names, otherwise the table is wrong as well.

To write the harness of an adapter, make ``tests/adapters/NAME/table.py`` with a ``HARNESS``::

    async def run(run: Run) -> None: ...

    HARNESS = Harness(
        name="langchain",
        title="LangChain 1.4",
        modes=("sync", "async", "sync stream", "async stream"),
        limits={
            "ask": Limit("✓", note="interrupt()"),
            "SessionEnd": Limit("◐", note="close()", why="no framework says that a chat is over"),
            "AfterAgent send back": Limit(
                "◐", note="not streamed", why="a stream is over then", fails_in=("async stream",)
            ),
            "PreCompress": Limit("✗", why="nothing here compresses a history"),
        },
        run=run,
    )

A key of ``limits`` is a cell or a row (then it holds for each cell of the row). With ✗ and – the
check must fail in every mode; with ◐ it must fail in ``fails_in`` and hold elsewhere. A ◐ without
``fails_in`` works in another way, which ``why`` explains. ``note`` is the few words in the table.

``run(run)`` builds the agent and holds the conversation:

- give ``run.hooks`` to the adapter, and have it use ``run.session_id`` as the conversation's id;
- offer ``run.tools``; each has ``function`` (plain), ``coroutine`` (async) and a JSON ``schema``;
- the fake model calls ``run.next_reply(messages, tools)`` for every call that reaches it, with
  everything it was sent as ``Message(role, text)`` (``role`` is "tool" for a tool's result,
  otherwise "user", "model" or "system") and the names of the tools it was offered, and returns that
  reply in the framework's own type; in a stream it yields ``reply.pieces``;
- send each of ``run.prompts`` in turn, in one conversation that keeps its history;
- when the framework pauses for an approval, resume it with the answer of ``run.approve(question)``;
  a callback is ``run.confirm``;
- call ``run.show(text)`` for every text of the model that a program sees: each piece of a stream,
  each message of a result; then ``run.finish(text)`` with the final text of the turn;
- if ``run.compresses``, have the framework summarize the history before the last prompt (with a
  summary of the harness's own, not one of the script);
- if ``run.delegates``, offer one more tool, ``DELEGATE`` with the field ``task``: it runs another
  agent, named ``HELPER``, with the same hooks, the same tools and the same scripted model, and
  returns its final text (a harness that can do this has ``delegates=True``);
- close the adapter at the end, as a program does that ends its sessions.

An exception from ``run`` fails the cell, unless the scenario has a tool that raises it. A mode
whose name has the word "stream" must show a text in pieces if no hook holds it back. Call a
framework's blocking functions with ``asyncio.to_thread``.
"""

from tests.kit.adapters.concurrency import check_sessions as check_sessions
from tests.kit.adapters.run import DELEGATE as DELEGATE
from tests.kit.adapters.run import HELPER as HELPER
from tests.kit.adapters.run import Call as Call
from tests.kit.adapters.run import Message as Message
from tests.kit.adapters.run import Observed as Observed
from tests.kit.adapters.run import Reply as Reply
from tests.kit.adapters.run import Run as Run
from tests.kit.adapters.run import Tool as Tool
from tests.kit.adapters.scenarios import SCENARIOS as SCENARIOS
from tests.kit.adapters.scenarios import Hook as Hook
from tests.kit.adapters.scenarios import Scenario as Scenario
from tests.kit.adapters.table import CellResult as CellResult
from tests.kit.adapters.table import Harness as Harness
from tests.kit.adapters.table import Limit as Limit
from tests.kit.adapters.table import render_column as render_column
from tests.kit.adapters.table import render_table as render_table
from tests.kit.adapters.table import run_cell as run_cell
from tests.kit.adapters.table import run_table as run_table
