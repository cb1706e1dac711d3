"""What is installed: headers that compile alone, libraries to link, and no more symbols than promised."""

import pathlib
import re

import pytest
from conftest import EXAMPLES, ROOT, run

PROMISED = pathlib.Path(__file__).with_name("exported_symbols.txt")
HEADERS = sorted(path.relative_to(ROOT / "include") for path in (ROOT / "include").rglob("*.h"))
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", "-fsyntax-only"]


@pytest.mark.parametrize("header", map(str, HEADERS))
def test_a_header_compiles_alone_as_cpp20(prefix, tmp_path, header):
    source = tmp_path / "one.cc"
    source.write_text(f"#include <{header}>\n")
    run("g++", "-std=c++20", *STRICT, f"-I{prefix}/include", source)


def test_the_c_header_is_c99(prefix, tmp_path):
    source = tmp_path / "one.c"
    source.write_text("#include <sluice/sluice.h>\n")
    run("gcc", "-std=c99", *STRICT, f"-I{prefix}/include", source)


def test_public_headers_include_no_internal_ones():
    for header in HEADERS:
        for included in re.findall(r'#include\s+(\S+)', (ROOT / "include" / header).read_text()):
            assert not included.startswith('"'), f"{header} includes {included}"


def test_exactly_the_promised_symbols_are_exported(prefix):
    """Whoever changes the list knows that programs depend on it: removing a line breaks them."""
    listed = run("nm", "--dynamic", "--defined-only", "--demangle", prefix / "lib/libsluice.so")
    exported = {re.sub(r"@@\w+$", "", line.split(" ", 2)[2]) for line in listed.splitlines()}
    promised = {line for line in PROMISED.read_text().splitlines() if line and not line.startswith("#")}
    assert exported - {"SLUICE_0"} == promised


def test_the_shared_library_has_a_versioned_name(prefix):
    assert re.search(r"SONAME.*\[libsluice\.so\.0\]", run("readelf", "-d", prefix / "lib/libsluice.so"))


def test_pkg_config_links_the_shared_library(prefix, pkg_config, tmp_path):
    program = tmp_path / "protect"
    run("g++", "-std=c++20", EXAMPLES / "protect.cc", *pkg_config("--cflags", "--libs"), f"-Wl,-rpath,{prefix}/lib", "-o",
        program)
    assert "libsluice.so.0" in run("ldd", program)
    assert run(program, cwd=EXAMPLES).count("a report for ann") == 3


def test_pkg_config_links_the_static_library(prefix, pkg_config, tmp_path):
    program = tmp_path / "protect"
    flags = [f"{prefix}/lib/libsluice.a" if flag == "-lsluice" else flag for flag in pkg_config("--static", "--cflags", "--libs")]
    run("g++", "-std=c++20", EXAMPLES / "protect.cc", *flags, "-o", program)
    assert "libsluice" not in run("ldd", program)
    assert run(program, cwd=EXAMPLES).count("a report for ann") == 3


C_PROGRAM = r"""
#include <sluice/sluice.h>
#include <stdio.h>

static void print(void *context, const sluice_answer *answer) {
  printf("%s %s: %d\n", (const char *)context, answer->limit_name, (int)answer->remaining);
}

int main(void) {
  sluice_memory_options options = {.size = sizeof options, .policies_file = "policies.yaml"};
  sluice_limiter *limiter = sluice_open_memory(&options);
  if (limiter == NULL) return fprintf(stderr, "%s\n", sluice_error()), 1;
  sluice_request request = {.size = sizeof request, .key = "ann", .resource = "/reports", .cost = 2};
  sluice_check_async(limiter, &request, print, "left of");
  printf("%d\n", sluice_wait(limiter, &request, 0, NULL));
  sluice_free(limiter);
  return 0;
}
"""


def test_a_c_program_links(prefix, pkg_config, tmp_path):
    source, program = tmp_path / "one.c", tmp_path / "one"
    source.write_text(C_PROGRAM)
    run("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", source, *pkg_config("--cflags", "--libs"),
        f"-Wl,-rpath,{prefix}/lib", "-o", program)
    assert run(program, cwd=EXAMPLES) == "left of user: 1\n0\n"


def test_the_code_in_the_documentation_compiles(prefix, tmp_path):
    """A block with #include is a whole program, another the body of a function that is given a limiter."""
    blocks = re.findall(r"^```cpp\n(.*?)^```", (ROOT / "docs/library.md").read_text(), re.DOTALL | re.MULTILINE)
    programs = [block for block in blocks if "#include" in block]
    bodies = [block for block in blocks if "#include" not in block]
    assert programs and bodies
    programs.append("#include <sluice/open.h>\n#include <cstdio>\n" + "".join(
        f"void f{number}([[maybe_unused]] sluice::Limiter& limiter) {{\n{body}}}\n" for number, body in enumerate(bodies)))
    for number, program in enumerate(programs):
        source = tmp_path / f"block{number}.cc"
        source.write_text(program)
        run("g++", "-std=c++20", "-fsyntax-only", f"-I{prefix}/include", source)


def test_a_check_in_memory_allocates_nothing_once_warm(prefix, pkg_config, tmp_path):
    program = tmp_path / "warm_checks"
    run("g++", "-std=c++20", "-O1", pathlib.Path(__file__).with_name("warm_checks.cc"), *pkg_config("--cflags", "--libs"),
        f"-Wl,-rpath,{prefix}/lib", "-o", program)
    assert run(program, EXAMPLES / "policies.yaml") == "none\n"
