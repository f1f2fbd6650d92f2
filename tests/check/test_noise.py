"""Text beside the answer, found by reading the script."""

import pytest

from tests.check.review import HINT, hook, on, review
from tests.harness.scratch import Project

ANSWER = 'echo \'{"decision": "allow"}\''


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"#!/bin/sh\necho debug\n{ANSWER}\n", (2, 1)),
        (f'#!/bin/bash\nif true; then\n  echo "scanning $PWD"\nfi\n{ANSWER}\n', (3, 3)),
        (f"#!/bin/sh\nprintf 'hello\\n'\n{ANSWER}\n", (2, 1)),
        ("#!/bin/sh\necho start # why\ncat <<END\n{}\nEND\n", (2, 1)),
        (f"#!/bin/sh\necho one\necho two\n{ANSWER}\n", (2, 1)),
        ("#!/bin/bash\nBASH_XTRACEFD=1\nset -x\n", (2, 1)),
        (f"#!/bin/sh\nx=$(echo a)\necho debug\n{ANSWER}\n", (3, 1)),
        (f"#!/bin/sh\nf() {{\n  echo yes\n}}\nx=$(f)\nf\n{ANSWER}\n", (3, 3)),
        (f"#!/bin/sh\nf() {{\n  echo yes\n}}\nx=$(fg)\n{ANSWER}\n", (3, 3)),
        (
            "#!/usr/bin/env python3\nimport json\nprint('a', file=x)\nprint('b')\njson.dump(1, 2)",
            (4, 1),
        ),
        ("#!/usr/bin/env python3\nimport json\nprint('debug')\nprint(json.dumps({}))\n", (3, 1)),
        (
            "#!/usr/bin/env python3\nimport json\ndef f():\n    print(f'at', 1)\njson.dump({}, 1)",
            (4, 5),
        ),
    ],
)
def test_text_beside_the_answer_is_a_hint_at_its_line(
    project: Project, text: str, place: tuple[int, int]
) -> None:
    script = project.script("hooks/noisy", text)
    findings = review(project, on("BeforeAgent", hook("hooks/noisy", warm=False)))
    assert [(f.kind, f.severity, f.file) for f in findings] == [("stdout-noise", HINT, str(script))]
    assert (findings[0].line, findings[0].column) == place


def test_a_hook_that_fails_closed_is_told_that_it_fails_with_it(project: Project) -> None:
    project.script("hooks/noisy", f"#!/bin/sh\necho debug\n{ANSWER}\n")
    guard = hook("hooks/noisy", warm=False, onFailure="block")
    [finding] = review(project, on("BeforeAgent", guard))
    assert finding.message.endswith("which is malformed for a hook that fails closed")


@pytest.mark.parametrize(
    "text",
    [
        f"#!/bin/sh\nset -x\n{ANSWER}\n",
        f"#!/bin/sh\necho debug >&2\necho debug 1>&2\n{ANSWER}\n",
        f"#!/bin/sh\necho debug >> log\necho debug | logger\n{ANSWER}\n",
        f"#!/bin/sh\nexec 3>&1 >log\necho debug\n{ANSWER} >&3\n",
        f"#!/bin/sh\n{{\necho debug\n}} >&2\n{ANSWER}\n",
        f"#!/bin/sh\n# echo debug\n{ANSWER}\n",
        f"#!/usr/bin/env perl\necho debug\n{ANSWER}\n",
        f"#!/bin/sh\nfor i in 1; do\necho debug\ndone > log\n{ANSWER}\n",
        f"#!/bin/sh\nx=$(\necho debug\n)\n{ANSWER}\n",
        f'#!/bin/sh\nx="$(cat a | (\n  echo "a)"\n  echo it\n))"\n{ANSWER}\n',
        f"#!/bin/bash\nask() {{\n  echo yes\n}}\nif [ $(ask) = yes ]; then\n  {ANSWER}\nfi\n",
        f"#!/bin/bash\nfunction a {{\n  b\n}}\nb() {{\n  echo yes\n}}\nx=$(a)\n{ANSWER}\n",
        "#!/usr/bin/env python3\nimport json\nsys.stdout = x\nprint('x')\njson.dump({}, 1)",
        "#!/usr/bin/env python3\nwith redirect_stdout(x):\n  print('x')\njson.dump({}, 1)",
        "#!/bin/sh\necho just text, which is an answer too\n",
        "#!/usr/bin/env python3\nimport json\nprint('x', file=err)\nprint(json.dumps({}))",
        "#!/usr/bin/env python3\nprint('text alone')\n",
        "#!/usr/bin/env python3\nimport json\n# print('x')\nprint(json.dumps({}))\n",
        "#!/bin/sh\n" + "echo " * 50_000 + "\n",
        "#!/bin/sh\n" + "echo x\n" * 50_000,
    ],
)
def test_what_goes_elsewhere_or_is_the_answer_is_none(project: Project, text: str) -> None:
    project.script("hooks/quiet", text)
    assert review(project, on("BeforeAgent", hook("hooks/quiet", warm=False))) == []


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["# " + "x" * 998], 1),
        (["# " + "x" * 999], 0),
        (["#"] * 4_996, 1),
        (["#"] * 4_997, 0),
    ],
)
def test_lines_are_read_up_to_a_length_and_a_number(
    project: Project, lines: list[str], found: int
) -> None:
    text = "\n".join(["#!/bin/sh", *lines, "echo debug", ANSWER, ""])
    project.script("hooks/noisy", text)
    assert len(review(project, on("BeforeAgent", hook("hooks/noisy")))) == found


def test_the_noise_of_a_script_that_two_hooks_share_is_told_once(project: Project) -> None:
    project.script("hooks/noisy", f"#!/bin/sh\necho debug\n{ANSWER}\n")
    hooks = [hook("hooks/noisy", name="a"), hook("hooks/noisy", name="b")]
    findings = review(
        project,
        {"hooks": {"BeforeAgent": [{"hooks": hooks[:1]}], "AfterAgent": [{"hooks": hooks[1:]}]}},
    )
    assert [finding.kind for finding in findings] == ["stdout-noise"]


def test_a_noisy_script_is_found_after_others_that_are_not(project: Project) -> None:
    project.script("hooks/long", f"#!/bin/sh\n{'#' * 1001}\n")
    project.script("hooks/noisy", f"#!/bin/sh\necho debug\n{ANSWER}\n")
    hooks = [hook(command) for command in ("true", "hooks/long", "hooks/noisy")]
    (finding,) = review(project, on("BeforeAgent", *hooks))
    assert finding.kind == "stdout-noise"
