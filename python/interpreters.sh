# Finds Pythons. Sourced by sh.

# interpreter VERSION: prints the path of a python3.VERSION that runs: on PATH, or one of pyenv's, which need not be active.
# Fails if there is none. VERSION is 12, or 13t for a build without the GIL.
interpreter() {
  for candidate in "$(command -v "python3.$1")" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/*/bin/"python3.$1"; do
    if [ -x "$candidate" ] && "$candidate" -c '' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  return 1
}
