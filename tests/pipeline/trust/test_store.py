"""Where reviews are kept, and what happens if they cannot be."""

import json
import os
import stat
from pathlib import Path

import pytest

from hookline.pipeline.trust.review import Review, TrustError
from hookline.pipeline.trust.store import TrustStore
from tests.harness.scratch import Project
from tests.pipeline.trust.test_changes import of


@pytest.fixture
def review(project: Project) -> Review:
    return of(project=str(project.path))


def test_reviews_inside_the_project_are_refused(project: Project, review: Review) -> None:
    store = TrustStore(str(project.path / "state"))
    for use in (store.read, store.forget):
        with pytest.raises(TrustError, match="inside the project itself; set HOOKLINE_STATE_DIR"):
            use(str(project.path))
    with pytest.raises(TrustError, match="inside the project itself"):
        store.write(review)
    assert not (project.path / "state").exists()


def test_a_project_that_holds_the_home_directory_may_hold_the_reviews(
    project: Project, review: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(project.path / "me"))
    store = TrustStore(str(project.path / "me" / "state"))
    store.write(review)
    assert store.read(str(project.path)) is not None


def test_a_link_does_not_hide_that_reviews_are_inside_the_project(
    project: Project, tmp_path: Path
) -> None:
    (project.path / "state").mkdir()
    (tmp_path / "elsewhere").symlink_to(project.path / "state")
    with pytest.raises(TrustError, match="inside the project itself"):
        TrustStore(str(tmp_path / "elsewhere")).read(str(project.path))


def test_a_review_of_another_version_must_be_made_again(project: Project, review: Review) -> None:
    file = Path(TrustStore().write(review))
    file.write_text(json.dumps({**json.loads(file.read_text()), "version": 1}))
    with pytest.raises(TrustError, match="was written by another version of hookline"):
        TrustStore().read(str(project.path))


def test_a_record_that_is_no_file_is_an_error_with_a_remedy(
    project: Project, review: Review
) -> None:
    file = Path(TrustStore().write(review))
    file.unlink()
    file.mkdir()
    (file / "x").touch()
    with pytest.raises(TrustError, match=r"cannot be read .*; make it readable"):
        TrustStore().read(str(project.path))
    with pytest.raises(TrustError, match=r"cannot be removed .*; remove it"):
        TrustStore().forget(str(project.path))
    with pytest.raises(TrustError, match=r"cannot be written .*; nothing was changed"):
        TrustStore().write(review)


def test_where_there_is_no_folder_of_reviews_there_is_none(
    project: Project, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    for place in ("missing", "file"):
        store = TrustStore(str(tmp_path / place))
        assert store.read(str(project.path)) is None
        assert store.forget(str(project.path)) is False


def test_each_project_has_a_file_that_people_can_tell_apart(tmp_path: Path) -> None:
    store = TrustStore(str(tmp_path))
    names = [os.path.basename(store.file_of(path) or "") for path in ("/a/b.c", "/a-b/c")]
    assert [name.rpartition("-")[0] for name in names] == ["a-b-c", "a-b-c"]
    assert names[0] != names[1]
    long = os.path.basename(store.file_of(f"/{'x' * 150}{'y' * 99}") or "")
    assert long.rpartition("-")[0] == "x" + "y" * 99


def test_only_the_user_can_list_what_is_kept(review: Review) -> None:
    folder = os.path.dirname(TrustStore().write(review))
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700


def test_a_review_is_replaced_and_forgotten_once(project: Project, review: Review) -> None:
    store = TrustStore()
    assert store.write(review) == store.write(review)
    assert [store.forget(str(project.path)) for _ in range(2)] == [True, False]


def test_only_an_absolute_path_can_name_where_reviews_are_kept(
    project: Project, review: Review, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOKLINE_STATE_DIR", str(tmp_path / "state"))
    assert TrustStore().write(review).startswith(f"{tmp_path}/state/trust/")
    monkeypatch.setenv("HOOKLINE_STATE_DIR", "state")
    with pytest.raises(TrustError, match="it must be an absolute path"):
        TrustStore().read(str(project.path))
