def write_file(path, content):
    """Writes a file that the call reads."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
